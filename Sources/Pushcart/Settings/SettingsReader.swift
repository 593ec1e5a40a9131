import Wire
import Configuration
import FoundationEssentials
import Locking

/// Reads settings and collects everything that is wrong, so that all of it is reported together.
struct SettingsReader {
  /// Flags, the environment and the settings file. The first that has a setting decides.
  private var sources: [ConfigReader] = []
  private let invalid = InvalidValues()
  private var problems: [String] = []
  /// Settings that are probably mistakes.
  private(set) var warnings: [String] = []
  /// The settings file of the private hub in this folder, if its settings apply.
  private(set) var localFile: String?
  /// Whether there is a private hub in this folder that does not run.
  private(set) var hasStoppedHub = false
  private let flags: [String: String]

  /// - Parameters:
  ///   - flags: from the command line.
  ///   - environment: variables; an empty one counts as absent.
  ///   - local: the private hub in this folder, or nil. Its settings apply when nothing else names a database, and then only
  ///     flags override them: settings of two databases must not mix.
  init(flags: [Given], environment: [String: String], local: LocalHub? = nil) async {
    let given = Dictionary(flags.compactMap { flag in flag.value.map { (flag.setting.flagVariable, $0) } }) { $1 }
    let variables = environment.filter { !$0.value.isEmpty }
    self.flags = given
    sources = [
      source(EnvironmentVariablesProvider(environmentVariables: given)),
      source(
        EnvironmentVariablesProvider(environmentVariables: variables).mapKeys { key in
          key.components.first?.hasPrefix("database-url") ?? false ? key : key.prepending("pushcart")
        }),
    ]
    if let file = given[Setting.config.flagVariable] ?? variables[Setting.config.variable] {
      if let read = await self.file(file) { sources.append(read) }
    }
    if let local, !namesDatabase { use(local) }
    let known = Set((Setting.all + Setting.fileable.map(\.fromFile)).map(\.variable))
    let unknown = variables.keys.filter { $0.hasPrefix("PUSHCART_") && !known.contains($0) }
    warnings = unknown.sorted().map { "\($0) is not a setting and has no effect" }
  }

  private mutating func use(_ local: LocalHub) {
    switch local.state {
    case .absent: break
    case .stopped: hasStoppedHub = true
    case .untrusted(let problem): problems.append(problem)
    case .running(let settings):
      let values = settings.map { (AbsoluteConfigKey([$0.key]), ConfigValue(stringLiteral: $0.value)) }
      sources.insert(source(InMemoryProvider(values: Dictionary(uniqueKeysWithValues: values))), at: 1)
      localFile = local.settingsFile
    }
  }

  /// The value of a flag, if it was given.
  func given(_ setting: Setting) -> String? { flags[setting.flagVariable] }

  private func source(_ provider: any ConfigProvider) -> ConfigReader {
    ConfigReader(provider: provider, accessReporter: invalid)
  }

  private var namesDatabase: Bool {
    sources.contains { source in
      [Setting.databaseURL, .databaseURL.fromFile].contains { source.string(forKey: $0.key) != nil }
    }
  }

  private mutating func file(_ path: String) async -> ConfigReader? {
    let file = InMemoryProvider(values: ["filePath": ConfigValue(stringLiteral: path)])
    guard let provider = try? await FileProvider<JSONSnapshot>(config: ConfigReader(provider: file)),
      let data = try? Data(contentsOf: URL(filePath: path)), let keys = try? JSONCoding.decode(Keys.self, from: data)
    else {
      problems.append("\(Setting.config.variable) must name a readable file that holds one JSON object")
      return nil
    }
    let known = Set((Setting.all + Setting.fileable.map(\.fromFile)).map(\.name)).subtracting([Setting.config.name])
    for name in keys.names.sorted() where !known.contains(name) {
      problems.append("\(Setting.config.variable) names a file with the key \(name), which is not a setting")
    }
    return source(provider)
  }

  /// The value of the first source that has the setting.
  private func first<Value>(_ value: (ConfigReader) -> Value?) -> Value? {
    for source in sources { if let value = value(source) { return value } }
    return nil
  }

  mutating func text(_ setting: Setting) -> String? {
    let text = first { $0.string(forKey: setting.key, isSecret: setting.isSecret) }
    if invalid.contains(setting) { wrong(setting, "must be text") }
    return text
  }

  /// The value, or the trimmed contents of the file that its `_FILE` sibling names.
  /// - Parameters:
  ///   - isNeeded: whether an absent value is a problem.
  ///   - alternative: what can be done instead of setting it.
  /// - Returns: nil when it is absent or unreadable; the problem has been noted then.
  mutating func secret(_ setting: Setting, isNeeded: Bool, or alternative: String? = nil) -> String? {
    for source in sources {
      let value = source.string(forKey: setting.key, isSecret: true)
      let path = source.string(forKey: setting.fromFile.key)
      for setting in [setting, setting.fromFile] where invalid.contains(setting) {
        wrong(setting, "must be text")
        return nil
      }
      switch (value, path) {
      case (nil, nil): continue
      case (let value?, nil): return value
      case (nil, let path?): return contents(of: path, setting.fromFile)
      case (.some, .some):
        wrong(setting, "and \(setting.fromFile.variable) are both set; one must go")
        return nil
      }
    }
    if isNeeded { missing(setting, alternative) }
    return nil
  }

