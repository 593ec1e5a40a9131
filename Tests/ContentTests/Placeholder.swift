import Testing

@Suite struct ContentPlaceholder {}
