import CLibpq

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// libpq's `PGconn`, function by function; it adds only names and ownership.
///
/// `@unchecked Sendable`: a connection has one owner at a time. The thread that opens it hands it to the reactor, and from
/// then on only the reactor's thread touches it.
final class LibpqConnection: @unchecked Sendable {
  private let pointer: OpaquePointer
  private var traceFile: UnsafeMutablePointer<FILE>?

  /// Takes ownership of the connection: it is closed with this object.
  init(adopting pointer: OpaquePointer) {
    self.pointer = pointer
    // By default libpq prints notices to stderr; they may quote values.
    PQsetNoticeReceiver(pointer, { _, _ in }, nil)
  }

  deinit {
    PQfinish(pointer)
    if let traceFile { fclose(traceFile) }
  }

  /// Appends every message to a file, in libpq's own notation.
  func trace(to path: String) {
    traceFile = fopen(path, "a")
    guard let traceFile else { return }
    setvbuf(traceFile, nil, _IOLBF, 0)
    PQtrace(pointer, traceFile)
    PQsetTraceFlags(pointer, Int32(PQTRACE_SUPPRESS_TIMESTAMPS))
  }

  // MARK: State

  var socket: Int32 { PQsocket(pointer) }
  var isUp: Bool { PQstatus(pointer) == CONNECTION_OK }
  var isInTransaction: Bool { PQtransactionStatus(pointer) != PQTRANS_IDLE }

  /// libpq's last error message, on one line.
  var errorMessage: String {
    String(cString: PQerrorMessage(pointer)).split(separator: "\n").joined(separator: " ")
  }

  // MARK: Opening

  func pollConnect() -> PostgresPollingStatusType { PQconnectPoll(pointer) }

  /// Non-blocking and in pipeline mode, as every connection lives here.
  func makeReady() -> Bool { PQsetnonblocking(pointer, 1) == 0 && PQenterPipelineMode(pointer) == 1 }

  func enterPipeline() -> Bool { PQenterPipelineMode(pointer) == 1 }
  func exitPipeline() -> Bool { PQexitPipelineMode(pointer) == 1 }

  // MARK: Sending

  func sendPrepare(name: String, sql: String, types: borrowing [UInt32]) -> Bool {
    PQsendPrepare(pointer, name, sql, Int32(types.count), types) == 1
  }

  /// Parameters and results are binary, all of them.
  func sendExecute(name: String, _ parameters: borrowing ParameterBuffer, scratch: inout ParameterScratch) -> Bool {
    scratch.withPointers(to: parameters) { count, values, lengths, formats in
      PQsendQueryPrepared(pointer, name, count, values, lengths, formats, 1) == 1
    }
  }