  private mutating func contents(of path: String, _ setting: Setting) -> String? {
    guard let bytes = try? Data(contentsOf: URL(filePath: path)), let text = String(data: bytes, encoding: .utf8) else {
      wrong(setting, "must name a readable text file")
      return nil
    }
    return String(text.trimmed)
  }

  mutating func number(_ setting: Setting, in range: ClosedRange<Int>) -> Int {
    let fallback = setting.fallback.flatMap { Int($0) } ?? range.lowerBound
    let number = first { $0.int(forKey: setting.key) } ?? fallback
    guard !invalid.contains(setting), range.contains(number) else {
      wrong(setting, "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
      return fallback
    }
    return number
  }

  /// Whether a setting is true; false if it is absent.
  mutating func flag(_ setting: Setting) -> Bool {
    let value = first { $0.bool(forKey: setting.key) }
    if invalid.contains(setting) { wrong(setting, "must be true or false") }
    return value ?? false
  }

  mutating func choice<Choice: RawRepresentable<String> & CaseIterable>(_ setting: Setting, _: Choice.Type) -> Choice? {
    guard let text = text(setting) else { return nil }
    if let choice = Choice(rawValue: text) { return choice }
    wrong(setting, "must be one of \(Choice.allCases.map(\.rawValue).joined(separator: ", "))")
    return nil
  }

  /// An http or https address without a query and without a trailing slash.
  mutating func url(_ setting: Setting, schemes: [String]) -> String? {
    guard let text = text(setting) else { return nil }
    guard let url = URL(string: text), let scheme = url.scheme, schemes.contains(scheme), let host = url.host(),
      !host.isEmpty, url.query() == nil, url.fragment() == nil
    else {
      wrong(setting, "must be an address with \(schemes.joined(separator: " or "))://, without ? and #")
      return nil
    }
    return text.hasSuffix("/") ? String(text.dropLast()) : text
  }

  /// `'none'`, `'self'`, or origins, as `frame-ancestors` of Content-Security-Policy takes them, without characters that would
  /// end it.
  mutating func frameAncestors(_ setting: Setting) -> String? {
    guard let text = text(setting) else { return nil }
    let sources = text.split(separator: " ")
    guard !sources.isEmpty, sources.allSatisfy(Self.isFrameAncestor) else {
      wrong(setting, "must be 'none', 'self', or addresses such as http://localhost:8081, separated by spaces")
      return nil
    }
    return sources.joined(separator: " ")
  }

  private static func isFrameAncestor(_ source: Substring) -> Bool {
    if ["'none'", "'self'"].contains(source) { return true }
    let isPlain = source.utf8.allSatisfy { (0x21...0x7E).contains($0) && !",;'\"".utf8.contains($0) }
    return isPlain && ["https://", "http://"].contains { source.hasPrefix($0) && source.count > $0.count }
  }

  private mutating func missing(_ setting: Setting, _ alternative: String? = nil) {
    let sibling = Setting.fileable.contains { $0.name == setting.name } ? " or \(setting.fromFile.variable)" : ""
    problems.append(
      "\(setting.variable)\(sibling) must be set: \(alternative.map { "\(setting.help); \($0)" } ?? setting.help)")
  }

  mutating func wrong(_ setting: Setting, _ what: String) {
    let problem = "\(setting.variable) \(what)"
    if !problems.contains(problem) { problems.append(problem) }
  }

  /// - Throws: `SettingsError` with all problems.
  func finish() throws(SettingsError) {
    if !problems.isEmpty { throw SettingsError(problems: problems) }
  }
}

/// Every setting that is missing or wrong, by name and with what it should be, never by value.
struct SettingsError: Error, CustomStringConvertible {
  let problems: [String]
  var description: String {
    (["settings are missing or wrong:"] + problems.map { "  - \($0.onOneLine)" }).joined(separator: "\n")
  }
}

/// Records settings with a value of the wrong type. A `ConfigReader` gives nil for those, as it does for absent ones.
private final class InvalidValues: AccessReporter {
  private let keys = Mutex<Set<String>>([])

  func contains(_ setting: Setting) -> Bool { keys.withLock { $0.contains(setting.name) } }

  func report(_ event: AccessEvent) {
    let failed = event.providerResults.contains { if case .failure = $0.result { true } else { false } }
    guard failed || event.conversionError != nil else { return }
    keys.withLock { _ = $0.insert(event.metadata.key.components.joined(separator: ".")) }
  }
}

/// The names in a JSON object.
private struct Keys: Decodable {
  struct Name: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  let names: [String]

  init(from decoder: any Decoder) throws {
    names = try decoder.container(keyedBy: Name.self).allKeys.map(\.stringValue)
  }
}

extension Setting {
  fileprivate var key: ConfigKey { ConfigKey([name]) }
  /// Flags go through a provider of variables, because that turns text into numbers.
  fileprivate var flagVariable: String { name.uppercased().replacing("-", with: "_") }
}
