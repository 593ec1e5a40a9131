/// The secret of a client at a push service's sign-in, as people copy it out of a console.
enum ClientSecret {
  /// The secret without blanks and line ends around it.
  /// - Parameter advice: what to give instead, behind a colon.
  /// - Throws: `RegistryError.credential`, with a sentence that says what it is instead.
  static func text(_ secret: Secret, advice: String) throws(RegistryError) -> String {
    func refuse(_ finding: String) -> RegistryError {
      .credential(field: "clientSecret", sentence: "\(finding): \(advice)")
    }
    if let other = ForeignFile(secret.bytes) { throw refuse(other.finding(insteadOf: "a Client Secret")) }
    guard let whole = String(validating: secret.bytes, as: UTF8.self) else { throw refuse("This is a binary file") }
    let text = String(whole.drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed())
    guard !text.isEmpty else { throw refuse("This is empty") }
    guard !text.hasPrefix("-----BEGIN ") else { throw refuse("This is a key in PEM form and not a Client Secret") }
    guard text.utf8.count <= 256 else { throw refuse("This is too long to be a Client Secret") }
    guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { throw refuse("This is not one word") }
    return text
  }
}
