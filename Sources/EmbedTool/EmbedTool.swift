import Foundation

/// `EmbedTool OUTPUT UAP NAME=FOLDER…`: writes the text files of folders, and words of uap-core's list, as Swift source.
@main
struct EmbedTool {
  static func main() throws {
    let arguments = CommandLine.arguments
    guard arguments.count > 3 else { throw CocoaError(.featureUnsupported) }
    var source = "extension EmbeddedFile {\n"
    for argument in arguments[3...] {
      let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
      guard parts.count == 2 else { throw CocoaError(.featureUnsupported) }
      source += "  /// Files of \(URL(filePath: parts[1]).lastPathComponent), by name.\n"
      source += "  public static let \(parts[0]): [EmbeddedFile] = [\n\(try literals(in: parts[1]))  ]\n"
    }
    let crawlers = CrawlerWords.read(arguments[2]).map { "    \(quoted($0)),\n" }.joined()
    source +=
      "}\n\nextension CrawlerNames {\n  /// Of uap-core.\n  public static let all: [String] = [\n\(crawlers)  ]\n"
    try Data((source + "}\n").utf8).write(to: URL(filePath: arguments[1]), options: .atomic)
  }

  static func literals(in folder: String) throws -> String {
    let names = ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
    return try names.filter { !$0.hasPrefix(".") && !isFolder("\(folder)/\($0)") }.map { name in
      let text = try String(contentsOf: URL(filePath: folder).appending(path: name), encoding: .utf8)
      return "    EmbeddedFile(name: \(quoted(name)), text: \(quoted(text))),\n"
    }.joined()
  }

  static func isFolder(_ path: String) -> Bool { (try? FileManager.default.contentsOfDirectory(atPath: path)) != nil }

  /// A raw string literal with more `#` than any run of them in the text; line ends are escaped, so every byte survives.
  static func quoted(_ text: String) -> String {
    let longest = text.split(whereSeparator: { $0 != "#" }).map(\.count).max() ?? 0
    let hashes = String(repeating: "#", count: longest + 1)
    let escaped = text.unicodeScalars.map { scalar in
      switch scalar {
      case "\n": "\\\(hashes)n"
      case "\r": "\\\(hashes)r"
      default: String(scalar)
      }
    }
    return "\(hashes)\"\(escaped.joined())\"\(hashes)"
  }
}
