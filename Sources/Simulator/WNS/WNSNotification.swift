import Wire
import XML

/// The body of a request to a channel, read as WNS reads it.
struct WNSNotification: Sendable {
  /// Such as `wns/toast`.
  let type: String
  /// Nil for a raw notification.
  private(set) var xml: ParsedXML?
  /// Why it is refused: the text of `X-WNS-Error-Description`.
  private(set) var fault: String?

  static let contentTypes = [
    "wns/toast": "text/xml", "wns/tile": "text/xml", "wns/badge": "text/xml", "wns/raw": "application/octet-stream",
  ]

  init(type: String, body: [UInt8]) {
    self.type = type
    guard type != "wns/raw" else { return }
    do {
      let xml = try ParsedXML(body)
      self.xml = xml
      fault = Self.fault(of: xml, type)
    } catch {
      fault = "The notification payload is not well-formed XML"
    }
  }

  private static func fault(of root: ParsedXML, _ type: String) -> String? {
    let rootName = type.split(separator: "/").last.map(String.init)
    guard root.name == rootName else { return "The root element is not \(rootName ?? "known")" }
    if root.name == "badge" { return badgeFault(root) }
    let sections = root.name == "toast" ? ["visual", "actions", "audio", "header", "commands"] : ["visual"]
    guard root.children.allSatisfy({ sections.contains($0.name) }) else { return "An element is unknown" }
    let visuals = root.children.filter { $0.name == "visual" }
    guard visuals.count == 1 else { return "There must be one visual element" }
    let bindings = visuals[0].children
    guard !bindings.isEmpty, bindings.allSatisfy({ $0.name == "binding" && $0.attributes["template"] != nil }) else {
      return "The visual element must hold bindings that name their templates"
    }
    let contents = ["text", "image", "group", "progress"]
    guard bindings.flatMap(\.children).allSatisfy({ contents.contains($0.name) }) else {
      return "A binding holds an unknown element"
    }
    guard bindings.flatMap({ $0.all("image") }).allSatisfy({ $0.attributes["src"]?.isEmpty == false }) else {
      return "An image has no source"
    }
    return nil
  }

  private static let glyphs: Set<String> = [
    "none", "activity", "alarm", "alert", "attention", "available", "away", "busy", "error", "newMessage", "paused",
    "playing", "unavailable",
  ]

  private static func badgeFault(_ badge: ParsedXML) -> String? {
    guard badge.children.isEmpty, let value = badge.attributes["value"],
      UInt32(value) != nil || glyphs.contains(value)
    else { return "The value of a badge is a number or a glyph" }
    return nil
  }
}
