import ArgumentParser

/// A command that manages the hub through its database; no hub need be running.
protocol ManagementCommand: AsyncParsableCommand {
  var options: ManagementOptions { get }
  /// What its flags set.
  var given: [Given] { get }
  /// Whether it seals or opens something, so that it can do nothing without a master key.
  static var needsMasterKey: Bool { get }
  func run(in stores: ManagementStores) async throws
}

extension ManagementCommand {
  var given: [Given] { options.given }
  static var needsMasterKey: Bool { false }

  func run() async throws {
    try await ManagementStores.open(given, needsMasterKey: Self.needsMasterKey) { stores in
      try await run(in: stores)
    }
  }
}
