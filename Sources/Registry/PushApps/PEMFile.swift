import FoundationEssentials

/// What an uploaded file turns out to be: a private key in PEM, whose kind is yet to be seen, or something else.
enum PEMFile: Equatable {
  /// The DER inside.
  case privateKey([UInt8])
  case wrong(KeyFileDiagnosis)

  init(_ bytes: [UInt8]) {
    guard let text = String(validating: bytes, as: UTF8.self), !text.utf8.contains(0) else {
      self = .wrong(Self.binary(bytes))
      return
    }
    // A key that travelled through an environment variable or a form may have `\n` written out.
    let file = text.replacing("\\n", with: "\n").drop { $0.isWhitespace || $0 == "\u{FEFF}" }
    let blocks = Self.blocks(file).filter { $0.label != "EC PARAMETERS" }
    switch blocks.count {
    case 0: self = .wrong(Self.unarmoured(file))
    case 1: self = Self.read(blocks[0])
    default: self = .wrong(.severalThings)
    }
  }

  private struct Block {
    let label: String
    /// `nil` when its last line is missing.
    let content: Substring?
  }

  private static func blocks(_ file: Substring) -> [Block] {
    var blocks: [Block] = []
    var rest = file
    while let begin = rest.firstRange(of: "-----BEGIN ") {
      let head = rest[begin.upperBound...]
      guard let labelEnd = head.firstRange(of: "-----") else { break }
      let label = String(head[..<labelEnd.lowerBound])
      let body = head[labelEnd.upperBound...]
      guard let end = body.firstRange(of: "-----END \(label)-----") else {
        return blocks + [Block(label: label, content: nil)]
      }
      blocks.append(Block(label: label, content: body[..<end.lowerBound]))
      rest = body[end.upperBound...]
    }
    return blocks
  }

  private static func read(_ block: Block) -> PEMFile {
    switch block.label {
    case "PRIVATE KEY", "EC PRIVATE KEY":
      guard let content = block.content else { return .wrong(.armourMissing) }
      guard !content.contains("ENCRYPTED") else { return .wrong(.lockedKey) }
      let der = Data(base64Encoded: String(content.filter { !$0.isWhitespace }))
      return der.map { .privateKey(Array($0)) } ?? .wrong(.damaged)
    case "ENCRYPTED PRIVATE KEY": return .wrong(.lockedKey)
    case "CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE": return .wrong(.certificate)
    case "CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST": return .wrong(.certificateRequest)
    case "PKCS7", "CMS": return .wrong(.certificates)
    case "PUBLIC KEY", "RSA PUBLIC KEY", "EC PUBLIC KEY": return .wrong(.publicKey)
    case "RSA PRIVATE KEY": return .wrong(.rsaKey)
    case "OPENSSH PRIVATE KEY", "SSH2 PUBLIC KEY": return .wrong(.sshKey)
    default: return .wrong(.notPEM)
    }
  }

  private static func unarmoured(_ file: Substring) -> KeyFileDiagnosis {
    let start = file.prefix(512).lowercased()
    if file.allSatisfy(\.isWhitespace) { return .empty }
    if start.hasPrefix("{") { return file.contains("service_account") ? .serviceAccount : .json }
    if start.hasPrefix("<!doctype html") || start.hasPrefix("<html") { return .webPage }
    if start.hasPrefix("<") { return start.contains("<html") ? .webPage : .xml }
    if start.hasPrefix("ssh-") || start.hasPrefix("ecdsa-") { return .sshKey }
    if file.contains("-----END ") { return .armourMissing }
    if file.count <= 255, file.contains(".p8"), !file.contains("\n") { return .fileName }
    let packed = file.filter { !$0.isWhitespace }
    if packed.count >= 100, Data(base64Encoded: String(packed)) != nil { return .armourMissing }
    return .notPEM
  }

  /// DER begins with SEQUENCE; what comes first inside tells the rest.
  private static func binary(_ bytes: [UInt8]) -> KeyFileDiagnosis {
    guard bytes.count > 8, bytes[0] == 0x30 else { return .notPEM }
    let lengthBytes = bytes[1] & 0x80 == 0 ? 0 : Int(bytes[1] & 0x7F)
    let inside = bytes.dropFirst(2 + lengthBytes)
    if inside.starts(with: [0x02, 0x01, 0x03]) { return .pkcs12 }
    if inside.starts(with: [0x02, 0x01, 0x00]) || inside.starts(with: [0x02, 0x01, 0x01]) { return .binaryKey }
    return inside.first == 0x30 ? .certificate : .notPEM
  }
}
