/// Names a push to its provider of SMS, and in the provider's status reports: up to 16 letters and digits.
public struct SMSReference: Sendable, Hashable {
  public let sendout: SendoutID
  public let push: PushNumber

  /// The push's number has so many digits of base 36, and the sendout's those before them.
  private static let pushDigits = 7

  public init(sendout: SendoutID, push: PushNumber) {
    self.sendout = sendout
    self.push = push
  }

  /// Reads `text`, in any case.
  /// - Returns: nil for what is no reference.
  public init?(_ text: String) {
    guard (Self.pushDigits + 1...20).contains(text.utf8.count), text.first != "+", text.first != "-",
      let sendout = Int64(text.dropLast(Self.pushDigits), radix: 36), sendout > 0,
      let push = Int64(text.suffix(Self.pushDigits), radix: 36), push >= 0, text.suffix(Self.pushDigits).first != "+"
    else { return nil }
    self.init(sendout: SendoutID(sendout), push: PushNumber(push))
  }

  public var text: String {
    let push = String(push.rawValue, radix: 36)
    return String(sendout.rawValue, radix: 36)
      + String(repeating: "0", count: max(0, Self.pushDigits - push.utf8.count))
      + push
  }
}
