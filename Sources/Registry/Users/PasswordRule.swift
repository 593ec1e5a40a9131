@_spi(_Unicode) import Swift
import Wire

/// Which passwords users may have. There are no rules about kinds of characters, which only make people write passwords down.
package enum PasswordRule {
  /// Characters that a password has at least.
  package static let fewestCharacters = 12
  /// Bytes of UTF-8 that it has at most.
  package static let mostBytes = 200

  /// Characters that must be left when obvious words are taken out, and those of which there must be so many different ones.
  private static let (fewestOwn, fewestDifferent) = (6, 5)

  /// What people try first. The shorter of two words that begin alike stands behind the longer one.
  private static let common = [
    "password", "passwort", "passw0rd", "wachtwoord", "motdepasse", "contraseña", "pushcart", "letmein", "welcome",
    "willkommen", "changeme", "iloveyou", "administrator", "admin", "secret", "geheim", "qwertyuiop", "qwertzuiop",
    "qwerty", "qwertz", "azerty", "asdfghjkl", "asdfgh", "1q2w3e4r5t", "1q2w3e4r", "abc123", "zaq12wsx", "dragon",
    "monkey", "football", "baseball", "sunshine", "princess", "superman", "trustno1", "master", "hallo", "hello",
    "login", "user", "test", "123456789", "12345678", "123456", "12345", "1234", "123",
  ]

  /// The password as it is hashed: in normal form C, so that every keyboard types the same.
  static func bytes(of password: String) -> [UInt8] {
    // No password is longer: three signs compose into two bytes at least.
    var composed = String.UnicodeScalarView()
    composed.append(contentsOf: String(password.unicodeScalars.prefix(3 * mostBytes + 1))._nfc)
    return Array(String(composed).utf8)
  }

  /// Checks a new password.
  /// - Throws: `RegistryError.invalid`, naming `password`.
  package static func check(_ password: String, email: String, name: String) throws(RegistryError) {
    let text = String(decoding: bytes(of: password), as: UTF8.self)
    guard text.utf8.count <= mostBytes else { throw refuse("is longer than \(mostBytes) bytes") }
    guard text.count >= fewestCharacters else {
      throw refuse("is too short: it needs \(fewestCharacters) characters at least. Several words are easy to remember")
    }
    guard !text.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }) else {
      throw refuse("holds a control character")
    }
    guard Set(text.unicodeScalars).count >= fewestDifferent, !isSequence(text) else {
      throw refuse("is too easy to guess: it repeats or counts characters")
    }
    guard withoutWords(of: text, email, name).count >= fewestOwn else {
      throw refuse("is too easy to guess: it is made of your name, your e-mail address or common passwords")
    }
  }

  private static func refuse(_ problem: String) -> RegistryError { .invalid(field: "password", problem: problem) }

  /// Whether nearly every character is the one before it, or the next or last one in the alphabet.
  private static func isSequence(_ text: String) -> Bool {
    let scalars = text.unicodeScalars.map { Int64($0.value) }
    let steps = zip(scalars, scalars.dropFirst()).count { abs($1 - $0) <= 1 }
    return steps + 3 >= scalars.count
  }

  private static func withoutWords(of text: String, _ email: String, _ name: String) -> String {
    var own: [String] = []
    for whole in [email.lowercased(), name.lowercased()] {
      own.append(whole)
      own += whole.split { !$0.isLetter && !$0.isNumber }.map { String($0) }
    }
    var rest = text.lowercased()
    for word in own.filter({ $0.count >= 3 }).sorted(by: { $0.count > $1.count }) + common {
      rest = rest.replacing(word, with: "")
    }
    return rest
  }
}
