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
    do throws(FormPairs.Problem) {
      fields = Dictionary(named: try FormPairs.read(bytes))
    } catch {
      throw .badRequest("The form \(error.problem).")
    }
  }
}
