import ArgumentParser
import Simulator

/// Who may sign in at the Simulator.
typealias TrustOptions = TableOptions<TrustTable>

enum TrustTable: OptionTable {
  static var options: [(name: String, option: Option<[TrustArgument]>)] {
    TrustOption.all.map { option in
      (
        option.name,
        Option(
          wrappedValue: [], name: .customLong(option.name),
          help: ArgumentHelp(option.helpText, valueName: option.valueName)
        ) { text in
          guard let argument = TrustArgument(text, of: option) else {
            throw ValidationError("It has to be of the form \(option.valueName).")
          }
          return argument
        }
      )
    }
  }
}

/// What such an option was given: ids, and a file behind an equals sign.
struct TrustArgument: Sendable {
  private let option: TrustOption
  private let ids: [String]
  private let file: String

  fileprivate init?(_ text: String, of option: TrustOption) {
    self.option = option
    guard option.idCount > 0 else {
      (ids, file) = ([], text)
      return
    }
    let sides = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard sides.count == 2, !sides[1].isEmpty else { return nil }
    ids = sides[0].split(separator: "/", maxSplits: option.idCount - 1, omittingEmptySubsequences: false)
      .map(String.init)
    file = sides[1]
    guard ids.count == option.idCount, ids.allSatisfy({ !$0.isEmpty }) else { return nil }
  }

  /// - Throws: `CommandFailure` that names the file.
  fileprivate func register(with simulator: PushSimulator) throws {
    let text = try InputFile(file).text
    let words = text.split(whereSeparator: \.isWhitespace)
    let isWhole = !option.isWord || words.count == 1
    guard isWhole, option.register(with: simulator, ids: ids, content: option.isWord ? String(words[0]) : text) else {
      throw CommandFailure("The file \(file) \(option.problem)")
    }
  }
}

extension TableOptions<TrustTable> {
  /// Whether none is given, so that everybody may sign in.
  var isEmpty: Bool { values.allSatisfy(\.value.isEmpty) }

  /// - Throws: `CommandFailure` that names the file.
  func register(with simulator: PushSimulator) throws {
    for argument in values.flatMap(\.value) { try argument.register(with: simulator) }
  }
}
