import Foundation

/// Texts that break careless escaping.
let hostileTexts = [
  "", "\"", "\\", "\\\"", "\u{1}\u{2}\u{1F}\u{7F}", "\u{8}\u{9}\u{A}\u{C}\u{D}", "</script>", "{{firstName}}",
  "\\u0000",
  "😀👩‍👩‍👧‍👦🇸🇪", "\u{2028}\u{2029}", "a\u{FEFF}\u{FFFE}\u{FFFF}", "\u{202E}abc\u{202C}", "e\u{301}\u{327}", "مرحبا",
  "\u{10FFFF}",
  "'; DROP TABLE contact; --", "%s%n%d", "$(reboot)", "\u{0600}\"", "\r\n\"\r\n", String(repeating: "\"", count: 100),
]

/// A public list of strings that break programs. It is kept beside the project, not in it.
enum NaughtyStrings {
  static let file = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../../shared/corpora/naughty_strings.json.gz").standardized

  static func all() throws -> [String] {
    let gzip = Process()
    gzip.executableURL = URL(filePath: "/usr/bin/env")
    gzip.arguments = ["gzip", "-dc", file.path]
    let output = Pipe()
    gzip.standardOutput = output
    try gzip.run()
    let json = try output.fileHandleForReading.readToEnd() ?? Data()
    gzip.waitUntilExit()
    return try JSONDecoder().decode([String].self, from: json)
  }
}
