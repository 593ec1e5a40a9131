import Crypto
import FoundationEssentials
import NIOSSL
import SwiftASN1
import X509

/// A certificate authority, which clients of the Simulator are to trust.
struct CertificateAuthority {
  /// What clients are to trust, in PEM.
  let pem: String
  private let certificate: Certificate
  private let key: Certificate.PrivateKey

  init(now: Date = Date()) throws {
    let key = Certificate.PrivateKey(P256.Signing.PrivateKey())
    let name = try DistinguishedName {
      OrganizationName("Pushcart")
      CommonName("Pushcart Simulator CA")
    }
    certificate = try Certificate(
      version: .v3, serialNumber: .init(), publicKey: key.publicKey,
      notValidBefore: now.addingTimeInterval(-3600), notValidAfter: now.addingTimeInterval(365 * 86_400),
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

  /// One that was made before.
  /// - Throws: if that is no PEM, or the key is another's.
  init(pem: String, keyPEM: String) throws {
    certificate = try Certificate(pemEncoded: pem)
    key = try Certificate.PrivateKey(pemEncoded: keyPEM)
    guard certificate.publicKey == key.publicKey else { throw CocoaError(.fileReadCorruptFile) }
    self.pem = pem
  }

  /// The key, in PEM.
  var keyPEM: String {
    get throws { try key.serializeAsPEM().pemString }
  }

  /// Whether it has a month left, more than a Simulator runs.
  func serves(at now: Date) -> Bool { certificate.notValidAfter > now.addingTimeInterval(30 * 86_400) }

  /// What a server shows: a certificate for this machine under `name`, `localhost`, 127.0.0.1 and ::1, and its key.
  func serverContext(name: String, now: Date = Date()) throws -> NIOSSLContext {
    let key = Certificate.PrivateKey(P256.Signing.PrivateKey())
    let names = Set([name, "localhost"]).sorted().map(GeneralName.dnsName)
    let addresses: [[UInt8]] = [[127, 0, 0, 1], Array(repeating: 0, count: 15) + [1]]
    let leaf = try Certificate(
      version: .v3, serialNumber: .init(), publicKey: key.publicKey,
      notValidBefore: now.addingTimeInterval(-3600), notValidAfter: now.addingTimeInterval(365 * 86_400),
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
    configuration.applicationProtocols = ["h2"]
    return try NIOSSLContext(configuration: configuration)
  }
}
