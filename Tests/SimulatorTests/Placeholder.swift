import Testing

@Suite struct SimulatorPlaceholder {}
