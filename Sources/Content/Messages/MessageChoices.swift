public import Wire

/// What a sendout says with variants: the message as each of them has it, compiled.
public struct MessageChoices: Sendable {
  /// The message itself, which nobody gets where there are variants, but for tests.
  public let own: MessageTemplate
  /// In the order of the list.
  public let variants: [MessageTemplate]

  /// - Throws: `ContentError.invalid` and `.unparsable` with fields such as `message.alert`, `variants[1].message.alert` and
  ///   `variants[1].message.translations.sv.alert`.
  public init(_ message: MessageBody, variants: [MessageVariant]) throws(ContentError) {
    own = try MessageTemplate(message)
    var compiled: [MessageTemplate] = []
    for (index, variant) in variants.enumerated() {
      let field = Self.field(of: index)
      compiled.append(
        try ContentError.within(field) { () throws(ContentError) in
          let merged = try ContentError.merging(field) { try message.merged(with: variant.message) }
          return try MessageTemplate(merged)
        })
    }
    self.variants = compiled
  }

  private static func field(of index: Int) -> String { "variants[\(index)].message" }

  /// The message as somebody gets it.
  /// - Parameters:
  ///   - variant: from 1 on; nil for the message itself.
  ///   - language: what a contact or a device says of itself.
  /// - Returns: nil if there is no such variant.
  public func template(variant: Int16?, language: String?) -> MessageTemplate? {
    guard let variant else { return own.inLanguage(language) }
    return variants.indices.contains(Int(variant) - 1) ? variants[Int(variant) - 1].inLanguage(language) : nil
  }

  /// Checks the message and each variant, whose problems name it.
  package func checkEach(_ check: (MessageTemplate) throws(ContentError) -> Void) throws(ContentError) {
    try check(own)
    for (index, variant) in variants.enumerated() {
      try ContentError.within(Self.field(of: index)) { () throws(ContentError) in try check(variant) }
    }
  }
}
