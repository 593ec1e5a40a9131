@testable import Registry

import Crypto
import CryptoExtras
import Foundation
import SwiftASN1
import Testing
import X509

/// Every file is made here, of keys made here.
@Suite struct SigningKeyFileTests {
  static let key = P256.Signing.PrivateKey()

  @Test func `The file is taken however it travelled`() throws {
    let pem = Self.key.pemRepresentation
    let oneLine = pem.replacing("\n", with: " ")
    let files = [
      pem, pem + "\n", pem.replacing("\n", with: "\r\n"), "\u{FEFF}\(pem)", "\n\n  \(pem)  \n",
      pem.replacing("\n", with: "\\n"), oneLine,
    ]
    for file in files {
      let read = try SigningKeyFile(Secret(file))
      #expect(
        try P256.Signing.PrivateKey(pemRepresentation: read.key.text).rawRepresentation == Self.key.rawRepresentation)
    }
  }

  @Test func `The same key has the same fingerprint, whatever its file looks like`() throws {
    let one = try SigningKeyFile(Secret(Self.key.pemRepresentation))
    let two = try SigningKeyFile(Secret(Self.sec1(Self.key)))
    #expect(one.fingerprint == two.fingerprint && one.key == two.key)
    #expect(one.fingerprint.wholeMatch(of: /[0-9a-f]{16}/) != nil)
    #expect(try SigningKeyFile(Secret(P256.Signing.PrivateKey().pemRepresentation)).fingerprint != one.fingerprint)
  }

  struct Wrong: CustomTestStringConvertible {
    let finding: String
    let file: Secret
    var testDescription: String { finding }
    init(_ finding: String, _ file: String) { (self.finding, self.file) = (finding, Secret(file)) }
    init(_ finding: String, _ file: [UInt8]) { (self.finding, self.file) = (finding, Secret(bytes: file)) }
  }

  @Test(arguments: try wrongFiles())
  func `A wrong file is told what it is`(wrong: Wrong) throws {
    let error = #expect(throws: RegistryError.self) { try SigningKeyFile(wrong.file) }
    guard case .credential(field: "signingKey", let sentence) = error else {
      Issue.record("refused otherwise: \(String(describing: error))")
      return
    }
    #expect(sentence.hasPrefix(wrong.finding), "\(sentence)")
    #expect(sentence.contains("upload the AuthKey_….p8 file"))
  }

  static func wrongFiles() throws -> [Wrong] {
    let pem = key.pemRepresentation
    let rsa = try _RSA.Signing.PrivateKey(keySize: .bits2048)
    let certificate = try certificate()
    var serializer = DER.Serializer()
    try certificate.serialize(into: &serializer)
    let body = pem.split(separator: "\n").dropFirst().dropLast().joined(separator: "\n")
    return [
      Wrong("This is empty", ""), Wrong("This is empty", " \r\n\t"),
      Wrong("This is a certificate and", try certificate.serializeAsPEM().pemString),
      Wrong("This is a certificate and", serializer.serializedBytes),
      Wrong("This is a certificate signing request", armour("CERTIFICATE REQUEST", [1, 2, 3])),
      Wrong("This is a bundle of certificates", armour("PKCS7", [1, 2, 3])),
      Wrong("This is a .p12 file", [0x30, 0x82, 0x0A, 0x00, 0x02, 0x01, 0x03] + Array(repeating: 0xC5, count: 2000)),
      Wrong("This is a public key", key.publicKey.pemRepresentation),
      Wrong("This is an RSA private key", rsa.pemRepresentation),
      Wrong("This is an RSA private key", rsa.pkcs8PEMRepresentation),
      Wrong("This is a private key of the curve P-384", P384.Signing.PrivateKey().pemRepresentation),
      Wrong("This is a private key of the curve P-521", P521.Signing.PrivateKey().pemRepresentation),
      Wrong("This is a private key of the curve secp256k1", armour("PRIVATE KEY", secp256k1)),
      Wrong("This is a private key of the curve Ed25519", armour("PRIVATE KEY", ed25519)),
      Wrong("This is a private key locked with a password", armour("ENCRYPTED PRIVATE KEY", [1, 2, 3])),
      Wrong(
        "This is a private key locked with a password",
        "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END EC PRIVATE KEY-----"),
      Wrong("This is an SSH key", armour("OPENSSH PRIVATE KEY", [1, 2, 3])),
      Wrong("This is an SSH key", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5 somebody"),
      Wrong("This is a private key in binary (DER) form", Array(key.derRepresentation)),
      Wrong("This is a Google service account", #"{"type": "service_account", "private_key": "-"}"#),
      Wrong("This is a JSON file", #"{"a": 1}"#), Wrong("This is a web page", "<!DOCTYPE html><html></html>"),
      Wrong("This is a web page", "<?xml version='1.0'?><html/>"),
      Wrong("This is an XML file", "<?xml version='1.0'?><plist/>"),
      Wrong("This holds more than one thing", pem + "\n" + (try certificate.serializeAsPEM().pemString)),
      Wrong("The line -----BEGIN PRIVATE KEY-----", body),
      Wrong("The line -----BEGIN PRIVATE KEY-----", String(pem.prefix(120))),
      Wrong("The line -----BEGIN PRIVATE KEY-----", body + "\n-----END PRIVATE KEY-----"),
      Wrong("This is the name of a file", "AuthKey_F5HAL12345.p8"), Wrong("This is not a signing key", "hello"),
      Wrong("This is not a signing key", [0xFF, 0xFE, 0x00]),
      Wrong("This is not a signing key", armour("PGP MESSAGE", [1])),
      Wrong(
        "This looks like a signing key but is damaged", armour("PRIVATE KEY", Array(key.derRepresentation.dropLast(9)))),
      Wrong("This looks like a signing key but is damaged", armour("PRIVATE KEY", [])),
      Wrong(
        "This looks like a signing key but is damaged", "-----BEGIN PRIVATE KEY-----\n!!\n-----END PRIVATE KEY-----"),
      Wrong("This is too long", String(repeating: pem, count: 100)),
    ]
  }

  @Test func `No cut and no changed byte of the file brings the hub down`() {
    let file = Array(Self.key.pemRepresentation.utf8)
    for length in file.indices { _ = try? SigningKeyFile(Secret(bytes: Array(file.prefix(length)))) }
    for position in file.indices {
      var changed = file
      changed[position] = changed[position] &+ 1
      _ = try? SigningKeyFile(Secret(bytes: changed))
    }
    let der = Array(Self.key.derRepresentation)
    for length in der.indices { _ = try? SigningKeyFile(Secret(bytes: Array(der.prefix(length)))) }
  }

  static func armour(_ label: String, _ der: [UInt8]) -> String {
    "-----BEGIN \(label)-----\n\(Data(der).base64EncodedString())\n-----END \(label)-----\n"
  }

  /// The key as openssl's `ecparam -genkey` writes it (SEC 1), the curve's parameters before it.
  static func sec1(_ key: P256.Signing.PrivateKey) -> String {
    let curve: [UInt8] = [0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
    let point = [0x03, 0x42, 0x00] + Array(key.publicKey.x963Representation)
    let inside =
      [0x02, 0x01, 0x01, 0x04, 0x20] + Array(key.rawRepresentation) + [0xA0, UInt8(curve.count)] + curve
      + [0xA1, UInt8(point.count)] + point
    return armour("EC PARAMETERS", curve) + armour("EC PRIVATE KEY", [0x30, UInt8(inside.count)] + inside)
  }

  /// PKCS#8 frames of keys that swift-crypto does not make.
  static let secp256k1: [UInt8] =
    [
      0x30, 0x3E, 0x02, 0x01, 0x00, 0x30, 0x10, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x05, 0x2B,
      0x81,
    ]
    + [0x04, 0x00, 0x0A, 0x04, 0x27, 0x30, 0x25, 0x02, 0x01, 0x01, 0x04, 0x20] + Array(repeating: 7, count: 32)
  static let ed25519: [UInt8] =
    [0x30, 0x2E, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20]
    + Array(repeating: 7, count: 32)

  static func certificate() throws -> Certificate {
    let name = try DistinguishedName { CommonName("Apple Push Services: com.acme.app") }
    return try Certificate(
      version: .v3, serialNumber: .init(), publicKey: .init(key.publicKey), notValidBefore: .now,
      notValidAfter: .now + 3600, issuer: name, subject: name, signatureAlgorithm: .ecdsaWithSHA256,
      extensions: .init(), issuerPrivateKey: .init(key))
  }
}
