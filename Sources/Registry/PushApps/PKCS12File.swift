import Crypto
import FoundationEssentials
import NIOSSL
import SwiftASN1
import X509

/// What a .p12 file holds (PKCS#12, RFC 7292): a private key and certificates.
///
/// BoringSSL decrypts them, as only it has the ciphers of such files: RC2, 3DES and newer ones. `NIOSSLPKCS12Bundle` ends the process if
/// a file has no key, or one that belongs to none of its certificates. So the key is read alone, and the certificates beside a key
/// and certificate that are made here.
struct PKCS12File {
  /// DER, in the file's order.
  let certificates: [[UInt8]]
  /// DER; nil if there is none.
  let privateKey: [UInt8]?

  enum Problem: Error {
    /// No PKCS#12, or damaged, or of a form that nobody makes.
    case unreadable
    case wrongPassword
  }

  /// - Parameter password: ASCII: BoringSSL's callback takes nothing else.
  init(_ file: [UInt8], password: String) throws(Problem) {
    let contents: Contents
    do {
      contents = try Contents(file)
    } catch {
      throw .unreadable
    }
    guard contents.keys.count <= 1 else { throw .unreadable }
    do {
      privateKey = try contents.keys.first.map { try $0.der(password) }
    } catch {
      throw .wrongPassword
    }
    do {
      certificates = try contents.certificates(password)
    } catch {
      throw privateKey == nil ? .wrongPassword : .unreadable
    }
  }

  /// Whether the file is as it was made, by its authentication code.
  /// - Precondition: the file was read, and its key is that of one of its certificates.
  static func isIntact(_ file: [UInt8], password: String) -> Bool {
    (try? NIOSSLPKCS12Bundle(buffer: file, passphrase: Array(password.utf8))) != nil
  }

  /// The parts of a file, still encrypted.
  private struct Contents {
    var keys: [Key] = []
    /// `ContentInfo`s of everything but keys.
    var others: [[UInt8]] = []

    /// A key as PEM: readers of PEM take what is encrypted.
    struct Key {
      let pem: String

      init(_ bytes: ArraySlice<UInt8>, isEncrypted: Bool) {
        let label = isEncrypted ? "ENCRYPTED PRIVATE KEY" : "PRIVATE KEY"
        let text = Data(bytes).base64EncodedString(options: .lineLength64Characters)
        pem = "-----BEGIN \(label)-----\n\(text)\n-----END \(label)-----\n"
      }

      func der(_ password: String) throws -> [UInt8] {
        try NIOSSLPrivateKey(bytes: Array(pem.utf8), format: .pem) { set in set(Array(password.utf8)) }.derBytes
      }
    }

    init(_ file: [UInt8]) throws {
      let pfx = try BER.parse(file).children
      let safe = try BER.parse(try pfx.item(1).content(of: .data).bytes)
      for info in try safe.children {
        guard let bags = try? BER.parse(info.content(of: .data).bytes).children else {
          others.append(Array(info.encodedBytes))
          continue
        }
        var rest: [ASN1Node] = []
        for bag in bags {
          let parts = try bag.children
          let kind = try ASN1ObjectIdentifier(derEncoded: try parts.item(0))
          guard kind == .keyBag || kind == .shroudedKeyBag else {
            rest.append(bag)
            continue
          }
          keys.append(
            Key(try parts.item(1).children.item(0).encodedBytes, isEncrypted: kind == .shroudedKeyBag))
        }
        if !rest.isEmpty { others.append(try .content { $0.append(rest.map(\.encodedBytes)) }) }
      }
    }

    /// - Throws: if the password is wrong, or a key is hidden among them.
    func certificates(_ password: String) throws -> [[UInt8]] {
      let key = P256.Signing.PrivateKey()
      let name = try DistinguishedName { CommonName("Pushcart") }
      let certificate = try Certificate(
        version: .v3, serialNumber: .init(), publicKey: .init(key.publicKey), notValidBefore: Date(),
        notValidAfter: Date() + 3600, issuer: name, subject: name, signatureAlgorithm: .ecdsaWithSHA256,
        extensions: .init(), issuerPrivateKey: .init(key))
      var der = DER.Serializer()
      try der.serialize(certificate)
      let ours = try [UInt8].content { bags in
        try bags.appendBag(.keyBag) { $0.serializeRawBytes(key.derRepresentation) }
        try bags.appendBag(.certificateBag) { bag in
          try bag.appendConstructedNode(identifier: .sequence) { certificate in
            try certificate.serialize(ASN1ObjectIdentifier.x509Certificate)
            try certificate.serialize(
              ASN1OctetString(contentBytes: der.serializedBytes[...]), explicitlyTaggedWithTagNumber: 0,
              tagClass: .contextSpecific)
          }
        }
      }
      let file = try Self.file([ours] + others, password)
      return try NIOSSLPKCS12Bundle(buffer: file, passphrase: Array(password.utf8)).certificateChain.dropFirst()
        .map { try $0.toDERBytes() }
    }

