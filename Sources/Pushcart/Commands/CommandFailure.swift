import Postgres
import Web

/// Why a command did not do what it was asked: one sentence, which ends on standard error; the exit status is 1.
struct CommandFailure: Error, CustomStringConvertible {
  let description: String

  init(_ sentence: String) { description = sentence }

  /// What went wrong in a room below, in the words the REST API has for it.
  init(_ error: any Error) {
    switch error {
    case let failure as CommandFailure: self = failure
    case let error as PostgresError: description = error.description
    default: description = ErrorReplies.refusal(for: error)?.sentence ?? "\(error)"
    }
  }
}
