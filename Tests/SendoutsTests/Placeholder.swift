import Testing

@Suite struct SendoutsPlaceholder {}
