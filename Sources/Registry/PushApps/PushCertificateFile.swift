import Crypto
import CryptoExtras
import FoundationEssentials
import SwiftASN1
import Wire
import X509

/// The .p12 file of an app's push certificate at APNs, as it was read and checked: Apple made the certificate for this app and
/// environment, its private key is with it, and it has not expired.
struct PushCertificateFile {
  let certificate: PushCertificate
  /// First 16 hex digits of the SHA-256 of the public key (its SubjectPublicKeyInfo in DER, as openssl exports it).
  let fingerprint: String
  let notAfter: Date

  /// The environment that a certificate is uploaded for.
  enum Purpose: String {
    case development, production

    var field: String { "\(rawValue)Certificate" }
    var kind: PushCredential.Kind { self == .development ? .apnsDevelopmentCertificate : .apnsProductionCertificate }

    /// - Parameter finding: what the file is instead.
    fileprivate func refusal(_ finding: String) -> RegistryError {
      .credential(
        field: field,
        sentence:
          "\(finding): upload the .p12 file that Keychain Access exports of the app's push certificate and its "
          + "private key together.")
    }
  }

  /// No such file is nearly as long, in bytes.
  static let maximumLength = 32_768

  /// The certificate and its key as they are sealed.
  var stored: Secret {
    guard let json = try? JSONCoding.encode(certificate) else { preconditionFailure("strings are always JSON") }
    return Secret(bytes: Array(json))
  }

  /// - Parameters:
  ///   - file: the file, or its base64.
  ///   - password: ASCII; nil for a file without one.
  ///   - appID: the bundle id that the certificate has to be for.
  /// - Throws: `RegistryError.credential`, with a sentence that says what the file is instead.
  init(
    _ file: Secret, password: Secret?, for purpose: Purpose, appID: String, now: Date = Date()
  ) throws(RegistryError) {
    let bytes = try Self.pkcs12(file, for: purpose)
    let contents = try Self.contents(of: bytes, password: password, for: purpose)
    guard let key = contents.privateKey else { throw purpose.refusal("This .p12 file holds no private key") }
    guard !contents.certificates.isEmpty else {
      throw purpose.refusal("This .p12 file holds a private key and no certificate")
    }
    guard let publicKey = Self.publicKey(of: key) else {
      throw purpose.refusal(
        "The private key in this .p12 file is neither an RSA key of 2048 bits or more nor one of P-256")
    }
    let certificates = contents.certificates.compactMap { der in
      (try? Certificate(derEncoded: der)).map { (der: der, certificate: $0) }
    }
    guard let leaf = certificates.first(where: { $0.certificate.publicKey == publicKey.key }) else {
      throw purpose.refusal("The private key in this .p12 file belongs to none of its certificates")
    }
    guard PKCS12File.isIntact(bytes, password: password?.text ?? "") else {
      throw purpose.refusal("This .p12 file is damaged, or has no authentication code")
    }
    let subject = Subject(leaf.certificate)
    try subject.require(purpose, appID: appID)
    notAfter = leaf.certificate.notValidAfter
    guard notAfter > now else {
      throw purpose.refusal("\(subject.name) expired on \(notAfter.formatted(.iso8601.year().month().day()))")
    }
    certificate = PushCertificate(
      name: subject.commonName, topics: subject.topics, isForDevelopment: subject.isForDevelopment,
      isForProduction: subject.isForProduction,
      chain: [Data(leaf.der)] + certificates.filter { $0.der != leaf.der }.map { Data($0.der) }, privateKey: Data(key))
    fingerprint = SHA256.hash(data: publicKey.der).fingerprint
  }

  /// The bytes of a .p12 file, whose contents may still be anything.
  private static func pkcs12(_ file: Secret, for purpose: Purpose) throws(RegistryError) -> [UInt8] {
    guard file.bytes.count <= maximumLength / 3 * 4 else {
      throw purpose.refusal("This is too long to be a .p12 file")
    }
    let bytes = decoded(file.bytes)
    switch MisplacedFile(bytes) {
    case .pkcs12: return bytes
    case let other?: throw purpose.refusal(other.finding(insteadOf: "a .p12 file"))
    case nil: throw purpose.refusal(finding(otherThanPKCS12: bytes))
    }
  }

  private static func contents(
    of bytes: [UInt8], password: Secret?, for purpose: Purpose
  ) throws(RegistryError) -> PKCS12File {
    do {
      return try PKCS12File(bytes, password: password?.text ?? "")
    } catch .wrongPassword {
      throw .credential(field: "certificatePassword", sentence: "It does not open the file in \(purpose.field).")
    } catch {
      throw purpose.refusal("This .p12 file is damaged or cut off, or does not hold one key")
    }
  }

