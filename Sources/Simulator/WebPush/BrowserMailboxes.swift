import FoundationEssentials
import Wire

/// What browsers are to get, until they acknowledge it.
///
/// A browser that this start of the Simulator has not seen yet may have subscribed at an earlier one, so it has a mailbox too.
struct BrowserMailboxes {
  private struct Mailbox {
    var link: BrowserLink?
    var pushes: [StoredPush] = []
  }

  private var boxes: [String: Mailbox] = [:]
  /// Most pushes of a browser that are kept; the oldest are dropped.
  private static let limit = 100

  /// A browser is there.
  /// - Returns: what it has not acknowledged, and its former connection.
  mutating func connect(_ agent: String, _ link: BrowserLink, now: Date) -> (pushes: [StoredPush], former: BrowserLink?)
  {
    var box = boxes[agent] ?? Mailbox()
    defer { boxes[agent] = box }
    let former = box.link
    box.link = link
    box.pushes.removeAll { $0.end <= now }
    return (box.pushes, former)
  }

  /// A connection has ended.
  mutating func disconnect(_ agent: String, _ number: Int) {
    if boxes[agent]?.link?.number == number { boxes[agent]?.link = nil }
  }

  /// Keeps a push. One that waits and has its topic is replaced (RFC 8030, section 5.4).
  /// - Returns: the connection that is to get it now.
  mutating func add(_ push: StoredPush, now: Date) -> BrowserLink? {
    var box = boxes[push.address.agent] ?? Mailbox()
    defer { boxes[push.address.agent] = box }
    guard push.end > now || box.link != nil else { return nil }
    box.pushes.removeAll {
      $0.end <= now || (push.topic != nil && $0.topic == push.topic && $0.address == push.address)
    }
    box.pushes = box.pushes.suffix(Self.limit - 1) + [push]
    return box.link
  }

  mutating func acknowledge(_ agent: String, version: String) {
    boxes[agent]?.pushes.removeAll { $0.version == version }
  }

  /// Drops what a channel has not got yet.
  mutating func removeChannel(_ address: BrowserAddress) {
    boxes[address.agent]?.pushes.removeAll { $0.address == address }
  }

  var links: [BrowserLink] { boxes.values.compactMap(\.link) }
}

/// A browser's connection. Both functions may be called from any thread.
struct BrowserLink: Sendable {
  let number: Int
  let send: @Sendable (String) -> Void
  let close: @Sendable () -> Void
}

/// A channel of a real browser: what its endpoint names.
struct BrowserAddress: Sendable, Hashable {
  /// The browser's id at the push service (`uaid`): 32 hexadecimal digits.
  let agent: String
  /// A UUID in lower case.
  let channel: String

  /// - Parameter agent: as `validAgent` has it.
  /// - Returns: nil unless the channel is a UUID in lower case.
  init?(agent: String, channel: String) {
    guard channel == channel.lowercased(), UUID(uuidString: channel) != nil else { return nil }
    self.agent = agent
    self.channel = channel
  }

  /// - Returns: nil for the endpoint of a sample browser.
  init?(_ endpoint: EndpointID) {
    let parts = endpoint.browser.split(separator: "_")
    guard parts.count == 2, let agent = Self.validAgent(String(parts[0])) else { return nil }
    self.init(agent: agent, channel: String(parts[1]))
  }

  /// What it is called in an endpoint.
  var name: String { "\(agent)_\(channel)" }

  static func validAgent(_ text: String) -> String? {
    text.utf8.count == 32 && text.allSatisfy { $0.isASCII && $0.isHexDigit } ? text : nil
  }

  static func newAgent() -> String { UUID().uuidString.lowercased().replacing("-", with: "") }
}

/// A push for a real browser.
struct StoredPush: Sendable {
  let address: BrowserAddress
  let version: String
  let topic: String?
  let end: Date
  let body: [UInt8]

  /// What the browser gets.
  var message: String {
    let data =
      body.isEmpty ? "" : #","data":"\#(Base64URL.text(body))","headers":{"encoding":"aes128gcm"}"#
    return #"{"messageType":"notification","channelID":"\#(address.channel)","version":"\#(version)"\#(data)}"#
  }
}
