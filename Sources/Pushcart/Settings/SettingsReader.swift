import Configuration
import FoundationEssentials
import Synchronization

/// Reads settings one after the other and remembers everything that is wrong, so that it can be said in one go.
struct SettingsReader {
  private let reader: ConfigReader
  private let misread = Misread()
  private var problems: [String] = []

  /// - Parameters:
  ///   - flags: what the command line says.
  ///   - environment: variables; an empty one counts as absent.
  ///   - local: settings file of a private hub in this folder, asked last; nil if there is none.
  init(flags: [Given], environment: [String: String], local: String? = nil) async {
    let given = Dictionary(flags.compactMap { flag in flag.value.map { (flag.setting.flagVariable, $0) } }) { $1 }
    let variables = environment.filter { !$0.value.isEmpty }
    var providers: [any ConfigProvider] = [
      EnvironmentVariablesProvider(environmentVariables: given),
      EnvironmentVariablesProvider(environmentVariables: variables).mapKeys { key in
        key.components.first?.hasPrefix("database-url") ?? false ? key : key.prepending("pushcart")
      },
    ]
    let named = given[Setting.config.flagVariable] ?? variables[Setting.config.variable]
    for file in [named, local].compactMap({ $0 }) {
      do {
        let path = InMemoryProvider(values: ["filePath": ConfigValue(stringLiteral: file)])
        providers.append(try await FileProvider<JSONSnapshot>(config: ConfigReader(provider: path)))
      } catch {
        problems.append("\(Setting.config.variable) must name a readable file that holds one JSON object")
      }
    }
    reader = ConfigReader(providers: providers, accessReporter: misread)
  }

  mutating func text(_ setting: Setting) -> String? {
    let text = reader.string(forKey: setting.key, isSecret: setting.isSecret)
    if misread.contains(setting) { wrong(setting, "must be text") }
    return text
  }

  /// The value itself, or what the file holds that its `_FILE` sibling names, without surrounding white space.
  mutating func secret(_ setting: Setting) -> String? {
    let value = text(setting)
    guard let path = text(setting.fromFile) else { return value }
    guard value == nil else {
      wrong(setting, "and \(setting.fromFile.variable) are both set; one must go")
      return nil
    }
    guard let bytes = try? Data(contentsOf: URL(filePath: path)), let text = String(data: bytes, encoding: .utf8) else {
      wrong(setting.fromFile, "must name a readable text file")
      return nil
    }
    return text.trimmed
  }

  mutating func number(_ setting: Setting, in range: ClosedRange<Int>) -> Int {
    let fallback = setting.fallback.flatMap { Int($0) } ?? range.lowerBound
    let number = reader.int(forKey: setting.key) ?? fallback
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

  mutating func readableFile(_ setting: Setting) -> String? {
    guard let path = text(setting) else { return nil }
    if (try? Data(contentsOf: URL(filePath: path))) == nil { wrong(setting, "must name a readable file") }
    return path
  }

  mutating func missing(_ setting: Setting, _ alternative: String? = nil) {
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
private final class Misread: AccessReporter {
  private let keys = Mutex<Set<String>>([])

  func contains(_ setting: Setting) -> Bool { keys.withLock { $0.contains(setting.name) } }

  func report(_ event: AccessEvent) {
    let failed = event.providerResults.contains { if case .failure = $0.result { true } else { false } }
    guard failed || event.conversionError != nil else { return }
    keys.withLock { _ = $0.insert(event.metadata.key.components.joined(separator: ".")) }
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
