import Wire
import Crypto
import FoundationEssentials
import NIOSSL
import SwiftASN1
import X509

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The certificate authority that clients of the Simulator trust.
struct CertificateAuthority {
  /// Its certificate, in PEM.
  let pem: String
  private let certificate: Certificate
  private let key: Certificate.PrivateKey

  private init(now: Date) throws {
    let key = Certificate.PrivateKey(P256.Signing.PrivateKey())
    let name = try DistinguishedName {
      OrganizationName("Pushcart")
      CommonName("Pushcart Simulator CA")
    }
    certificate = try Certificate(
      version: .v3, serialNumber: .init(), publicKey: key.publicKey,
      notValidBefore: now.addingTimeInterval(-86_400), notValidAfter: now.addingTimeInterval(365 * 86_400),
      issuer: name, subject: name, signatureAlgorithm: .ecdsaWithSHA256,
      extensions: try Certificate.Extensions {
        Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
        Critical(KeyUsage(keyCertSign: true, cRLSign: true))
        SubjectKeyIdentifier(hash: key.publicKey)
      },
      issuerPrivateKey: key)
    self.key = key
    pem = try certificate.serializeAsPEM().pemString
  }

  /// - Throws: if either is no PEM, or they do not belong together.
  private init(pem: String, keyPEM: String) throws {
    certificate = try Certificate(pemEncoded: pem)
    key = try Certificate.PrivateKey(pemEncoded: keyPEM)
    guard certificate.publicKey == key.publicKey else { throw CocoaError(.fileReadCorruptFile) }
    self.pem = pem
  }

  /// A server's certificate for `name`, `localhost`, 127.0.0.1 and ::1, with its key.
  /// - Parameters:
  ///   - asksForCertificate: whether clients may present a certificate; what it is worth is found out later.
  ///   - protocols: what clients may speak, by ALPN's names.
  func serverContext(
    name: String, asksForCertificate: Bool = false, protocols: [String] = ["h2"], now: Date = Date()
  ) throws -> NIOSSLContext {
    let key = Certificate.PrivateKey(P256.Signing.PrivateKey())
    let names = Set([name, "localhost"]).sorted().map(GeneralName.dnsName)
    let addresses: [[UInt8]] = [[127, 0, 0, 1], Array(repeating: 0, count: 15) + [1]]
    let leaf = try Certificate(
      version: .v3, serialNumber: .init(), publicKey: key.publicKey,
      notValidBefore: now.addingTimeInterval(-86_400), notValidAfter: now.addingTimeInterval(365 * 86_400),
      issuer: certificate.subject, subject: try DistinguishedName { CommonName(name) },
      signatureAlgorithm: .ecdsaWithSHA256,
      extensions: try Certificate.Extensions {
        Critical(BasicConstraints.notCertificateAuthority)
        Critical(KeyUsage(digitalSignature: true))
        try ExtendedKeyUsage([.serverAuth])
        SubjectAlternativeNames(names + addresses.map { .ipAddress(ASN1OctetString(contentBytes: $0[...])) })
      },
      issuerPrivateKey: self.key)
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: [
        .certificate(try NIOSSLCertificate(bytes: Array(leaf.serializeAsPEM().pemString.utf8), format: .pem))
      ],
      privateKey: .privateKey(
        try NIOSSLPrivateKey(bytes: Array(key.serializeAsPEM().pemString.utf8), format: .pem)))
    configuration.minimumTLSVersion = .tlsv12
    configuration.applicationProtocols = protocols
    if asksForCertificate {
      configuration.certificateVerification = .optionalVerification
      // The system's, which are the default, take longer to read than all else here.
      configuration.trustRoots = .certificates([try NIOSSLCertificate(bytes: Array(pem.utf8), format: .pem)])
    }
    return try NIOSSLContext(configuration: configuration)
  }
}

// MARK: - Push certificates