    /// A file of these contents, authenticated with the password: HMAC with SHA-1, with one iteration.
    private static func file(_ contents: [[UInt8]], _ password: String) throws -> [UInt8] {
      var safe = DER.Serializer()
      safe.appendConstructedNode(identifier: .sequence) { $0.append(contents.map { $0[...] }) }
      let salt = (0..<8).map { _ in UInt8.random(in: 0...255) }
      // RFC 7292, appendix B.2, for a key as long as the hash: the password as UTF-16 with a zero at its end.
      let text = Array((password + "\0").utf16).flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] }
      var hash = Insecure.SHA1()
      hash.update(data: [UInt8](repeating: 3, count: 64))
      for part in [salt, text] {
        let length = (part.count + 63) / 64 * 64
        hash.update(data: (0..<length).map { part[$0 % part.count] })
      }
      let mac = HMAC<Insecure.SHA1>.authenticationCode(
        for: safe.serializedBytes, using: SymmetricKey(data: Array(hash.finalize())))
      var file = DER.Serializer()
      try file.appendConstructedNode(identifier: .sequence) { file in
        try file.serialize(3)
        try file.appendContent(safe.serializedBytes)
        try file.appendConstructedNode(identifier: .sequence) { data in
          try data.appendConstructedNode(identifier: .sequence) { digest in
            try digest.appendConstructedNode(identifier: .sequence) { try $0.serialize(ASN1ObjectIdentifier.sha1) }
            try digest.serialize(ASN1OctetString(contentBytes: Array(mac)[...]))
          }
          try data.serialize(ASN1OctetString(contentBytes: salt[...]))
        }
      }
      return file.serializedBytes
    }
  }
}

// MARK: - ASN.1

extension ASN1Node {
  fileprivate var children: [ASN1Node] {
    get throws {
      guard case .constructed(let nodes) = content else { throw PKCS12File.Problem.unreadable }
      return Array(nodes)
    }
  }

  /// The octets of a `ContentInfo` of that type.
  fileprivate func content(of type: ASN1ObjectIdentifier) throws -> ASN1OctetString {
    let parts = try children
    guard try ASN1ObjectIdentifier(derEncoded: try parts.item(0)) == type else {
      throw PKCS12File.Problem.unreadable
    }
    return try ASN1OctetString(berEncoded: try parts.item(1).children.item(0))
  }
}

extension [ASN1Node] {
  fileprivate func item(_ index: Int) throws -> ASN1Node {
    guard indices.contains(index) else { throw PKCS12File.Problem.unreadable }
    return self[index]
  }
}

extension [UInt8] {
  /// A `ContentInfo` of type `data` that holds these `SafeBag`s.
  fileprivate static func content(_ bags: (inout DER.Serializer) throws -> Void) throws -> [UInt8] {
    var sequence = DER.Serializer()
    try sequence.appendConstructedNode(identifier: .sequence, bags)
    var info = DER.Serializer()
    try info.appendContent(sequence.serializedBytes)
    return info.serializedBytes
  }
}

extension DER.Serializer {
  fileprivate mutating func append(_ parts: [ArraySlice<UInt8>]) {
    for part in parts { serializeRawBytes(part) }
  }

  fileprivate mutating func appendContent(_ bytes: [UInt8]) throws {
    try appendConstructedNode(identifier: .sequence) { info in
      try info.serialize(ASN1ObjectIdentifier.data)
      try info.serialize(
        ASN1OctetString(contentBytes: bytes[...]), explicitlyTaggedWithTagNumber: 0, tagClass: .contextSpecific)
    }
  }

  fileprivate mutating func appendBag(
    _ kind: ASN1ObjectIdentifier, _ value: (inout DER.Serializer) throws -> Void
  ) throws {
    try appendConstructedNode(identifier: .sequence) { bag in
      try bag.serialize(kind)
      try bag.serialize(explicitlyTaggedWithTagNumber: 0, tagClass: .contextSpecific, value)
    }
  }
}

extension ASN1ObjectIdentifier {
  fileprivate static let data: Self = [1, 2, 840, 113_549, 1, 7, 1]
  fileprivate static let keyBag: Self = [1, 2, 840, 113_549, 1, 12, 10, 1, 1]
  fileprivate static let shroudedKeyBag: Self = [1, 2, 840, 113_549, 1, 12, 10, 1, 2]
  fileprivate static let certificateBag: Self = [1, 2, 840, 113_549, 1, 12, 10, 1, 3]
  fileprivate static let x509Certificate: Self = [1, 2, 840, 113_549, 1, 9, 22, 1]
  fileprivate static let sha1: Self = [1, 3, 14, 3, 2, 26]
}
