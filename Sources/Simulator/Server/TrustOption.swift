import Wire

/// An option of `pushcart simulator` that says who may sign in. Its value names files: `FILE`, `ID=FILE`, or `ID/ID=FILE`.
public struct TrustOption: Sendable {
  /// Without its hyphens, such as `windows-package`.
  public let name: String
  /// How the value is shown, such as `client-id=file`.
  public let valueName: String
  /// How many ids stand before the file.
  public internal(set) var idCount = 0
  /// Whether the file holds one word.
  public internal(set) var isWord = false
  /// What is trusted. Services that share an option differ in whose it is.
  let help: (before: String, whose: String, after: String)
  /// What a file is not that no service takes, given whose it could be.
  var refusal: @Sendable (_ whose: String) -> String = { _ in "does not hold one word, as a secret is." }
  let trust: @Sendable (PushSimulator, _ ids: [String], _ content: String) throws -> Void

  /// The key file of a service account. Several services have some.
  /// - Parameter whose: such as `Google's`.
  static func serviceAccount(
    _ whose: String, trust: @escaping @Sendable (PushSimulator, _ keyFile: String) throws -> Void
  ) -> TrustOption {
    TrustOption(
      name: "service-account", valueName: "file", help: ("Key file of ", whose, " service account to trust"),
      refusal: { "is not a service account's key. Give the .json file that \($0) console issued." }
    ) { simulator, _, content in try trust(simulator, content) }
  }

  /// Those of all services, each name once.
  public static let all = every.reduce(into: [TrustOption]()) { options, option in
    if !options.contains(where: { $0.name == option.name }) { options.append(option) }
  }

  private static let every = PushSimulator.kinds.flatMap { $0.trustOptions }
  private var same: [TrustOption] { Self.every.filter { $0.name == name } }
  private var owners: String { same.map(\.help.whose).asList("or") }

  public var helpText: String { "\(help.before)\(owners)\(help.after); can be repeated." }

  /// - Returns: false if no service takes the file.
  public func register(with simulator: PushSimulator, ids: [String], content: String) -> Bool {
    same.contains { option in (try? option.trust(simulator, ids, content)) != nil }
  }

  /// Ends the sentence about a file that no service takes.
  public var problem: String { refusal(owners) }
}
