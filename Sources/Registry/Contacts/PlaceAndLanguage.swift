import FoundationEssentials
import Locking
package import Wire

/// A name of the time zone database. SQL reads it too, so that what PostgreSQL takes for something else is refused.
package enum TimeZoneName {
  /// What is said of a text that is none.
  package static let problem = "must be a name of the IANA database, such as Europe/Berlin or UTC"

  /// Names that were known already: to look one up costs more than all else about a registration.
  private static let known = Mutex<Set<UTF8String>>([])

  /// Whether it names a place, or UTC. Abbreviations (`CET`) and rules (`EST5EDT`) do not, nor do offsets such as GMT+5, which PostgreSQL reads
  /// the other way round.
  package static func isKnown(_ name: String) -> Bool {
    if name == "UTC" || name == "GMT" { return true }
    guard name.utf8.count <= 64, name.utf8.contains(UInt8(ascii: "/")), !name.hasPrefix("SystemV/"),
      name.utf8.allSatisfy({ $0 != 0 && $0 < 0x80 })
    else { return false }
    let key = UTF8String(name)
    if known.withLock({ $0.contains(key) }) { return true }
    guard TimeZone(identifier: name) != nil else { return false }
    known.withLock { _ = $0.insert(key) }
    return true
  }
}

extension ContactField {
  /// The text as it is stored: a language in its usual case, any other text as it is. "" is no text, and is everywhere allowed.
  /// - Throws: `RegistryError.invalid`, naming the field.
  package func checked(_ text: String) throws(RegistryError) -> String {
    _ = try TextRule(name, maximum: Self.maximum, allowsControls: true).check(text)
    guard let kept = kept(text) else {
      throw .invalid(
        field: name,
        problem: self == .timeZone ? TimeZoneName.problem : "must be a language tag of BCP 47, such as sv or pt-BR")
    }
    return kept
  }

  /// `nil` for a text that the field cannot hold, whatever its length.
  func kept(_ text: String) -> String? {
    switch self {
    case _ where text.isEmpty: text
    case .timeZone: TimeZoneName.isKnown(text) ? text : nil
    case .language: LanguageTag(spelled: text)?.text
    default: text
    }
  }
}

/// What a device says of where it is, and in what language.
enum DevicePlace {
  /// The time zone as it is stored.
  /// - Parameter isLenient: whether one that there is not is left out.
  /// - Throws: `RegistryError.invalid`.
  static func timeZone(_ name: String?, _ field: @autoclosure () -> String, isLenient: Bool) throws(RegistryError)
    -> String?
  {
    guard let name, !name.isEmpty, !TimeZoneName.isKnown(name) else { return name }
    if isLenient { return nil }
    throw .invalid(field: field(), problem: TimeZoneName.problem)
  }

  /// The locale as a language tag. Phones write some of them with underscores, as in `pt_BR`.
  /// - Throws: `RegistryError.invalid`.
  static func locale(_ text: String?, _ field: @autoclosure () -> String, isLenient: Bool) throws(RegistryError)
    -> String?
  {
    guard let text, !text.isEmpty else { return text }
    if let tag = LanguageTag(spelled: text) { return tag.text }
    if isLenient { return nil }
    throw .invalid(field: field(), problem: "must be a locale such as sv-SE or pt_BR")
  }
}
