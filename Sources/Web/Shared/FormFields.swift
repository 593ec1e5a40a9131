import Operations
import Wire

/// The fields of a form or a query (`application/x-www-form-urlencoded`). Of a field given twice the last one counts.
struct FormFields {
  static let type = "application/x-www-form-urlencoded"
  let fields: [UTF8String: String]

  subscript(_ name: String) -> String? { fields[name] }

  /// The fields as JSON has them.
  var attributes: [UTF8String: JSONValue] { fields.mapValues(JSONValue.string) }

  static func isType(_ type: String?) -> Bool {
    guard let media = type?.prefix(while: { $0 != ";" }) else { return false }
    return media.lowercasedASCII.filter { $0 != " " } == Self.type
  }

  /// - Throws: `HTTPErrorResponse`: 400 for what `FormPairs` refuse.
  init(_ bytes: some Collection<UInt8>) throws(HTTPErrorResponse) {
    fields = Dictionary(named: try Self.pairs(of: "form", bytes))
  }

  /// Names and values in their order.
  /// - Parameter part: of the request, for the sentence of a refusal.
  /// - Throws: `HTTPErrorResponse`: 400 for what `FormPairs` refuse.
  static func pairs(
    of part: String, _ bytes: some Collection<UInt8>
  ) throws(HTTPErrorResponse) -> [(name: String, value: String)] {
    do throws(FormPairs.Problem) {
      return try FormPairs.read(bytes)
    } catch {
      throw .badRequest("The \(part) \(error.problem).")
    }
  }
}
