import Wire

/// The number on an app's icon.
enum BadgeTemplate: Sendable {
  case constant([UInt8])
  case text(TextTemplate)

  private static let range = 0...Int(Int32.max)

  /// - Throws: `ContentError.unparsable`, `.invalid`.
  init(_ badge: Badge, field: String) throws(ContentError) {
    switch badge {
    case .number(let number):
      guard Self.range.contains(number) else {
        throw .invalid(field: field, problem: "is not between 0 and \(Int32.max)")
      }
      self = .constant(Array(String(number).utf8))
    case .template(let source):
      let text = try TextTemplate(source, field: field)
      guard text.isConstant else {
        self = .text(text)
        return
      }
      guard let number = Self.number(source) else { throw .invalid(field: field, problem: "is not a whole number") }
      self = .constant(Array(String(number).utf8))
    }
  }

  /// The digits for one recipient; `nil` when the template gives no number for them, so that the icon stays as it is.
  func digits(_ context: PageContext) -> [UInt8]? {
    switch self {
    case .constant(let digits): digits
    case .text(let text): Self.number(text.render(context)).map { Array(String($0).utf8) }
    }
  }

  private static func number(_ text: String) -> Int? {
    Int(text.trimmed).flatMap { range.contains($0) ? $0 : nil }
  }
}
