/// What a text field may hold, and the field's name as requests write it.
///
/// Lengths count Unicode scalars, as PostgreSQL's `char_length` does. U+0000 is refused everywhere, since PostgreSQL's text
/// cannot hold it; a lone surrogate cannot occur in a Swift string.
package struct TextRule: Sendable {
  package let field: String
  package let maximum: Int
  /// Whether control characters, line ends among them, may occur.
  package let allowsControls: Bool

  package init(_ field: String, maximum: Int, allowsControls: Bool = false) {
    self.field = field
    self.maximum = maximum
    self.allowsControls = allowsControls
  }

  /// The text, if it is present and as it may be.
  /// - Throws: `RegistryError.invalid`, naming the field.
  package func require(_ text: String) throws(RegistryError) -> String {
    guard text.unicodeScalars.contains(where: { !$0.properties.isWhitespace }) else { throw refuse("is empty") }
    return try check(text)
  }

  /// The text, if it is as it may be; it may be empty.
  /// - Throws: `RegistryError.invalid`, naming the field.
  package func check(_ text: String) throws(RegistryError) -> String {
    var length = 0
    for scalar in text.unicodeScalars {
      length += 1
      guard length <= maximum else { throw refuse("is longer than \(maximum) characters") }
      guard scalar.value != 0 else { throw refuse("holds U+0000") }
      if !allowsControls, scalar.value < 0x20 || scalar.value == 0x7F { throw refuse("holds a control character") }
    }
    return text
  }

  package func refuse(_ problem: String) -> RegistryError { .invalid(field: field, problem: problem) }
}
