import Crypto
import Postgres
import Support
import Testing
import Wire

/// Browsers that register their subscriptions.
@Suite struct CarmaBrowserTests {
  private static let key = Base64URL.text(Array(P256.KeyAgreement.PrivateKey().publicKey.x963Representation))
  private static let auth = Base64URL.text([UInt8](repeating: 7, count: 16))
  /// As it is stored and replied.
  private static let token =
    #"{"endpoint":"https://push.example.com/1","keys":{"p256dh":"\#(key)","auth":"\#(auth)"}}"#
  /// As a browser gives it.
  private static let object = """
    { "endpoint": "https://push.example.com/1", "expirationTime": null,
      "keys": { "p256dh": "\(key)", "auth": "\(auth)" } }
    """

  private static func withWebApp(_ body: @escaping @Sendable (CarmaServer) async throws -> Void) async throws {
    try await withCarmaServer { carma in
      try await carma.database.query(
        "INSERT INTO push_app (customer_id, app_id, app_type, name) VALUES (\(carma.acme.id), 'shop.acme.com', 8, 'Acme')"
      )
      try await body(carma)
    }
  }

  private static func body(_ token: String) -> String {
    #"{"originalId":"me","deviceInfo":[{"devicetoken":\#(token),"appType":8}]}"#
  }

  private static func quoted(_ text: String) -> String { String(decoding: JSONText.quoted(text), as: UTF8.self) }

  @Test func `A subscription is taken as an object and as a string, and is the same device`() async throws {
    try await Self.withWebApp { carma in
      for sent in [Self.object, Self.quoted(Self.object), Self.quoted(Self.token)] {
        for key in [carma.acme.backend, carma.acme.device] {
          let reply = try await carma.put(Self.body(sent), app: "shop.acme.com", key: key)
          #expect(reply.status == 200)
          let devices = try #require(try reply.json.array("deviceInfo"))
          #expect(devices.map { $0.string("devicetoken") } == [Self.token])
          #expect(devices.map { $0.string("appType") } == ["8"])
        }
      }
      let gone = try await carma.send(
        "PUT", carma.path("pushdevices/invalidation", app: "shop.acme.com"), json: Self.body(Self.object))
      #expect(try gone.json.array("deviceInfo")?.first?.integer("invalidationType") == 1)
    }
  }

  @Test(arguments: [
    (
      #"{"endpoint":"https://10.0.0.1/1","keys":{"p256dh":"\#(key)","auth":"\#(auth)"}}"#,
      ".endpoint must not be a private"
    ),
    (#"{"endpoint":"http://push.example.com/1"}"#, ".endpoint must be an address of the form https"),
    (
      #"{"endpoint":"https://push.example.com/1","keys":{"p256dh":"AAAA","auth":"\#(auth)"}}"#,
      ".keys.p256dh must be 65"
    ),
    (
      #"{"endpoint":"https://push.example.com/1","keys":{"p256dh":"\#(key)","auth":"AAAA"}}"#,
      ".keys.auth must be at least"
    ),
    (#""c0ffee""#, " must be a browser's subscription"),
  ])
  func `What is no subscription is refused, and the field is named`(_ token: String, _ problem: String) async throws {
    try await Self.withWebApp { carma in
      let reply = try await carma.put(Self.body(token), app: "shop.acme.com")
      #expect(reply.status == 400)
      #expect(reply.error?.hasPrefix("deviceInfo[0].devicetoken\(problem)") == true, "\(reply.text)")
      #expect(try await carma.rows() == [])
    }
  }

  @Test func `An object is no token of other apps`() async throws {
    try await withCarmaServer { carma in
      let reply = try await carma.put(#"{"originalId":"me","deviceInfo":[{"devicetoken":\#(Self.object)}]}"#)
      #expect(reply.status == 400 && reply.error?.hasPrefix("deviceInfo[0].devicetoken is an object") == true)
    }
  }
}