  /// libpq 15 cannot send the protocol's Close message.
  func sendDeallocate(name: String) -> Bool {
    let quoted = name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"")
    return PQsendQueryParams(pointer, "DEALLOCATE \"\(quoted)\"", 0, nil, nil, nil, nil, 1) == 1
  }

  /// Marks the end of a segment: the server commits what came since the last mark, and answers.
  ///
  /// In libpq 15 this also flushes, with one write to the socket for every Sync; `PQsendPipelineSync`, which does not, came
  /// with 17. So each Sync less is a system call less, on both sides.
  func sync() -> Bool { PQpipelineSync(pointer) == 1 }

  /// Simple protocol: many statements in one text, none of them prepared. Only outside pipeline mode.
  func sendScript(_ sql: String) -> Bool { PQsendQuery(pointer, sql) == 1 }

  enum Flushed { case all, partly, failed }

  func flush() -> Flushed {
    switch PQflush(pointer) {
    case 0: .all
    case 1: .partly
    default: .failed
    }
  }

  // MARK: Receiving

  /// Reads what the socket has; `false` once the connection is lost.
  func consumeInput() -> Bool { PQconsumeInput(pointer) == 1 }

  /// Whether asking for a result now would block.
  var isBusy: Bool { PQisBusy(pointer) == 1 }

  /// The next result, or `nil` where libpq marks the end of one statement's results.
  func nextResult() -> OpaquePointer? { PQgetResult(pointer) }

  func nextNotification() -> (channel: String, payload: String)? {
    guard let notification = PQnotifies(pointer) else { return nil }
    defer { PQfreemem(notification) }
    return (String(cString: notification.pointee.relname), String(cString: notification.pointee.extra))
  }

  // MARK: COPY

  /// Hands a chunk to libpq, which keeps what the socket does not take; `flush` reports when the socket has taken all.
  func putCopy(_ chunk: borrowing [UInt8]) -> Bool {
    chunk.withUnsafeBytes { bytes in
      PQputCopyData(pointer, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count)) == 1
    }
  }

  /// - Parameter problem: makes the server discard what was copied.
  func endCopy(_ problem: String?) -> Bool { PQputCopyEnd(pointer, problem) == 1 }

  enum CopyRow {
    case row([UInt8])
    /// No row has come yet.
    case none
    /// There are no more, or there was an error: see the next result.
    case end
  }

  func nextCopyRow() -> CopyRow {
    var buffer: UnsafeMutablePointer<CChar>?
    let length = PQgetCopyData(pointer, &buffer, 1)
    guard length > 0, let buffer else { return length == 0 ? .none : .end }
    defer { PQfreemem(buffer) }
    return .row(Array(UnsafeRawBufferPointer(start: buffer, count: Int(length))))
  }

  // MARK: Cancelling

  /// Cancels from another thread. `nil` when the connection is not up.
  func cancellation() -> LibpqCancellation? { PQgetCancel(pointer).map(LibpqCancellation.init) }
}

/// libpq's `PGcancel`: it may be used from any thread, and outlives its connection.
///
/// `@unchecked Sendable`: libpq documents it as read-only and safe for threads.
final class LibpqCancellation: @unchecked Sendable {
  private let pointer: OpaquePointer
  init(_ pointer: OpaquePointer) { self.pointer = pointer }
  deinit { PQfreeCancel(pointer) }

  /// Asks the server to cancel what the connection runs. Blocks: it opens a connection of its own.
  func send() -> Bool {
    var error = [CChar](repeating: 0, count: 256)
    return PQcancel(pointer, &error, Int32(error.count)) == 1
  }
}

/// Buffers for the arrays of pointers that libpq takes with each call, kept so that no call allocates them.
struct ParameterScratch {
  private var values: [UnsafePointer<CChar>?] = []
  private var lengths: [Int32] = []
  private var formats: [Int32] = []

  mutating func withPointers<Answer>(
    to parameters: borrowing ParameterBuffer,
    _ body: (Int32, UnsafePointer<UnsafePointer<CChar>?>, UnsafePointer<Int32>, UnsafePointer<Int32>) -> Answer
  ) -> Answer {
    let count = parameters.count
    values.removeAll(keepingCapacity: true)
    lengths.removeAll(keepingCapacity: true)
    while formats.count < count { formats.append(1) }
    return parameters.bytes.withUnsafeBytes { bytes in
      // An empty buffer may have no address, and libpq takes a null value for NULL.
      let base = bytes.baseAddress.map { $0.assumingMemoryBound(to: CChar.self) } ?? emptyBytes
      var start = 0
      for length in parameters.lengths {
        values.append(length < 0 ? nil : base + start)
        lengths.append(max(length, 0))
        start += Int(max(length, 0))
      }
      return body(Int32(count), values, lengths, formats)
    }
  }
}

/// The address of an empty value. Never written to, never freed.
nonisolated(unsafe) private let emptyBytes: UnsafePointer<CChar> = {
  let byte = UnsafeMutablePointer<CChar>.allocate(capacity: 1)
  byte.initialize(to: 0)
  return UnsafePointer(byte)
}()
