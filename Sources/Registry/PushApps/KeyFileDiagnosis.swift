/// What somebody may take for the signing key, and what to tell them.
enum KeyFileDiagnosis: Equatable {
  case empty
  case tooLong
  case fileName
  case certificate
  case certificateRequest
  case certificates
  case pkcs12
  case publicKey
  case rsaKey
  case otherCurve(String)
  case lockedKey
  case sshKey
  case binaryKey
  case serviceAccount
  case json
  case webPage
  case xml
  case severalThings
  case armourMissing
  case notPEM
  case damaged

  /// What it is, and which file is wanted instead.
  var sentence: String {
    "\(finding): upload the AuthKey_….p8 file as it was downloaded from Apple's developer account, under Keys."
  }

  private var finding: String {
    switch self {
    case .empty: "This is empty"
    case .tooLong: "This is too long to be a signing key"
    case .fileName: "This is the name of a file and not what the file holds"
    case .certificate: "This is a certificate and not a signing key"
    case .certificateRequest: "This is a certificate signing request and not a signing key"
    case .certificates: "This is a bundle of certificates and not a signing key"
    case .pkcs12: "This is a .p12 file, which holds a push certificate and not a signing key"
    case .publicKey: "This is a public key, and only the private key can sign"
    case .rsaKey: "This is an RSA private key, and APNs takes signatures of a P-256 key only"
    case .otherCurve(let curve):
      "This is a private key of the curve \(curve), and APNs takes signatures of a P-256 key only"
    case .lockedKey: "This is a private key locked with a password"
    case .sshKey: "This is an SSH key and not a signing key"
    case .binaryKey: "This is a private key in binary (DER) form"
    case .serviceAccount: "This is a Google service account, which belongs to an app of the type Firebase"
    case .json: "This is a JSON file and not a signing key"
    case .webPage: "This is a web page, perhaps a sign-in page saved in place of the file"
    case .xml: "This is an XML file and not a signing key"
    case .severalThings: "This holds more than one thing"
    case .armourMissing: "The line -----BEGIN PRIVATE KEY----- or its counterpart at the end is missing"
    case .notPEM: "This is not a signing key in PEM form"
    case .damaged: "This looks like a signing key but is damaged or cut off"
    }
  }
}

extension KeyFileDiagnosis {
  /// What kind of private key this is, given that it is none of P-256: told by the object identifiers near its beginning.
  init(privateKey der: [UInt8]) {
    let head = der.prefix(64)
    let kinds: [(identifier: [UInt8], file: KeyFileDiagnosis)] = [
      ([0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01], .rsaKey),  // 1.2.840.113549.1.1
      ([0x2B, 0x81, 0x04, 0x00, 0x22], .otherCurve("P-384")),  // 1.3.132.0.34
      ([0x2B, 0x81, 0x04, 0x00, 0x23], .otherCurve("P-521")),  // 1.3.132.0.35
      ([0x2B, 0x81, 0x04, 0x00, 0x0A], .otherCurve("secp256k1")),  // 1.3.132.0.10
      ([0x06, 0x03, 0x2B, 0x65, 0x70], .otherCurve("Ed25519")),  // 1.3.101.112
    ]
    // In SEC 1 form the curve's identifier follows the key, hence the search in all of it for curves.
    self =
      kinds.first { head.contains($0.identifier) }?.file
      ?? kinds.dropFirst().first { der.contains($0.identifier) }?.file ?? .damaged
  }
}
