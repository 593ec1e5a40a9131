public import Wire

/// What was left out of a message so that a push service takes it.
public struct Reductions: OptionSet, Sendable, Hashable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let infoDropped = Reductions(rawValue: 1)
  public static let alertShortened = Reductions(rawValue: 2)
  public static let fieldsDropped = Reductions(rawValue: 4)
  /// Fields whose names the service keeps for itself.
  public static let reservedFieldsDropped = Reductions(rawValue: 8)

  /// For the ledger and for people, as in `info dropped, alert shortened`; nil if nothing was left out.
  public var description: String? {
    let names: [(Reductions, String)] = [
      (.infoDropped, "info dropped"), (.alertShortened, "alert shortened"), (.fieldsDropped, "optional fields dropped"),
      (.reservedFieldsDropped, "fields with names that FCM reserves dropped"),
    ]
    return isEmpty ? nil : names.filter { contains($0.0) }.map(\.1).joined(separator: ", ")
  }
}

/// The ladder of all push services for messages that are too large: the info is dropped, then the alert is shortened, then the
/// optional fields are dropped. `url` and `pushreadurl` always stay.
extension RenderedMessage {
  /// Most characters of an alert that is never made shorter.
  static let shortestAlert = 40

  /// The first form on the ladder that fits.
  /// - Parameter form: gives the message a service's form; nil if that is too large.
  /// - Returns: nil if the smallest one is too large.
  func fitted<Form>(_ form: (RenderedMessage) -> Form?) -> (form: Form, reductions: Reductions)? {
    if let form = form(self) { return (form, []) }
    if literalData != nil { return nil }
    var (message, reductions) = (self, Reductions())
    if mayDropInfo {
      message.info = nil
      reductions.insert(.infoDropped)
      if let form = form(message) { return (form, reductions) }
    }
    if let form = message.shortened(form) { return (form, reductions.union(.alertShortened)) }
    guard fields.contains(where: \.isOptional) else { return nil }
    message.fields.removeAll(where: \.isOptional)
    reductions.insert(.fieldsDropped)
    if let form = form(message) { return (form, reductions) }
    return message.shortened(form).map { ($0, reductions.union(.alertShortened)) }
  }

  /// The smallest form on the ladder.
  public var smallest: RenderedMessage { reduced.message }

  /// The smallest form on the ladder, and what it leaves out.
  var reduced: (message: RenderedMessage, reductions: Reductions) {
    var (message, reductions) = (self, Reductions())
    if mayDropInfo {
      message.info = nil
      reductions.insert(.infoDropped)
    }
    if fields.contains(where: \.isOptional) {
      message.fields.removeAll(where: \.isOptional)
      reductions.insert(.fieldsDropped)
    }
    if let characters = message.alertCharacters {
      message.alert = Self.alert(characters, Self.shortestAlert)
      reductions.insert(.alertShortened)
    }
    return (message, reductions)
  }

  /// Without an alert, the info is all that there is to read.
  private var mayDropInfo: Bool { info != nil && alert.map { $0.count > 2 } == true }

  /// The form with as much of the alert as fits.
  private func shortened<Form>(_ form: (RenderedMessage) -> Form?) -> Form? {
    guard let characters = alertCharacters else { return nil }
    var message = self
    func shortened(to count: Int) -> Form? {
      message.alert = Self.alert(characters, count)
      return form(message)
    }
    guard var best = shortened(to: Self.shortestAlert) else { return nil }
    var (fits, tooLong) = (Self.shortestAlert, characters.count)
    while tooLong - fits > 1 {
      let middle = (fits + tooLong) / 2
      if let form = shortened(to: middle) {
        (best, fits) = (form, middle)
      } else {
        tooLong = middle
      }
    }
    return best
  }

  /// The alert as people count its characters; nil if it is not made shorter.
  private var alertCharacters: [Character]? {
    guard let alert, alert.count > Self.shortestAlert, let text = (try? JSONValue(json: alert))?.text else {
      return nil
    }
    let characters = Array(text)
    return characters.count > Self.shortestAlert ? characters : nil
  }

  /// The first characters and an ellipsis, without blanks in between.
  private static func alert(_ characters: [Character], _ count: Int) -> [UInt8] {
    var start = characters.prefix(count)
    while start.last?.isWhitespace == true { start.removeLast() }
    return JSONText.quoted(String(start) + "…")
  }
}
