import FoundationEssentials
import NIOCore
import Wire

/// The fields of a form or a query (`application/x-www-form-urlencoded`). Of a field given twice the last one counts.
struct FormFields {
  static let type = "application/x-www-form-urlencoded"
  private(set) var fields: [UTF8String: String] = [:]

  subscript(_ name: String) -> String? { fields[name] }

  /// The fields as JSON has them.
  var attributes: [UTF8String: JSONValue] { fields.mapValues(JSONValue.string) }

  static func isType(_ type: String?) -> Bool {
    guard let media = type?.prefix(while: { $0 != ";" }) else { return false }
    return media.lowercasedASCII.filter { $0 != " " } == Self.type
  }

  init(_ bytes: ByteBuffer) throws(HTTPErrorResponse) {
    guard let text = String(validating: bytes.readableBytesView, as: UTF8.self) else { throw Self.malformed }
    try self.init(text[...])
  }

  /// - Throws: `HTTPErrorResponse`: 400 for what is not percent-encoded UTF-8 without U+0000.
  init(_ text: Substring) throws(HTTPErrorResponse) {
    for pair in text.split(separator: "&") {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = Self.decode(parts[0]), let value = Self.decode(parts.count == 2 ? parts[1] : "") else {
        throw Self.malformed
      }
      guard name.utf8.count <= UTF8String.longestName, CombiningMarks.areFew(in: value) else { throw Self.excessive }
      fields[name] = value
    }
  }

  private static let excessive = HTTPErrorResponse.badRequest(
    "The form has a name of more than \(UTF8String.longestName) bytes, or a value that \(CombiningMarks.problem).")
  private static let malformed = HTTPErrorResponse.badRequest("The form is not percent-encoded UTF-8.")

  private static func decode(_ text: Substring) -> String? { PathPart.decode(text.replacing("+", with: " ")[...]) }
}
