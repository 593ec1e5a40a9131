import Embedded
import FoundationEssentials

extension HTMLTemplates {
  /// Of the phone page and the sample page.
  static let simulator = HTMLTemplates(EmbeddedFile.simulator)
}

extension PhonePush {
  /// A notification on a phone, for `_card.html`.
  var card: [String: Any] {
    [
      "number": number, "url": url ?? "", "read": pushReadURL ?? "", "payload": payload, "isSilent": isSilent,
      "leads": url != nil ? "Opens its page" : pushReadURL != nil ? "Marks it as read" : "Has no page",
      "hue": Self.hue(app), "initial": String(app.prefix(1)),
      "badge": badge.flatMap { $0 > 0 ? "\($0)" : nil } ?? "", "app": app, "title": title, "text": text,
      "start": String(token.prefix(8)), "notes": notes.joined(separator: " · "),
      "at": Int64(at.timeIntervalSince1970 * 1000), "picture": picture ?? "",
    ]
  }

  /// An app's colour.
  private static func hue(_ app: String) -> Int { app.utf8.reduce(7) { ($0 * 31 + Int($1)) % 360 } }
}

extension PhoneKind {
  /// A phone with its notifications, the newest first, and the browser that a tap opens: for `_phone.html`.
  func screen(_ pushes: [PhonePush]) -> [String: Any] {
    [
      "look": look, "id": id, "name": name, "cards": pushes.reversed().map(\.card), "hasCards": !pushes.isEmpty,
    ]
  }
}
