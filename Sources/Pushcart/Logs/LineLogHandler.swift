import FoundationEssentials
import Logging
import Wire

/// Sets up logging for the whole process.
enum Logs {
  /// - Parameter usual: the level when the settings name none: a hub logs more than a tool.
  static func start(_ settings: Settings, usual: Logger.Level = .error) {
    start(settings.logFormat, settings.logLevel ?? usual)
  }

  static func start(_ format: Settings.LogFormat, _ level: Logger.Level) {
    let form: LineLogHandler.Form =
      switch format {
      case .json: .json
      case .text: .text
      case .auto: StandardStream.error.isTerminal ? .text : .json
      }
    LoggingSystem.bootstrap { LineLogHandler(label: $0, form: form, level: level) }
  }
}

/// Writes each log message as one line on standard error, as JSON or as text for people.
///
/// A line is one `write`, so lines of several threads or processes do not mix.
struct LineLogHandler: LogHandler {
  enum Form: String, Sendable, CaseIterable {
    /// One JSON object a line.
    case json
    /// UTC time, level, message, then key=value.
    case text
  }

  var logLevel: Logger.Level
  var metadata: Logger.Metadata = [:]
  var metadataProvider: Logger.MetadataProvider?
  private let label: String
  private let form: Form
  private let write: @Sendable (String) -> Void

  /// - Parameter write: takes a whole line with its line end.
  init(
    label: String, form: Form, level: Logger.Level,
    write: @escaping @Sendable (String) -> Void = { StandardStream.error.writeUnescaped($0) }
  ) {
    self.label = label
    self.form = form
    self.write = write
    logLevel = level
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    var all = metadata
    if let provided = metadataProvider?.get() { all.merge(provided) { $1 } }
    if let given = event.metadata { all.merge(given) { $1 } }
    let fields = all.sorted { $0.key < $1.key }.map { ($0.key, "\($0.value)") }
    let line = form == .json ? Self.jsonLine : Self.textLine
    write(line(Date(), label, event.level, "\(event.message)", fields))
  }
}

extension LineLogHandler {
  /// `{"time":"2026-01-02T03:04:05.678Z","level":"info","message":"…","logger":"…",…}`; a field that has one of these four
  /// names gets a `_` appended.
  static func jsonLine(
    at time: Date, _ label: String, _ level: Logger.Level, _ message: String, _ fields: [(String, String)]
  ) -> String {
    var line = "{\"time\":\"\(timestamp(time))\",\"level\":\"\(level.rawValue)\",\"message\":"
    line += quoted(message) + ",\"logger\":" + quoted(label)
    for (key, value) in fields {
      let taken = ["time", "level", "message", "logger"].contains(key)
      line += "," + quoted(taken ? key + "_" : key) + ":" + quoted(value)
    }
    return line + "}\n"
  }

  /// `03:04:05.678 info  listening port=8080`; values with spaces or quotes are quoted.
  static func textLine(
    at time: Date, _ label: String, _ level: Logger.Level, _ message: String, _ fields: [(String, String)]
  ) -> String {
    var line = timestamp(time).dropFirst(11).dropLast() + " "
    line += level.rawValue + String(repeating: " ", count: 9 - level.rawValue.count) + plain(message)
    for (key, value) in fields {
      let bare = !value.isEmpty && value.unicodeScalars.allSatisfy { $0 != " " && $0 != "\"" && !$0.steersTerminal }
      line += " \(key)=" + (bare ? value : quoted(value))
    }
    return line + "\n"
  }

  private static func timestamp(_ time: Date) -> String {
    time.formatted(.iso8601.year().month().day().time(includingFractionalSeconds: true).timeZone(separator: .omitted))
  }

  /// Without control characters: a message must not end its line or steer the terminal.
  private static func plain(_ message: String) -> String {
    String(String.UnicodeScalarView(message.unicodeScalars.map { $0.steersTerminal ? " " : $0 }))
  }

  /// A JSON string that also escapes the control characters that JSON allows.
  private static func quoted(_ text: String) -> String {
    String(decoding: JSONText.quoted(text), as: UTF8.self).escapingControls()
  }
}
