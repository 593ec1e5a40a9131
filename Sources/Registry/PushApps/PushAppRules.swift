import Wire

/// What the fields of a push app may hold.
enum PushAppRules {
  static let name = TextRule("name", maximum: 200)

  /// Bundle ids and package names; Windows adds `ms-app://…`. An iOS app's is sent to APNs in a header, as topic.
  static func appID(_ text: String, _ type: AppType) throws(RegistryError) -> String {
    let rule = TextRule("appId", maximum: 200)
    let text = try rule.require(text)
    let punctuation = type == .windows ? ".-_:/" : ".-_"
    guard text.utf8.allSatisfy({ isLetterOrDigit($0) || punctuation.utf8.contains($0) }) else {
      throw rule.refuse("holds a character other than letters, digits, dots, hyphens and underscores")
    }
    // Spreadsheets take a cell that begins with a hyphen for a formula, and commands take it for an option.
    guard text.utf8.first.map(isLetterOrDigit) == true else {
      throw rule.refuse("begins with neither a letter nor a digit")
    }
    return text
  }

  /// A Team Id or a Key Id: letters and digits. Apple's have 10, but its length is no reason to refuse one.
  static func appleID(_ text: String?, _ field: String) throws(RegistryError) -> String? {
    guard let text else { return nil }
    let rule = TextRule(field, maximum: 20)
    let trimmed = try rule.require(String(text.filter { !$0.isWhitespace }))
    guard trimmed.utf8.allSatisfy(isLetterOrDigit) else {
      throw rule.refuse("holds a character other than letters and digits")
    }
    return trimmed
  }

  /// teamId, keyId and signingKey belong to iOS and are of use only together.
  static func complete(_ type: AppType, teamID: Bool, keyID: Bool, signingKey: Bool) throws(RegistryError) {
    let fields = [("teamId", teamID), ("keyId", keyID), ("signingKey", signingKey)]
    guard let present = fields.first(where: \.1) else { return }
    guard type == .ios else { throw .invalid(field: present.0, problem: "belongs to iOS apps only, of appType 1") }
    if let missing = fields.first(where: { !$0.1 }) {
      throw .invalid(field: missing.0, problem: "is missing: teamId, keyId and signingKey come together")
    }
  }

  private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
  }
}
