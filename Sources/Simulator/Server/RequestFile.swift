import FoundationEssentials
import Logging

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A file that gets a line for each request, so that runs of any length can be counted.
///
/// A line has connection, stream, device token, `apns-id` and reply, separated by tabs. A line is written at once, before its reply.
final class RequestFile: Sendable {
  private let descriptor: Int32
  private let logger: Logger

  /// Opens the file, and appends to what it has.
  /// - Throws: if it cannot be written.
  init(_ path: String, logger: Logger) throws {
    descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw CocoaError(.fileWriteNoPermission) }
    self.logger = logger
  }

  deinit { close(descriptor) }

  func append(_ request: SimulatedAPNs.ReceivedRequest) {
    var line =
      "\(request.connection)\t\(request.stream)\t\(Self.cell(request.details.token))\t\(Self.cell(request.header("apns-id") ?? ""))"
      + "\t\(Self.text(request.reply))\n"
    // The file is open for appending: the system keeps lines of several threads apart.
    let isWritten = line.withUTF8 { bytes in write(descriptor, bytes.baseAddress, bytes.count) == bytes.count }
    if !isWritten { logger.error("A request is missing in the file of requests, since the file cannot be written") }
  }

  /// The status, with the reason of a refusal; what is no response has the name that rules give it.
  private static func text(_ reply: SimulatedAPNs.Reply) -> String {
    switch reply {
    case .accept: "200"
    case .refuse(let refusal): "\(refusal.status) \(refusal.reason)"
    case .after(_, let then): text(then)
    case .ignore: "ignore"
    case .refuseStream: "refuseStream"
    case .resetStream: "resetStream"
    case .goAway: "goAway"
    case .cut: "cut"
    }
  }

  /// A client could send anything as token or id; only their own characters are kept, so that a line stays a line.
  private static func cell(_ text: String) -> String {
    text.filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
  }
}
