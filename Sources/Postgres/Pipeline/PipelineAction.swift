/// What the pipeline's state machine wants done. Its driver does so in the order given.
enum PipelineAction {
  case prepare(Call, Plan)
  case execute(Call, Plan)
  /// The server may forget a plan that is of no more use.
  case deallocate(Plan)
  /// Ends the segment, and with it the implicit transaction.
  case sync
  case succeed(Call, ResultBox)
  case fail(Call, any Error)
  /// The caller is answered with the error now, while the call is still in flight.
  case giveUp(Call, PostgresError)
  /// It never ran, or certainly left nothing behind: back to the head of the queue.
  case resend(Call)
  /// The server shall cancel what it runs on this connection. Answer with `cancelReturned`.
  case requestCancel
  /// The connection is of no more use. Every call in flight has been failed already.
  case close(String)
}

/// What libpq had to say, one `PQgetResult` at a time.
enum PipelineResult {
  case rows(ResultBox)
  case failed(ServerError)
  /// An earlier statement under the same Sync failed, so this one was skipped.
  case aborted
  /// The null that ends the results of one statement. There is none after a Sync.
  case end
  case sync
  /// Something a pipeline cannot carry, such as COPY.
  case unexpected(String)
}
