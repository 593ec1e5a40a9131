public import Logging
import Locking

/// Keeps every line that is logged, of every level, with its metadata.
public final class LogCapture: Sendable {
  private let written = Mutex<[String]>([])

  public init() {}

  public var lines: [String] { written.withLock { $0 } }

  /// A logger that says everything, and says it only here.
  public var logger: Logger {
    var logger = Logger(label: "capture") { _ in Handler(capture: self) }
    logger.logLevel = .trace
    return logger
  }

  private struct Handler: LogHandler {
    let capture: LogCapture
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      let all = metadata.merging(event.metadata ?? [:]) { $1 }
      capture.written.withLock { $0.append("\(event.level) \(event.message) \(all)") }
    }
  }
}
