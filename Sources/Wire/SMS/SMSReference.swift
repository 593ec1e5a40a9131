/// Names a push to its provider of SMS, and in the provider's status reports: letters and digits, up to 26 with the hub's code.
///
/// The code follows from the push and a secret of the hub (`SMSStatusAddresses`). So who has not got the message cannot report on it.
public struct SMSReference: Sendable, Hashable {
  public let sendout: SendoutID
  public let push: PushNumber
  /// In lower case; nil without one.
  public let code: String?

  /// The push's number has so many digits of base 36, and the sendout's up to nine before them.
  private static let pushDigits = 7
  private static let longestBare = 16
  /// How many digits of base 36 a code has. So a reference with one is longer than any without.
  public static let codeDigits = 10

  public init(sendout: SendoutID, push: PushNumber, code: String? = nil) {
    self.sendout = sendout
    self.push = push
    self.code = code
  }

  /// Reads `text`, in any case.
  /// - Returns: nil for what is no reference.
  public init?(_ text: String) {
    let hasCode = text.utf8.count > Self.longestBare
    let bare = hasCode ? text.dropLast(Self.codeDigits) : text[...]
    guard (Self.pushDigits + 1...Self.longestBare).contains(bare.utf8.count), text.utf8.allSatisfy(Self.isDigit),
      let sendout = Int64(bare.dropLast(Self.pushDigits), radix: 36), sendout > 0,
      let push = Int64(bare.suffix(Self.pushDigits), radix: 36)
    else { return nil }
    self.init(
      sendout: SendoutID(sendout), push: PushNumber(push),
      code: hasCode ? text.suffix(Self.codeDigits).lowercasedASCII : nil)
  }

  public var text: String {
    String(sendout.rawValue, radix: 36) + Self.padded(push.rawValue, to: Self.pushDigits) + (code ?? "")
  }

  /// The number in base 36, with zeros before it.
  public static func padded(_ number: Int64, to digits: Int) -> String {
    let text = String(number, radix: 36)
    return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20)
  }
}
