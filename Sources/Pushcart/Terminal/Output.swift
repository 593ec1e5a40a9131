import ArgumentParser
import Operations
import Postgres
import Providers
import Registry
import Wire

/// How a command shows its result: as text for people, or as the REST API's JSON.
struct Output {
  let isJSON: Bool

  /// Writes a reply to standard output. Text of tenants cannot steer a terminal; JSON for another program stays exact.
  func show<Reply: Encodable>(_ reply: Reply, for people: (Reply) -> String) throws {
    guard isJSON else { return StandardStream.output.write(people(reply)) }
    showExactly(String(decoding: try JSONCoding.encode(reply), as: UTF8.self) + "\n")
  }

  /// Writes a text exactly to a file or another program, and without control characters to a terminal.
  func showExactly(_ text: String) {
    if StandardStream.output.isTerminal {
      StandardStream.output.writeUnescaped(text.escapingControls(keeping: ["\n", "\t"]))
    } else {
      StandardStream.output.writeUnescaped(text)
    }
  }
}

/// Why a command failed: one sentence for standard error, with exit status 1.
struct CommandFailure: Error, CustomStringConvertible {
  let description: String

  init(_ sentence: String) { description = sentence.escapingControls(keeping: ["\n"]) }

  /// An error of a room below, in the words that the REST API has for it. The command's own errors stay as they are.
  /// - Parameter naming: puts a command's options in place of the fields that a refusal names.
  static func wrapping(_ error: any Error, naming: (String) -> String = { $0 }) -> any Error {
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
    default: CommandFailure(ErrorReplies.response(for: error).map { naming($0.sentence) } ?? "\(error)")
    }
  }
}

extension Timestamp {
  /// To the second, in UTC, as tables show it.
  var forPeople: String { String(description.prefix(19)).replacing("T", with: " ") }
}