extension CertificateAuthority {
  /// A .p12 file with a push certificate as Apple makes one, and its key.
  /// - Parameter topics: the bundle id first.
  func pushCertificate(
    topics: [String], environments: Set<SimulatedAPNs.Environment>, until notAfter: Date, password: String, now: Date
  ) throws -> [UInt8] {
    let key = Certificate.PrivateKey(P256.Signing.PrivateKey())
    func mark(
      _ oid: ASN1ObjectIdentifier, _ write: (inout DER.Serializer) throws -> Void
    ) throws -> Certificate.Extension {
      var value = DER.Serializer()
      try write(&value)
      return Certificate.Extension(oid: oid, critical: false, value: value.serializedBytes[...])
    }
    var marks = try environments.map { try mark(ClientCertificate.mark(of: $0)) { try $0.serialize(ASN1Null()) } }
    marks.append(
      try mark(ClientCertificate.topicsOID) { value in
        try value.appendConstructedNode(identifier: .sequence) { list in
          for topic in topics {
            try list.serialize(ASN1UTF8String(topic))
            try list.appendConstructedNode(identifier: .sequence) { try $0.serialize(ASN1UTF8String("app")) }
          }
        }
      })
    let leaf = try Certificate(
      version: .v3, serialNumber: .init(), publicKey: key.publicKey,
      notValidBefore: min(now, notAfter).addingTimeInterval(-86_400), notValidAfter: notAfter,
      issuer: certificate.subject,
      subject: DistinguishedName([
        RelativeDistinguishedName([.init(type: ClientCertificate.userIDOID, utf8String: topics.first ?? "")]),
        RelativeDistinguishedName([
          .init(type: .RDNAttributeType.commonName, utf8String: "Apple Push Services: \(topics.first ?? "")")
        ]),
      ]),
      signatureAlgorithm: .ecdsaWithSHA256, extensions: try Certificate.Extensions(marks), issuerPrivateKey: self.key)
    return try NIOSSLPKCS12Bundle(
      certificateChain: [
        NIOSSLCertificate(bytes: Array(leaf.serializeAsPEM().pemString.utf8), format: .pem)
      ],
      privateKey: NIOSSLPrivateKey(bytes: Array(key.serializeAsPEM().pemString.utf8), format: .pem)
    ).serialize(passphrase: Array(password.utf8))
  }

  /// Whether it made the certificate.
  func issued(_ other: Certificate) -> Bool {
    certificate.publicKey.isValidSignature(other.signature, for: other)
  }
}

// MARK: - Files

extension CertificateAuthority {
  /// The authority stored in `file` and its key in `file.key`; a new one, stored there, if there is none that is valid for another
  /// month. So a hub that runs keeps trusting a Simulator that is restarted.
  /// - Throws: if a new one cannot be written.
  static func stored(in file: String, now: Date = Date()) throws -> CertificateAuthority {
    let keyFile = "\(file).key"
    if let stored = try? CertificateAuthority(pem: text(file), keyPEM: text(keyFile)),
      stored.certificate.notValidAfter > now.addingTimeInterval(30 * 86_400)
    {
      return stored
    }
    let authority = try CertificateAuthority(now: now)
    try writePrivately(authority.key.serializeAsPEM().pemString, to: keyFile)
    try Data(authority.pem.utf8).write(to: URL(filePath: file), options: .atomic)
    return authority
  }

  private static func text(_ file: String) throws -> String {
    String(decoding: try Data(contentsOf: URL(filePath: file)), as: UTF8.self)
  }

  /// Writes a file that only its owner can open, at any moment.
  private static func writePrivately(_ text: String, to file: String) throws {
    let draft = "\(file).new"
    unlink(draft)
    let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw CocoaError(.fileWriteNoPermission) }
    let bytes = Array(text.utf8)
    let written = write(descriptor, bytes, bytes.count)
    close(descriptor)
    guard written == bytes.count, rename(draft, file) == 0 else { throw CocoaError(.fileWriteUnknown) }
  }
}
