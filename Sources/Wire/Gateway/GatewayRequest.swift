/// A request to the gateway of CM Hybrid Messaging, with its fields as they came by JSON, XML or a query.
public struct GatewayRequest: Sendable, Equatable {
  /// A `MSG`: one text to one or more telephone numbers. An empty field counts as absent.
  public struct Message: Sendable, Equatable {
    public var sender: String?
    public var recipients: [String] = []
    public var text: String?
    /// `auto` lets the text choose its coding.
    public var textType: String?
    /// The data coding scheme: 0 for GSM-7, 8 for UCS-2.
    public var coding: String?
    public var reference: String?
    public var minimumParts: String?
    public var maximumParts: String?
    public var validity: String?
    public var channels: [String] = []
    public var appKey: String?
    public var kind: String?
    /// A field that is no text and no number, or holds what no text can hold.
    public var unreadableField: String?

    public init() {}
  }

  public var productToken: String?
  public var messages: [Message] = []

  public init() {}

  /// Bytes of a body.
  public static let maximumBytes = 4 * 1024 * 1024
  public static let maximumMessages = 1000
  /// Telephone numbers of one message.
  public static let maximumRecipients = 1000
  /// Telephone numbers of all messages together.
  public static let maximumTotal = 10_000
}

/// Why a request to the gateway is refused as a whole, with a sentence for its sender.
public enum GatewayProblem: Error, Sendable, Equatable {
  case malformed(String)
  /// There is no message, or there are too many of something.
  case badCount(String)

  package static let noMessages = GatewayProblem.badCount("A MESSAGES node requires at least one MSG node")

  public var sentence: String {
    switch self {
    case .malformed(let sentence), .badCount(let sentence): sentence
    }
  }
}

extension GatewayRequest {
  /// What stands where a product token does in the beginning of a body, JSON or XML in any encoding of ASCII or UTF-16; at most four.
  /// A token that is written with escapes or as CDATA is not found.
  public static func productTokens(in beginning: some Sequence<UInt8>) -> [String] {
    let bytes = beginning.filter { $0 != 0 }
    let name = Array("producttoken".utf8)
    var tokens: [String] = []
    var index = 0
    while index + name.count < bytes.count, tokens.count < 4 {
      guard (0..<name.count).allSatisfy({ bytes[index + $0] | 0x20 == name[$0] }) else {
        index += 1
        continue
      }
      // The name of a member is followed by a quotation mark and a colon, and that of an element by its attributes and a bracket.
      index += name.count
      let rest = bytes[index...].prefix(512)
      let mark = UInt8(ascii: rest.first == UInt8(ascii: "\"") ? ":" : ">")
      guard let end = rest.firstIndex(of: mark), mark == UInt8(ascii: ">") || end <= index + 8 else { continue }
      let value = rest[(end + 1)...].drop { "\" \t\r\n".utf8.contains($0) }
      let token = value.prefix { !"\"<\\& \t\r\n".utf8.contains($0) }
      if !token.isEmpty, token.count <= 128, token.endIndex < rest.endIndex {
        tokens.append(String(decoding: token, as: UTF8.self))
      }
    }
    return tokens
  }

  /// Adds a message, if there is room for it and its telephone numbers.
  package mutating func add(_ message: Message) throws(GatewayProblem) {
    guard messages.count < Self.maximumMessages else {
      throw .badCount("A request has at most \(Self.maximumMessages) messages (MSG).")
    }
    messages.append(message)
  }

  /// Refuses more telephone numbers than a message or a request can have.
  package static func checkCount(of recipients: Int, total: Int) throws(GatewayProblem) {
    guard recipients <= maximumRecipients else {
      throw .badCount("A message has at most \(maximumRecipients) telephone numbers (TO).")
    }
    guard total <= maximumTotal else {
      throw .badCount("A request has at most \(maximumTotal) telephone numbers (TO) in all. Send several requests.")
    }
  }

  /// Reads a query such as `producttoken=…&to=…&from=…&body=…`. It has one number, and SMS only: an app key is ignored.
  public init(query: String) throws(GatewayProblem) {
    let pairs: [(name: String, value: String)]
    do throws(FormPairs.Problem) {
      pairs = try FormPairs.read(query.utf8)
    } catch {
      throw .malformed("The query \(error.problem).")
    }
    var message = Message()
    for (name, value) in pairs {
      switch name.lowercasedASCII {
      case "producttoken": productToken = value
      case "body": message.text = value
      case "to": message.recipients.append(value)
      case "from": message.sender = value
      case "reference": message.reference = value
      default: break
      }
    }
    guard message.recipients.count <= 1 else { throw .badCount("A GET request takes one telephone number.") }
    message.maximumParts = "1"
    message.channels = ["SMS"]
    messages = [message]
  }
}
