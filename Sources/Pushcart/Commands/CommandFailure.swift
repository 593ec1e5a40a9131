import ArgumentParser
import Postgres
import Providers
import Registry
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
    case RegistryError.sealed:
      CommandFailure(
        "\(Setting.masterKey.variable) is not the key that this database was sealed under. Set that one, here or in "
          + "\(Setting.oldMasterKeys.variable); see `pushcart check`.")
    case ProviderError.caFileUnusable:
      CommandFailure("\(Setting.providerCAFile.variable) must name a PEM file of certificates.")
    case ProviderError.addressUnusable(let setting):
      CommandFailure("\(setting) must be https://host or https://host:port.")
    default: CommandFailure(ErrorReplies.refusal(for: error)?.sentence ?? "\(error)")
    }
  }
}
