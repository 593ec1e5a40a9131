import FoundationEssentials
import Logging

/// Writes each log message as one line on standard error, in a form for machines or one for people.
///
/// A line is one `write`: lines of several threads, and of several processes on one terminal, do not mix.
struct LineLogHandler: LogHandler {
  enum Form: String, Sendable, CaseIterable {
    /// One JSON object a line.
    case json
    /// For eyes: local time, level, message, then key=value.
    case text
  }

  var logLevel: Logger.Level
  var metadata: Logger.Metadata = [:]
  var metadataProvider: Logger.MetadataProvider?
  private let label: String
  private let form: Form
  private let write: @Sendable (String) -> Void

  /// - Parameter write: takes a whole line with its end.
  init(
    label: String, form: Form, level: Logger.Level,
    write: @escaping @Sendable (String) -> Void = { StandardStream.error.write($0) }
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
