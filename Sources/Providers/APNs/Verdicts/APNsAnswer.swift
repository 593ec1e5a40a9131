import FoundationEssentials

/// One response of APNs, read.
struct APNsAnswer: Hashable, Sendable {
  var status: Int
  /// The word in the JSON body; nil if there is none.
  var reason: String?
  /// On 410: since when the token has been dead, to the millisecond.
  var timestamp: Date?
  /// The header `retry-after`, should there ever be one.
  var retryAfter: Duration?

  init(status: Int, reason: String? = nil, timestamp: Date? = nil, retryAfter: Duration? = nil) {
    self.status = status
    self.reason = reason
    self.timestamp = timestamp
    self.retryAfter = retryAfter
  }

  /// - Parameter body: `{"reason":"…","timestamp":1700000000000}`; anything else is taken for no reason.
  init(status: Int, body: [UInt8], retryAfter: Duration?) {
    let refusal = body.isEmpty ? nil : try? JSONDecoder().decode(Refusal.self, from: Data(body))
    self.init(
      status: status, reason: refusal?.reason,
      timestamp: refusal?.timestamp.map { Date(timeIntervalSince1970: $0 / 1000) }, retryAfter: retryAfter)
  }

  /// The reason in a GOAWAY frame's debug data, which is the same JSON.
  static func reason(in debugData: [UInt8]) -> String? {
    (try? JSONDecoder().decode(Refusal.self, from: Data(debugData)))?.reason
  }

  private struct Refusal: Decodable {
    var reason: String
    var timestamp: Double?
  }
}
