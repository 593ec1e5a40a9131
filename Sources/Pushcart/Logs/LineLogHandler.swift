import FoundationEssentials
import Glibc
import Logging

/// Writes each log message as one line on standard error, in a form for machines or one for people.
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
    label: String, form: Form, level: Logger.Level, write: @escaping @Sendable (String) -> Void = Self.toStandardError
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

  /// One `write` a line: lines of several threads, and of several processes on one terminal, do not mix.
  @Sendable private static func toStandardError(_ line: String) {
    var line = line
    line.withUTF8 { bytes in
      var rest = UnsafeRawBufferPointer(bytes)
      while let start = rest.baseAddress, rest.count > 0 {
        let written = Glibc.write(STDERR_FILENO, start, rest.count)
        if written < 0 && errno != EINTR { return }
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(max(0, written)))
      }
    }
  }
}
