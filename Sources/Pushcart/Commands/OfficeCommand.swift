import ArgumentParser

/// A command that manages the hub through its database; no hub need be running.
protocol OfficeCommand: AsyncParsableCommand {
  var options: OfficeOptions { get }
  /// What its flags set.
  var given: [Given] { get }
  /// Whether it seals or opens something, so that it can do nothing without a master key.
  static var needsMasterKey: Bool { get }
  func run(in office: BackOffice) async throws
}

extension OfficeCommand {
  var given: [Given] { options.given }
  static var needsMasterKey: Bool { false }

  func run() async throws {
    try await BackOffice.open(given, needsMasterKey: Self.needsMasterKey) { office in
      try await run(in: office)
    }
  }
}
