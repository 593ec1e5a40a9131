import Crypto
import FoundationEssentials
import Testing
import Wire

@testable import Providers

/// Encryption and sign-in of Web Push.
@Suite struct WebPushEncryptionTests {
  private static func bytes(_ text: String) throws -> [UInt8] { try #require(Base64URL.decode(Array(text.utf8))) }

  @Test func `A push is encrypted as in the example of RFC 8291`() throws {
    let subscription = try WebPushSubscription(
      json: """
        {"endpoint":"https://push.example.net/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV","keys":{
        "p256dh":"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
        "auth":"BTBZMqHH6r4Tts7J_aSIgg"}}
        """)
    let body = try WebPushEncryption.body(
      Array("When I grow up, I want to be a watermelon".utf8), for: subscription,
      P256.KeyAgreement.PublicKey(x963Representation: subscription.publicKey),
      key: P256.KeyAgreement.PrivateKey(
        rawRepresentation: try Self.bytes("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw")),
      salt: try Self.bytes("DGv6ra1nlYgDCS1FRnbzlw"))
    #expect(
      Base64URL.text(body)
        == "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6"
        + "PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN")
  }

  @Test func `Each push has a key and a salt of its own, and the longest fills a record`() throws {
    let browser = P256.KeyAgreement.PrivateKey()
    let subscription = try WebPushSubscription(
      json: WebPushSubscription.sample(publicKey: Array(browser.publicKey.x963Representation)))
    let text = [UInt8](repeating: 0x61, count: WebPushEncryption.limit)
    let bodies = try (0..<2).map { _ in try WebPushEncryption.body(text, for: subscription) }
    #expect(WebPushEncryption.limit == 3993 && bodies.allSatisfy { $0.count == 4096 })
    #expect(bodies[0][..<16] != bodies[1][..<16])
    #expect(bodies[0][21..<86] != bodies[1][21..<86])
  }

  @Test func `The header signs in with the app's key, for one origin and twelve hours`() throws {
    let key = P256.Signing.PrivateKey()
    let now = Date(timeIntervalSince1970: 1_800_000_000)
    let own = try VAPIDSigner(.sample(key, contact: "mailto:a@acme.com"), contact: "https://hub.example.com")
    let header = try own.authorization(for: "https://push.example.com:8443", now: now)
    #expect(header.hasPrefix("vapid t="))
    let parts = header.dropFirst("vapid t=".count).split(separator: ", k=").map(String.init)
    try #require(parts.count == 2)
    #expect(parts[1] == Base64URL.text(Array(key.publicKey.x963Representation)))
    let words = parts[0].split(separator: ".").map(String.init)
    try #require(words.count == 3)
    #expect(String(decoding: try Self.bytes(words[0]), as: UTF8.self) == #"{"typ":"JWT","alg":"ES256"}"#)
    #expect(
      String(decoding: try Self.bytes(words[1]), as: UTF8.self)
        == #"{"aud":"https://push.example.com:8443","exp":1800043200,"sub":"mailto:a@acme.com"}"#)
    let signature = try P256.Signing.ECDSASignature(rawRepresentation: try Self.bytes(words[2]))
    #expect(key.publicKey.isValidSignature(signature, for: Data("\(words[0]).\(words[1])".utf8)))
    // The hub's contact stands in for an app's.
    let hubs = try VAPIDSigner(.sample(key), contact: "https://hub.example.com")
    let claims = try hubs.authorization(for: "https://a.b", now: now).split(separator: ".")[1]
    #expect(
      String(decoding: try Self.bytes(String(claims)), as: UTF8.self).contains(#""sub":"https://hub.example.com""#))
  }

  @Test(arguments: [
    ("s17", "s17"), ("A-Z_a-z_0-9", "A-Z_a-z_0-9"),
    (String(repeating: "a", count: 32), String(repeating: "a", count: 32)),
  ])
  func `A collapse key that is a topic is sent as it is`(_ key: String, _ topic: String) {
    #expect(WebPushAccount.topic(key) == topic)
  }

  @Test(arguments: [String(repeating: "a", count: 33), "a.b", "a b", "ä", "a+b"])
  func `Any other collapse key is hashed to a topic`(_ key: String) {
    let topic = WebPushAccount.topic(key)
    #expect(topic.utf8.count == 32 && Base64URL.decode(Array(topic.utf8)) != nil)
    #expect(topic != WebPushAccount.topic(key + "b") && topic == WebPushAccount.topic(key))
  }
}

extension WebPushSubscription {
  /// The JSON of a subscription at a host of the internet.
  static func sample(
    endpoint: String = "https://push.example.com/1", publicKey: [UInt8],
    auth: [UInt8] = [UInt8](repeating: 7, count: 16)
  ) -> String {
    """
    {"endpoint":"\(endpoint)","expirationTime":null,\
    "keys":{"p256dh":"\(Base64URL.text(publicKey))","auth":"\(Base64URL.text(auth))"}}
    """
  }
}

extension VAPIDKey {
  static func sample(_ key: P256.Signing.PrivateKey, contact: String? = nil) -> VAPIDKey {
    VAPIDKey(
      privateKey: key.rawRepresentation, publicKey: Base64URL.text(Array(key.publicKey.x963Representation)),
      contact: contact)
  }
}
