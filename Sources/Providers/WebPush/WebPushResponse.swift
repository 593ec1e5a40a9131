import Wire
import FoundationEssentials

/// A response of a browser's push service. Each has a form of its own: Mozilla's is JSON with a number, Apple's JSON with a word, and
/// Google's a sentence.
struct WebPushResponse: Hashable, Sendable, StatusBearing {
  var status: Int
  /// Mozilla's number, as in `103`.
  var errno: Int?
  /// Apple's word, as in `VapidPkHashMismatch`.
  var reason: String?
  /// The body, if it is text and not JSON, and has few combining marks in a row.
  var text: String?
  var retryAfter: Duration?

  init(status: Int, errno: Int? = nil, reason: String? = nil, text: String? = nil, retryAfter: Duration? = nil) {
    self.status = status
    self.errno = errno
    self.reason = reason
    self.text = text
    self.retryAfter = retryAfter
  }

  init(_ response: ServiceResponse) {
    self.init(status: response.status, retryAfter: response.retryAfter)
    guard response.status / 100 != 2 else { return }
    if let body = try? JSONCoding.decode(Body.self, from: response.body) {
      errno = body.errno
      reason = body.reason.flatMap { Self.isWord($0) ? $0 : nil }
    } else {
      text = String(validating: response.body, as: UTF8.self).flatMap { CombiningMarks.areFew(in: $0) ? $0 : nil }
    }
  }

  /// An untrusted server must not write whatever it likes into the ledger.
  private static func isWord(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count)
      && text.utf8.allSatisfy { (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) }
  }

  private struct Body: Decodable {
    var errno: Int?
    var reason: String?
  }
}

/// Every number in an error of Mozilla's push service (autopush, "Errors").
enum MozillaErrno: Int, CaseIterable, Sendable {
  case missingCrypto = 101
  case unknownEndpoint = 102
  case expiredEndpoint = 103
  case tooLarge = 104
  case endpointGone = 105
  case unsubscribed = 106
  case badEndpoint = 108
  case badVAPID = 109
  case badEncryption = 110
  case missingTTL = 111
  case badTTL = 112
  case badTopic = 113
  case backOff = 201
  case tryAgain = 202
  case bridgeError = 900
  case bridgeUnavailable = 901
  case bridgeTimeout = 902
  case bridgeRefusal = 903
  case unknown = 999

  /// As the ledger has it.
  var reason: String { "errno\(rawValue)" }
}

/// Words of Apple's push service for browsers.
enum AppleWebPushReason: String, CaseIterable, Sendable {
  case keyMismatch = "VapidPkHashMismatch"
  case badToken = "BadJwtToken"
  case expiredToken = "ExpiredJwtToken"
}
