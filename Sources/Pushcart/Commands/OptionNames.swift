import ArgumentParser

/// What a command calls the fields of the API, by which its refusals name what was typed.
///
/// An option is called as its field, or as a part of the field's path: `--start-at` is `startAt`, `--alert` is `message.alert`, and
/// `--segment` is `audience.segmentId`, and `--client-secret-file` has the `clientSecret`.
struct OptionNames {
  private let options: Set<String>

  init<Arguments: ParsableArguments>(of arguments: Arguments.Type) {
    options = Set(
      arguments.helpMessage(columns: 1000).split(separator: "\n").filter { $0.hasPrefix("  --") }
        .map { String($0.dropFirst(2).prefix { $0 != " " }) })
  }

  /// The sentence with options in place of fields: where it begins with a field, and where a word can be nothing else. Fields without an option
  /// keep their names.
  func naming(_ sentence: String) -> String {
    let words = sentence.split(separator: " ", omittingEmptySubsequences: false)
    return words.enumerated().map { place, word in
      place == 0 || word.dropFirst().contains { $0.isUppercase } ? naming(word) : String(word)
    }.joined(separator: " ")
  }

  /// The option of the longest part of a path, and what stands behind that part.
  private func naming(_ word: Substring) -> String {
    guard word.first.map({ ("a"..."z").contains($0) }) == true else { return String(word) }
    let steps = word.prefix { $0.isASCII && $0.isLetter || $0 == "." }.split(separator: ".")
    for count in steps.indices.map({ $0 + 1 }).reversed() {
      for first in 0...(steps.count - count) {
        let part = steps[first..<first + count]
        if let option = option(part.map(hyphenated).joined(separator: "-")), let last = part.last {
          return option + word[last.endIndex...]
        }
      }
    }
    return String(word)
  }

  /// As in `start-at` for `startAt`.
  private func hyphenated(_ field: Substring) -> String {
    field.map { $0.isUppercase ? "-\($0.lowercased())" : "\($0)" }.joined()
  }

  private func option(_ name: String) -> String? {
    let shorter = ["-ids", "-id", "s"].filter { name.hasSuffix($0) }.map { String(name.dropLast($0.count)) }
    return ([name, name + "-file"] + shorter).map { "--\($0)" }.first { options.contains($0) }
  }
}