  /// The key, and its SubjectPublicKeyInfo in DER.
  private static func publicKey(of key: [UInt8]) -> (key: Certificate.PublicKey, der: Data)? {
    if let key = try? _RSA.Signing.PrivateKey(derRepresentation: key).publicKey {
      return (Certificate.PublicKey(key), key.derRepresentation)
    }
    guard let key = try? P256.Signing.PrivateKey(derRepresentation: key).publicKey else { return nil }
    return (Certificate.PublicKey(key), key.derRepresentation)
  }
}

// MARK: - What Apple says in a certificate

extension PushCertificateFile {
  private struct Subject {
    let commonName: String
    /// The bundle id first, then the topics that the certificate lists.
    let topics: [String]
    let isForDevelopment: Bool
    let isForProduction: Bool

    private static let userID: ASN1ObjectIdentifier = [0, 9, 2342, 19_200_300, 100, 1, 1]
    private static let commonName: ASN1ObjectIdentifier = [2, 5, 4, 3]
    private static let development: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 6, 3, 1]
    private static let production: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 6, 3, 2]
    private static let topics: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 6, 3, 6]
    private static let voipTopic: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 6, 3, 4]

    init(_ certificate: Certificate) {
      func text(_ type: ASN1ObjectIdentifier) -> String? {
        certificate.subject.lazy.flatMap { $0 }.first { $0.type == type }.map { String(describing: $0.value) }
      }
      commonName = String((text(Self.commonName) ?? "").filter { !$0.isNewline }.prefix(200))
      isForDevelopment = certificate.extensions[oid: Self.development] != nil
      isForProduction = certificate.extensions[oid: Self.production] != nil
      var topics: [String] = []
      if let bundleID = text(Self.userID) { topics.append(bundleID) }
      if let list = certificate.extensions[oid: Self.topics] { topics += Self.texts(in: list.value) }
      if let voip = certificate.extensions[oid: Self.voipTopic] {
        let named = Self.texts(in: voip.value)
        // It may be no more than a mark. Then the topic is the bundle id's.
        topics += named.isEmpty ? topics.prefix(1).map { $0.hasSuffix(".voip") ? $0 : "\($0).voip" } : named
      }
      self.topics = topics.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    /// For people.
    var name: String { "“\(commonName)”" }

    /// Makes sure that Apple made the certificate for this app and this environment.
    func require(_ purpose: Purpose, appID: String) throws(RegistryError) {
      guard isForDevelopment || isForProduction else {
        throw purpose.refusal(
          "\(name) is no certificate for push, which Apple makes under Certificates, Identifiers & Profiles")
      }
      guard topics.contains(appID) else {
        throw purpose.refusal("\(name) is for the app \(topics.first ?? "without a bundle id"), and not for \(appID)")
      }
      guard purpose == .development ? isForDevelopment : isForProduction else {
        let other: Purpose = purpose == .development ? .production : .development
        throw purpose.refusal("\(name) is for the \(other) environment, and belongs in \(other.field)")
      }
    }

    /// The topics in a sequence of each topic and the list of what it is for, or the only one.
    private static func texts(in value: ArraySlice<UInt8>) -> [String] {
      guard let node = try? DER.parse(value) else { return [] }
      let nodes = if case .constructed(let nodes) = node.content { Array(nodes) } else { [node] }
      return nodes.compactMap { node in (try? ASN1UTF8String(derEncoded: node)).map { String($0) } }
    }
  }
}

// MARK: - Other files

extension PushCertificateFile {
  /// What a request has is base64, which a binary file never looks like.
  private static func decoded(_ file: [UInt8]) -> [UInt8] {
    guard let text = String(validating: file, as: UTF8.self), !text.contains("-----") else { return file }
    return Data(base64Encoded: String(text.filter { !$0.isWhitespace })).map { Array($0) } ?? file
  }

  private static func finding(otherThanPKCS12 bytes: [UInt8]) -> String {
    guard case .wrong(let file) = PEMFile(bytes) else {
      return "This is a signing key (.p8), which belongs in signingKey"
    }
    return switch file {
    case .empty, .webPage: file.finding
    case .certificate, .certificates: "This is a certificate without its private key"
    case .certificateRequest: "This is a certificate signing request, to which Apple answers with a certificate"
    case .rsaKey, .otherCurve, .lockedKey, .binaryKey: "This is a private key without its certificate"
    case .severalThings: "This is a certificate in PEM form, perhaps with its key, and not a .p12 file"
    default: "This is not a .p12 file"
    }
  }
}
