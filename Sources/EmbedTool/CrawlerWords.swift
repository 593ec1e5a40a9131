import Foundation

/// Names of crawlers in the data of uap-core (https://github.com/ua-parser/uap-core, Apache-2.0), which Debian's package of that name installs.
///
/// Its last expression for devices that are a `Spider` is a list of names, of which those that are plain words are taken.
enum CrawlerWords {
  /// - Returns: in lower case; none if the file is not there, or has another form.
  static func read(_ file: String) -> [String] {
    guard let text = try? String(contentsOfFile: file, encoding: .utf8) else { return [] }
    var (expression, last) = ("", "")
    for line in text.split(separator: "\n") {
      let words = line.drop { $0 == " " || $0 == "-" }
      if words.hasPrefix("regex: '") { expression = String(words.dropFirst("regex: '".count)) }
      if words.hasPrefix("device_replacement: 'Spider'") { last = expression }
    }
    let names = last.drop { $0 != "(" }.dropFirst().reversed().drop { $0 != ")" }.dropFirst().reversed()
    return String(names).split(separator: "|").map { $0.replacing("\\-", with: "-").lowercased() }.filter(isWord)
  }

  /// Shorter ones are parts of too much.
  private static func isWord(_ name: String) -> Bool {
    name.utf8.count >= 4
      && name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: " "),
          UInt8(ascii: "%"), UInt8(ascii: "-"):
          true
        default: false
        }
      }
  }
}
