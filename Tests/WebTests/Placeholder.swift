import Testing

@Suite struct WebPlaceholder {}
