import Testing

@Suite struct PushcartPlaceholder {}
