import Operations
import Registry
import Wire

extension ConsoleView {
  /// A secret that is shown this once. It is the reply to the POST that made it, which nothing stores.
  /// - Parameters:
  ///   - use: a line that uses it, if there is one.
  ///   - back: where to go on.
  static func secret(
    _ title: String, label: String, _ secret: String, use: String?, note: String? = nil, back: String,
    _ backText: String
  ) -> ConsoleView {
    ConsoleView(
      title: title, template: "secret",
      values: [
        "label": label, "secret": secret, "use": use ?? "", "note": note ?? "", "back": back, "backText": backText,
      ])
  }
}

extension ConsoleCall {
  /// The first pages of parts that stand together, for `{{>_tabs}}`: those that the user may see.
  func tabs(_ parts: [[ConsolePage]], _ current: String) -> [[String: Any]] {
    parts.compactMap(\.first).filter { $0.isOpen(to: role, seesPersonal: user.seesPersonal) }.map { page in
      ["title": page.title, "href": page.path, "isCurrent": page.path == current]
    }
  }

  /// Why an act of the page was refused, for `{{>_errors}}`.
  var refusals: [[String: Any]] { refusal.map { [["id": "", "text": $0.sentence]] } ?? [] }
}
