import FoundationEssentials

/// Device tokens whose first eight hex digits select a reply, for tests by hand; the other digits are free.
enum TestTokens {
  struct Entry {
    let prefix: String
    let meaning: String
    let reply: @Sendable (Date) -> SimulatedAPNs.Reply
  }

  static let length = 8
  /// Valid in the sandbox only.
  static let sandbox = "5a4db0c5"

  /// All of them, as the phone page lists them.
  static let table: [Entry] = [
    refusal("fade0400", 400, "BadDeviceToken"),
    refusal("fade1400", 400, "DeviceTokenNotForTopic"),
    refusal("fade0403", 403, "InvalidProviderToken"),
    refusal("fade1403", 403, "ExpiredProviderToken"),
    invalid("fade0410", "Unregistered", "unregistered since now", after: 0),
    invalid("fade1410", "Unregistered", "unregistered for a year", after: -365 * 86_400),
    invalid("fade2410", "ExpiredToken", "unregistered since now", after: 0),
    refusal("fade0413", 413, "PayloadTooLarge"),
    refusal("fade0429", 429, "TooManyRequests"),
    refusal("fade0500", 500, "InternalServerError"),
    refusal("fade0503", 503, "ServiceUnavailable"),
    refusal("fade1503", 503, "Shutdown"),
    Entry(prefix: "fade0001", meaning: "200 after a second") { _ in .after(.seconds(1), .accept) },
    Entry(prefix: "fade0002", meaning: "no answer") { _ in .ignore },
    Entry(prefix: "fade0003", meaning: "the connection is closed") { _ in .cut },
    Entry(prefix: "fade0004", meaning: "GOAWAY; it and later ones are not processed") { _ in .goAway() },
    Entry(prefix: "fade0005", meaning: "RST_STREAM REFUSED_STREAM") { _ in .refuseStream },
    Entry(prefix: sandbox, meaning: "belongs to the sandbox: 400 BadDeviceToken in production") { _ in .accept },
  ]

  /// The reply that the token selects; nil for all other tokens.
  static func reply(to token: String, now: Date) -> SimulatedAPNs.Reply? {
    guard token.hasPrefix("fade") else { return nil }
    return byPrefix[String(token.prefix(length))]?(now)
  }

  private static let byPrefix = Dictionary(uniqueKeysWithValues: table.map { ($0.prefix, $0.reply) })

  private static func refusal(_ prefix: String, _ status: Int, _ reason: String) -> Entry {
    Entry(prefix: prefix, meaning: "\(status) \(reason)") { _ in .refuse(status: status, reason: reason) }
  }

  private static func invalid(_ prefix: String, _ reason: String, _ since: String, after: TimeInterval) -> Entry {
    Entry(prefix: prefix, meaning: "410 \(reason), \(since)") {
      .refuse(status: 410, reason: reason, since: $0.addingTimeInterval(after))
    }
  }
}
