import FoundationEssentials

/// Device tokens whose first eight characters select a reply, for tests by hand. Other tokens select none.
struct TestTokens<Refusal: Sendable & Hashable>: Sendable {
  struct Entry: Sendable {
    let prefix: String
    let meaning: String
    let reply: @Sendable (Date) -> SimulatedReply<Refusal>

    init(_ prefix: String, _ meaning: String, _ reply: @escaping @Sendable (Date) -> SimulatedReply<Refusal>) {
      self.prefix = prefix
      self.meaning = meaning
      self.reply = reply
    }

    init(_ prefix: String, _ meaning: String, _ refusal: Refusal) {
      self.init(prefix, meaning) { _ in .refuse(refusal) }
    }
  }

  static var length: Int { 8 }

  /// How the phone page introduces them. Text between backticks is code.
  let introduction: String
  /// All of them, as the phone page lists them; empty for a service without test tokens.
  let table: [Entry]
  private let byPrefix: [String: @Sendable (Date) -> SimulatedReply<Refusal>]

  /// - Parameter own: those of one service; the replies of HTTP/2 are those of every service.
  init(_ introduction: String, _ own: [Entry]) {
    self.init(
      introduction,
      table: own + [
        Entry("fade0001", "200 after a second") { _ in .after(.seconds(1), .accept) },
        Entry("fade0002", "no answer") { _ in .ignore },
        Entry("fade0003", "the connection is closed") { _ in .cut },
        Entry("fade0004", "GOAWAY; it and later ones are not processed") { _ in .goAway() },
        Entry("fade0005", "RST_STREAM REFUSED_STREAM") { _ in .refuseStream },
      ])
  }

  private init(_ introduction: String, table: [Entry]) {
    self.introduction = introduction
    self.table = table
    byPrefix = Dictionary(uniqueKeysWithValues: table.map { ($0.prefix, $0.reply) })
  }

  static var none: Self { Self("", table: []) }

  /// The reply that the token selects; nil for all other tokens.
  func reply(to token: String, now: Date) -> SimulatedReply<Refusal>? {
    guard token.hasPrefix("fade") else { return nil }
    return byPrefix[String(token.prefix(Self.length))]?(now)
  }
}
