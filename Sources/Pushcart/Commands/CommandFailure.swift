import ArgumentParser
import Postgres
import Web

/// Why a command did not do what it was asked: one sentence, which ends on standard error; the exit status is 1.
struct CommandFailure: Error, CustomStringConvertible {
  let description: String

  init(_ sentence: String) { description = sentence }

  /// What went wrong in a room below, in the words that the REST API has for it; the command's own errors stay as they are.
  static func wrapping(_ error: any Error) -> any Error {
    switch error {
    case is CommandFailure, is ExitCode: error
    case let error as PostgresError: CommandFailure(error.description)
    default: CommandFailure(ErrorReplies.refusal(for: error)?.sentence ?? "\(error)")
    }
  }
}
