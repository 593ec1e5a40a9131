import Testing

@Suite struct LedgerTests {}
