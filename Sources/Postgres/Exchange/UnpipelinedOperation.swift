/// A conversation outside pipeline mode, on a connection that is lent: libpq cannot pipeline COPY, nor many statements in
/// one text. Everything here happens on the reactor's thread.
protocol UnpipelinedOperation: AnyObject {
  /// Names it in errors and logs.
  var name: String { get }
  /// What begins it, by the simple protocol.
  var sql: String { get }
  /// Whether there is room for what the server may send.
  var wantsToRead: Bool { get }
  /// Whether it is of use to hear of an error before libpq reads it.
  var watchesForError: Bool { get }
  /// An error of the server is the next to be read.
  func errorIsComing()
  /// Something has arrived.
  func advance(_ session: Session)
  /// All that was to be written is with the kernel.
  func flushed()
  /// The server has said all there was to say, and the connection is back in pipeline mode.
  func ended()
  /// It could not begin, or the connection was lost.
  func failed(_ error: PostgresError)
  /// What the loss of the connection means now.
  var lossError: PostgresError { get }
}

extension UnpipelinedOperation {
  var watchesForError: Bool { false }
  func errorIsComing() {}
}

/// What the server says in an operation, one `PQgetResult` at a time.
enum UnpipelinedResult {
  /// Nothing yet.
  case none
  /// A statement was carried out.
  case done(affected: Int)
  case copyIn
  case copyOut
  case failed(ServerError)
  case end
}
