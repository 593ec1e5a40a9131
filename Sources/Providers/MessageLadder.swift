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
    if var alert = message.longAlert {
      message.alert = alert.first(Self.shortestAlert)
      reductions.insert(.alertShortened)
    }
    return (message, reductions)
  }

  /// Without an alert, the info is all that there is to read.
  private var mayDropInfo: Bool { info != nil && alert.map { $0.count > 2 } == true }

  /// The form with as much of the alert as fits. It is looked for from the shortest on: an alert can be many times as long as what fits.
  private func shortened<Form>(_ form: (RenderedMessage) -> Form?) -> Form? {
    guard var alert = longAlert else { return nil }
    var message = self
    /// - Returns: nil if the alert does not fit, or has no more characters than that.
    func shortened(to count: Int) -> Form? {
      message.alert = alert.first(count)
      return message.alert.flatMap { _ in form(message) }
    }
    guard var best = shortened(to: Self.shortestAlert) else { return nil }
    var (fits, tooLong) = (Self.shortestAlert, 2 * Self.shortestAlert)
    while let form = shortened(to: tooLong) { (best, fits, tooLong) = (form, tooLong, 2 * tooLong) }
    while tooLong - fits > 1 {
      let middle = (fits + tooLong) / 2
      if let form = shortened(to: middle) { (best, fits) = (form, middle) } else { tooLong = middle }
    }
    return best
  }

  /// The alert, if it has characters that can be left out.
  private var longAlert: LongAlert? {
    guard let alert, alert.count > Self.shortestAlert, let text = (try? JSONValue(json: alert))?.text else {
      return nil
    }
    var long = LongAlert(text)
    return long.first(Self.shortestAlert) == nil ? nil : long
  }
}

/// An alert of which the first characters are wanted, as people count them.
private struct LongAlert {
  private let text: String
  /// Where each of the first characters ends, as far as they have been asked for.
  private var ends: [String.Index] = []

  init(_ text: String) { self.text = text }

  /// The first characters and an ellipsis, without blanks in between, as JSON; nil if there are no more of them.
  mutating func first(_ count: Int) -> [UInt8]? {
    while ends.count < count {
      let start = ends.last ?? text.startIndex
      guard start < text.endIndex else { return nil }
      ends.append(text.index(after: start))
    }
    guard ends[count - 1] < text.endIndex else { return nil }
    var start = text[..<ends[count - 1]]
    while start.last?.isWhitespace == true { start.removeLast() }
    return JSONText.quoted(String(start) + "…")
  }
}
