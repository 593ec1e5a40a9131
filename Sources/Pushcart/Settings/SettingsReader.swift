import Configuration
import FoundationEssentials
import Synchronization

/// Reads settings one after the other and remembers everything that is wrong, so that it can be said in one go.
struct SettingsReader {
  /// Flags, the environment and the settings file: the first that has a setting decides.
  private var sources: [ConfigReader] = []
  private let misread = InvalidValue()
  private var problems: [String] = []
  /// What is no mistake for certain, but most likely one.
  private(set) var warnings: [String] = []

  /// - Parameters:
  ///   - flags: what the command line says.
  ///   - environment: variables; an empty one counts as absent.
  ///   - local: settings file of a private hub in this folder, or nil. It counts when nothing else names a database, and then
  ///     decides before everything but flags: what is set for one database is not mixed with what is set for another.
  init(flags: [Given], environment: [String: String], local: String? = nil) async {
    let given = Dictionary(flags.compactMap { flag in flag.value.map { (flag.setting.flagVariable, $0) } }) { $1 }
    let variables = environment.filter { !$0.value.isEmpty }
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
    if let local, !namesDatabase, let read = await file(local) { sources.insert(read, at: 1) }
    let known = Set((Setting.all + Setting.fileable.map(\.fromFile)).map(\.variable))
    let strangers = variables.keys.filter { $0.hasPrefix("PUSHCART_") && !known.contains($0) }
    warnings = strangers.sorted().map { "\($0) is no setting and says nothing" }
  }

  private func source(_ provider: any ConfigProvider) -> ConfigReader {
    ConfigReader(provider: provider, accessReporter: misread)
  }

  private var namesDatabase: Bool {
    sources.contains { source in
      [Setting.databaseURL, .databaseURL.fromFile].contains { source.string(forKey: $0.key) != nil }
    }
  }

  private mutating func file(_ path: String) async -> ConfigReader? {
    let file = InMemoryProvider(values: ["filePath": ConfigValue(stringLiteral: path)])
    guard let provider = try? await FileProvider<JSONSnapshot>(config: ConfigReader(provider: file)),
      let data = try? Data(contentsOf: URL(filePath: path)), let keys = try? JSONDecoder().decode(Keys.self, from: data)
    else {
      problems.append("\(Setting.config.variable) must name a readable file that holds one JSON object")
      return nil
    }
    let known = Set((Setting.all + Setting.fileable.map(\.fromFile)).map(\.name)).subtracting([Setting.config.name])
    for name in keys.names.sorted() where !known.contains(name) {
      problems.append("\(Setting.config.variable) names a file with the key \(name), which is no setting")
    }
    return source(provider)
  }

  /// What the first source that knows the setting says.
  private func first<Value>(_ value: (ConfigReader) -> Value?) -> Value? {
    for source in sources { if let value = value(source) { return value } }
    return nil
  }

  mutating func text(_ setting: Setting) -> String? {
    let text = first { $0.string(forKey: setting.key, isSecret: setting.isSecret) }
    if misread.contains(setting) { wrong(setting, "must be text") }
    return text
  }

  /// The value itself, or what the file holds that its `_FILE` sibling names, without surrounding white space.
  /// - Parameters:
  ///   - isNeeded: whether there must be one.
  ///   - alternative: what can be done instead of setting it.
  /// - Returns: nil when there is none, or none that can be read; what is wrong has been noted then.
  mutating func secret(_ setting: Setting, isNeeded: Bool, or alternative: String? = nil) -> String? {
    for source in sources {
      let value = source.string(forKey: setting.key, isSecret: true)
      let path = source.string(forKey: setting.fromFile.key)
      for setting in [setting, setting.fromFile] where misread.contains(setting) {
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
    return text.trimmed
  }

  mutating func number(_ setting: Setting, in range: ClosedRange<Int>) -> Int {
    let fallback = setting.fallback.flatMap { Int($0) } ?? range.lowerBound
    let number = first { $0.int(forKey: setting.key) } ?? fallback
    guard !misread.contains(setting), range.contains(number) else {
      wrong(setting, "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
      return fallback
    }
    return number
  }

  mutating func choice<Choice: RawRepresentable<String> & CaseIterable>(_ setting: Setting, _: Choice.Type) -> Choice? {
    guard let text = text(setting) else { return nil }
    if let choice = Choice(rawValue: text) { return choice }
    wrong(setting, "must be one of \(Choice.allCases.map(\.rawValue).joined(separator: ", "))")
    return nil
  }

  /// An http or https address without query and without the slash at its end.
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

  /// `'none'`, `'self'`, or origins: what Content-Security-Policy takes as `frame-ancestors`, and nothing that would end it.
  mutating func frameAncestors(_ setting: Setting) -> String? {
    guard let text = text(setting) else { return nil }
    let sources = text.split(separator: " ")
    guard !sources.isEmpty, sources.allSatisfy(Self.isFrameAncestor) else {
      wrong(setting, "must be 'none', 'self', or addresses such as http://localhost:8081, apart by a space")
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

  /// - Throws: `SettingsError` with everything that was found wrong.
  func finish() throws(SettingsError) {
    if !problems.isEmpty { throw SettingsError(problems: problems) }
  }
}

/// Every setting that is missing or wrong, by name and with what it should be; never by value.
struct SettingsError: Error, CustomStringConvertible {
  let problems: [String]
  var description: String {
    (["settings are missing or wrong:"] + problems.map { "  - \($0)" }).joined(separator: "\n")
  }
}

/// Remembers which settings were there but of the wrong kind: a `ConfigReader` gives nil for those, as for absent ones.
private final class InvalidValue: AccessReporter {
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
  /// Flags are handed to a provider of variables too, since those turn text into numbers.
  fileprivate var flagVariable: String { name.uppercased().replacing("-", with: "_") }
}

extension String {
  fileprivate var trimmed: String {
    String(drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed())
  }
}
