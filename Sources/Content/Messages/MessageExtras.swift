import Crypto
import Wire

/// The parts of a message that few messages have. Others have none of it, so that it costs them nothing.
final class MessageExtras: Sendable {
  let image: TextTemplate?
  let url: TextTemplate?
  let collapseKey: TextTemplate?
  let overrides: (source: MessageOverrides, value: FieldTemplate)?
  /// The overrides if they are the same for everybody.
  private let constantOverrides: JSONValue?

  /// Most bytes of a collapse key at APNs, which has the narrowest limit for a text.
  private static let collapseKeyLimit = 64
  /// Most values within each other, the services' own objects included.
  private static let overrideDepth = 12

  /// - Returns: `nil` if the message has none of its parts.
  /// - Throws: `ContentError.invalid`, `.unparsable` with fields such as `message.image`.
  init?(_ message: MessageBody) throws(ContentError) {
    let isVerbatim = message.verbatim ?? false
    func text(_ text: String?, _ field: String) throws(ContentError) -> TextTemplate? {
      guard let text, !text.isEmpty else { return nil }
      return try TextTemplate(text, field: "message.\(field)", isVerbatim: isVerbatim)
    }
    image = try text(message.image, "image")
    url = try text(message.url, "url")
    let key = try text(message.collapseKey, "collapseKey")
    // A key without a variable is hashed once for everybody.
    collapseKey = key?.template.isConstant == true ? try text(message.collapseKey.map(Self.sent), "collapseKey") : key
    let services = message.overrides?.value
    overrides = try Self.overrides(message.overrides, services, isVerbatim)
    constantOverrides = overrides?.value.texts.isEmpty == true ? services : nil
    if image == nil, url == nil, collapseKey == nil, overrides == nil { return nil }
    if let image, image.template.isConstant, let text = message.image, !Self.isImage(text) {
      throw .invalid(field: "message.image", problem: "is no address that begins with https://")
    }
    if let url, url.template.isConstant, let text = message.url, !Self.isLink(text) {
      throw .invalid(field: "message.url", problem: "is no address such as https://example.com/offer or shop:offer/7")
    }
  }

  /// - Parameter services: the overrides as JSON.
  private static func overrides(
    _ overrides: MessageOverrides?, _ services: JSONValue?, _ isVerbatim: Bool
  ) throws(ContentError) -> (source: MessageOverrides, value: FieldTemplate)? {
    guard let overrides, let services, case .object(let members) = services, !members.isEmpty else { return nil }
    let value = try FieldTemplate(
      services, field: "message.overrides", isVerbatim: isVerbatim, depthLimit: Self.overrideDepth)
    let json = if case .constant(_, let json) = value { json } else { services.json }
    guard json.count <= MessageOverrides.sizeLimit else {
      throw .invalid(field: "message.overrides", problem: "are larger than \(MessageOverrides.sizeLimit) bytes of JSON")
    }
    return (overrides, value)
  }

  /// The texts that have to be rendered.
  var texts: [TextTemplate] { [image, url, collapseKey].compactMap(\.self) + (overrides?.value.texts ?? []) }

  /// Sets the parts for one recipient, but for the link.
  func fill(_ message: inout RenderedMessage, _ context: PageContext, within budget: inout RenderBudget) {
    if let image {
      let address = image.render(context, within: &budget)
      message.image = Self.isImage(address) ? JSONText.quoted(address) : nil
    }
    if let collapseKey {
      let key = collapseKey.render(context, within: &budget)
      message.collapseKey = key.isEmpty ? nil : Self.sent(key)
    }
    message.overrides = constantOverrides ?? overrides?.value.value(context, within: &budget)
  }

  private static func isImage(_ text: String) -> Bool { text.hasPrefix("https://") && isLink(text) }

  /// Whether it begins with a scheme and has no blank.
  private static func isLink(_ text: String) -> Bool {
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), colon > text.startIndex else { return false }
    return text.utf8[..<colon].allSatisfy(isOfScheme) && text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }
      && text.utf8.count <= 2000
  }

  private static func isOfScheme(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
      true
    default: false
    }
  }

  /// A collapse key as it is sent: 32 digits stand for one that push services do not take.
  private static func sent(_ key: String) -> String {
    let isTaken = key.utf8.count <= collapseKeyLimit && key.utf8.allSatisfy { (0x21..<0x7F).contains($0) }
    return isTaken ? key : Array(SHA256.hash(data: Array(key.utf8)).prefix(16)).hexDigits
  }
}
