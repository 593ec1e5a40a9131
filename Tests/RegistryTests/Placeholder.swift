import Testing

@Suite struct RegistryPlaceholder {}
