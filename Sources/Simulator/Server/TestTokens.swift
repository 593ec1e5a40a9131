import FoundationEssentials

/// Device tokens whose first eight characters select a reply, for tests by hand; the others are free.
struct TestTokens<Refusal: Sendable & Hashable>: Sendable {
  struct Entry: Sendable {
    let prefix: String
    let meaning: String
    let reply: @Sendable (Date) -> SimulatedReply<Refusal>
  }

  static var length: Int { 8 }

  /// All of them, as the phone page lists them.
  let table: [Entry]
  private let byPrefix: [String: @Sendable (Date) -> SimulatedReply<Refusal>]

  /// - Parameter own: those of one service; the replies of HTTP/2 are every service's.
  init(_ own: [Entry]) {
    table =
      own + [
        Entry(prefix: "fade0001", meaning: "200 after a second") { _ in .after(.seconds(1), .accept) },
        Entry(prefix: "fade0002", meaning: "no answer") { _ in .ignore },
        Entry(prefix: "fade0003", meaning: "the connection is closed") { _ in .cut },
        Entry(prefix: "fade0004", meaning: "GOAWAY; it and later ones are not processed") { _ in .goAway() },
        Entry(prefix: "fade0005", meaning: "RST_STREAM REFUSED_STREAM") { _ in .refuseStream },
      ]
    byPrefix = Dictionary(uniqueKeysWithValues: table.map { ($0.prefix, $0.reply) })
  }

  /// The reply that the token selects; nil for all other tokens.
  func reply(to token: String, now: Date) -> SimulatedReply<Refusal>? {
    guard token.hasPrefix("fade") else { return nil }
    return byPrefix[String(token.prefix(Self.length))]?(now)
  }
}
