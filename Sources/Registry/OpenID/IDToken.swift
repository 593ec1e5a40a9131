import FoundationEssentials
import JWTKit
import Wire

/// The claims of an ID token whose signature and purpose have been checked (OpenID Connect Core 1.0, section 3.1.3.7).
struct IDToken: Sendable {
  let subject: String
  private let claims: JSONValue

  /// The algorithms that a provider can sign by: none of them by a secret that the client knows, and never `none`.
  static let algorithms = [
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
  ]

  /// Seconds by which the provider's clock may differ, and how old a token may be that was just fetched.
  private static let (skew, longestAge) = (60.0, 600.0)
  /// Bytes of a subject: the standard's limit, in ASCII.
  private static let longestSubject = 255

  /// - Parameters:
  ///   - nonce: what the sign-in began with.
  ///   - now: the wall clock.
  /// - Throws: `OpenIDFault`.
  init(_ token: String, from provider: OpenIDProvider, nonce: String, now: Date) async throws {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false).map { Array($0.utf8) }
    guard parts.count == 3, let head = Base64URL.decode(parts[0]), let body = Base64URL.decode(parts[1]),
      let header = try? JSONValue(json: head), let claims = try? JSONValue(json: body)
    else { throw Self.fault("is no signed JWT") }
    guard let algorithm = header["alg"]?.text, Self.algorithms.contains(algorithm) else {
      throw Self.fault("is signed by an algorithm that is not asymmetric")
    }
    guard header["crit"] == nil else { throw Self.fault("has a header that must be understood, and is not") }
    var id: String?
    if let named = header["kid"] {
      guard let text = named.text else { throw Self.fault("has a kid that is no text") }
      id = text
    }
    if let problem = try await provider.judge({ [id] known in
      await Self.problem(of: token, signedBy: id, algorithm, known)
    }) {
      throw Self.fault(problem)
    }
    let settings = provider.settings
    guard claims["iss"]?.text?.hasSameBytes(as: settings.issuer) == true else {
      throw Self.fault("is of another issuer")
    }
    guard Self.isFor(settings.clientID, claims) else { throw Self.fault("is for another client") }
    guard claims["nonce"]?.text?.hasSameBytes(as: nonce) == true else { throw Self.fault("is of another sign-in") }
    let time = now.timeIntervalSince1970
    guard let end = Self.seconds(claims["exp"]), time < end + Self.skew else { throw Self.fault("has expired") }
    guard let issued = Self.seconds(claims["iat"]), issued < time + Self.skew,
      issued > time - Self.skew - Self.longestAge
    else { throw Self.fault("was issued long ago, or in the future; does the clock go wrong?") }
    if let begin = claims["nbf"] {
      guard let begin = Self.seconds(begin), begin < time + Self.skew else { throw Self.fault("does not count yet") }
    }
    guard let subject = claims["sub"]?.text, (1...Self.longestSubject).contains(subject.utf8.count),
      !subject.utf8.contains(0)
    else { throw Self.fault("names nobody") }
    self.subject = subject
    self.claims = claims
  }

  private static func fault(_ what: String) -> OpenIDFault { .untrusted("the ID token \(what)") }

  private static func isFor(_ client: String, _ claims: JSONValue) -> Bool {
    let audience: [JSONValue]
    switch claims["aud"] {
    case .array(let items)?: audience = items
    case let one?: audience = [one]
    case nil: audience = []
    }
    guard audience.contains(.string(client)) else { return false }
    // Of several, the one that asked is named.
    if let party = claims["azp"] { return party == .string(client) }
    return audience.count == 1
  }

  private static func seconds(_ claim: JSONValue?) -> Double? {
    guard case .number(let number)? = claim, number.double.isFinite else { return nil }
    return number.double
  }

  // MARK: Keys

  /// What is wrong with a token's signature, by what is known of the provider; `nil` if nothing is.
  /// - Parameter id: of the key; `nil` finds the only one that fits.
  private static func problem(
    of token: String, signedBy id: String?, _ algorithm: String, _ provider: OpenIDProvider.Known
  ) async -> String? {
    guard provider.algorithms.contains(algorithm) else {
      return "is signed by an algorithm that the provider does not offer"
    }
    guard let key = key(id, for: algorithm, among: provider.keys) else { return "is signed by a key that is not known" }
    return await isSigned(token, by: key, algorithm) ? nil : "has a wrong signature"
  }

  /// The key of a provider for an algorithm.
  /// - Parameter id: `nil` finds the only key that fits.
  static func key(_ id: String?, for algorithm: String, among keys: [JSONValue]) -> JSONValue? {
    let fitting = keys.filter { key in
      guard key["kty"] == .string(keyType(of: algorithm)), (key["use"] ?? "sig") == "sig",
        (key["alg"] ?? .string(algorithm)) == .string(algorithm)
      else { return false }
      guard let id else { return true }
      return key["kid"]?.text?.hasSameBytes(as: id) == true
    }
    // No `? :` here: beside a JSONValue, `nil` would be JSON's null, and so a key.
    guard fitting.count == 1 else { return nil }
    return fitting[0]
  }

  private static func keyType(of algorithm: String) -> String {
    switch algorithm.prefix(2) {
    case "RS", "PS": "RSA"
    case "ES": "EC"
    default: "OKP"
    }
  }

  /// Whether a key signed the token by this algorithm. Nothing of the token itself chooses either of them.
  private static func isSigned(_ token: String, by key: JSONValue, _ algorithm: String) async -> Bool {
    guard case .object(var members) = key else { return false }
    // Its name is that of the token's header, and its algorithm was compared.
    members = members.filter { ["kty", "n", "e", "crv", "x", "y"].contains($0.key) }
    members["kid"] = .string("key")
    members["alg"] = .string(algorithm)
    do {
      let keys = JWTKeyCollection()
      try await keys.add(jwk: JWK(json: String(decoding: JSONValue.object(members).json, as: UTF8.self)))
      _ = try await keys.verify(token, as: AnyClaims.self)
      return true
    } catch {
      return false
    }
  }

  /// The claims are checked here, as they are not the same for every provider.
  private struct AnyClaims: JWTPayload {
    func verify(using algorithm: some JWTAlgorithm) async throws {}
  }
}

// MARK: - What it says of the person

extension IDToken {
  var email: String? { claims["email"]?.text }

  /// Some providers write it as a text.
  var isEmailVerified: Bool { claims["email_verified"] == true || claims["email_verified"] == "true" }

  var name: String? { claims["name"]?.text }

  /// What the roles' claim holds: one text, or a list of them.
  /// - Parameter claim: the claim's whole name, which may have dots; else the way to it through objects, by dots.
  func values(of claim: String) -> [String] {
    let found = claims[claim] ?? claim.split(separator: ".").reduce(claims as JSONValue?) { $0?[String($1)] }
    switch found {
    case .string(let text)?: return [text]
    case .array(let items)?: return items.compactMap(\.text)
    default: return []
    }
  }
}
