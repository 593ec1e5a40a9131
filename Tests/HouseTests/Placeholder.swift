import Testing

@Suite struct HousePlaceholder {}
