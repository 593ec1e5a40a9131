import Crypto
import CryptoExtras
import FoundationEssentials
public import Wire

/// A key by which the simulated OpenID provider signs.
public struct OpenIDKey: Sendable {
  public enum Algorithm: String, Sendable, CaseIterable {
    case rs256 = "RS256"
    case ps256 = "PS256"
    case es256 = "ES256"
    case edDSA = "EdDSA"
  }

  let algorithm: Algorithm
  /// As it is published.
  let published: JSONValue
  let id: String
  let sign: @Sendable ([UInt8]) throws -> [UInt8]

  /// There is one key of RSA a process, since it takes long to make.
  /// - Parameter id: its name; by default one that no other key has.
  init(_ algorithm: Algorithm, id: String = UUID().uuidString) throws {
    self.algorithm = algorithm
    self.id = id
    var members: [UTF8String: JSONValue] = ["kid": .string(id), "use": "sig", "alg": .string(algorithm.rawValue)]
    func publish(_ name: UTF8String, _ bytes: some Sequence<UInt8>) {
      members[name] = .string(Base64URL.text(Array(bytes)))
    }
    switch algorithm {
    case .rs256, .ps256:
      let key = try Self.rsa.get()
      let parts = try key.publicKey.getKeyPrimitives()
      members["kty"] = "RSA"
      publish("n", parts.modulus)
      publish("e", parts.publicExponent)
      let padding: _RSA.Signing.Padding = algorithm == .rs256 ? .insecurePKCS1v1_5 : .PSS
      sign = { Array(try key.signature(for: Data($0), padding: padding).rawRepresentation) }
    case .es256:
      let key = P256.Signing.PrivateKey()
      members["kty"] = "EC"
      members["crv"] = "P-256"
      publish("x", key.publicKey.rawRepresentation.prefix(32))
      publish("y", key.publicKey.rawRepresentation.suffix(32))
      sign = { Array(try key.signature(for: Data($0)).rawRepresentation) }
    case .edDSA:
      let key = Curve25519.Signing.PrivateKey()
      members["kty"] = "OKP"
      members["crv"] = "Ed25519"
      publish("x", key.publicKey.rawRepresentation)
      sign = { Array(try key.signature(for: Data($0))) }
    }
    published = .object(members)
  }

  private static let rsa = Result { try _RSA.Signing.PrivateKey(keySize: .bits2048) }
}

/// What is wrong with an ID token.
public enum OpenIDForgery: Sendable {
  case none
  /// It says something else; a claim that is `null` is left out.
  case claims([UTF8String: JSONValue])
  /// It has a header that says more.
  case header([UTF8String: JSONValue])
  /// Its algorithm is `none`, and there is no signature.
  case unsigned
  /// Its algorithm is HS256, by the public key as the secret.
  case keyedByPublicKey
  /// Somebody else's key signed it, and it names the provider's.
  case otherKey
  /// It names a key that the provider does not publish.
  case unknownKey
  /// It names no key.
  case namelessKey

  func token(_ claims: [UTF8String: JSONValue], _ key: OpenIDKey) throws -> String {
    var header: JSONValue = ["alg": .string(key.algorithm.rawValue), "typ": "JWT", "kid": .string(key.id)]
    var claims = JSONValue.object(claims)
    var sign = key.sign
    switch self {
    case .none: break
    case .claims(let changed): claims = claims.merging(.object(changed))
    case .header(let changed): header = header.merging(.object(changed))
    case .unsigned:
      header = header.merging(["alg": "none"])
      sign = { _ in [] }
    case .keyedByPublicKey:
      header = header.merging(["alg": "HS256"])
      let secret = SymmetricKey(data: key.published.json)
      sign = { Array(HMAC<SHA256>.authenticationCode(for: $0, using: secret)) }
    case .otherKey: sign = try OpenIDKey(.es256).sign
    case .unknownKey:
      let other = try OpenIDKey(.es256)
      header = header.merging(["kid": .string(other.id)])
      sign = other.sign
    case .namelessKey: header = header.merging(["kid": nil])
    }
    let signed = "\(Base64URL.text(header.json)).\(Base64URL.text(claims.json))"
    return "\(signed).\(Base64URL.text(try sign(Array(signed.utf8))))"
  }
}
