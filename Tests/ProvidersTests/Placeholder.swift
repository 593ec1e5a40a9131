import Testing

@Suite struct ProvidersPlaceholder {}
