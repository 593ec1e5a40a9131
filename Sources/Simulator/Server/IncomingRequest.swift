import NIOHPACK
import Wire

/// A request that was received completely.
struct IncomingRequest: Sendable {
  let headers: HPACKHeaders
  let body: [UInt8]
  /// The number of its connection: 1, 2, 3, …
  let connection: Int
  /// Its stream on that connection: 1, 3, 5, …; requests of HTTP/1.1 are counted alike.
  let stream: Int

  var method: String { header(":method") ?? "" }
  var path: String { header(":path") ?? "" }

  /// The first value of a header; names are in lower case.
  func header(_ name: String) -> String? { headers.first(name: name) }

  /// The access token; nil for any other authorization.
  var bearer: String? {
    guard let value = header("authorization"), value.hasPrefix("Bearer ") else { return nil }
    return String(value.dropFirst(7))
  }

  /// Whether its `content-type` names this type, parameters aside.
  func isOfType(_ type: String) -> Bool {
    header("content-type").map { ($0.split(separator: ";").first ?? "").lowercased().filter { $0 != " " } } == type
  }

  /// Names and values of a form; of repeated names the first counts. A body of another type has none.
  var form: [String: String] {
    guard isOfType("application/x-www-form-urlencoded") else { return [:] }
    return Dictionary(FormPairs.readLeniently(body).map { ($0.name, $0.value) }) { first, _ in first }
  }
}

extension String {
  /// The value of a query or a form (RFC 3986, section 2.1).
  var percentEncoded: String {
    utf8.reduce(into: "") { encoded, byte in
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
        encoded.unicodeScalars.append(Unicode.Scalar(byte))
      default: encoded += "%" + [byte].hexDigits.uppercased()
      }
    }
  }
}
