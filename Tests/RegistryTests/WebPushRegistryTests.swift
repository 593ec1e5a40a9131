import Crypto
import FoundationEssentials
import Support
import Testing
import Wire

@testable import Registry

/// Apps of the web, and browsers' subscriptions.
@Suite struct WebPushRegistryTests {
  private static let browser = P256.KeyAgreement.PrivateKey().publicKey.x963Representation

  private static func subscription(
    _ endpoint: String = "https://push.example.com/1", key: Data = browser
  ) -> String {
    let (key, auth) = (Base64URL.text(Array(key)), Base64URL.text([UInt8](repeating: 7, count: 16)))
    return #"{"endpoint":"\#(endpoint)","keys":{"p256dh":"\#(key)","auth":"\#(auth)"}}"#
  }

  private static func app(_ service: PushServiceFields = PushServiceFields()) -> NewPushApp {
    NewPushApp(appID: "shop.acme.com", type: .web, name: "Acme", service: service)
  }

  @Test func `An app of the web gets a key pair of its own, whose private part is sealed`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let vault = try Vault.fresh()
      let apps = PushApps(database.pool, vault: vault)
      let added = try await apps.add(customer, Self.app(PushServiceFields([.contact: Secret("mailto:push@acme.com")])))
      #expect(added.credentials.map(\.kind) == [.vapidKey] && added.warnings.isEmpty)
      #expect(added.contact == "mailto:push@acme.com" && added.missingCredential == nil)
      let publicKey = try #require(added.vapidPublicKey.flatMap { Base64URL.decode(Array($0.utf8)) })
      #expect(publicKey.count == 65)
      let other = try await apps.add(try await database.customer(), Self.app())
      #expect(other.vapidPublicKey != added.vapidPublicKey && other.contact == nil)

      let signing = PushCredentialVault(database.pool, vault: vault)
      guard case .webPush(let key) = try await signing.credentials(for: added) else { throw CancellationError() }
      #expect(key.publicKey == added.vapidPublicKey && key.contact == "mailto:push@acme.com")
      let privateKey = try P256.Signing.PrivateKey(rawRepresentation: key.privateKey)
      #expect(Array(privateKey.publicKey.x963Representation) == publicKey)
      #expect(!"\(PushServiceCredentials.webPush(key))".contains(Base64URL.text(Array(key.privateKey))))

      let changed = try await apps.update(
        customer, added.id, PushAppUpdate(service: PushServiceFields([.contact: Secret("https://acme.com")])))
      #expect(changed.vapidPublicKey == added.vapidPublicKey && changed.contact == "https://acme.com")
    }
  }

  @Test func `A key pair of an older system is taken in each of its forms`() async throws {
    let key = P256.Signing.PrivateKey()
    let raw = Array(key.rawRepresentation)
    let sec1 = key.derRepresentation
    #expect(!sec1.isEmpty)
    let publicKey = Base64URL.text(Array(key.publicKey.x963Representation))
    for text in [
      key.pemRepresentation, "\n" + key.pemRepresentation.replacing("\n", with: "\r\n"), Base64URL.text(raw),
      Base64URL.text(raw) + "=\n", Data(raw).base64EncodedString(),
    ] {
      #expect(try VAPIDKeyFile(Secret(text)).publicKey == publicKey)
    }
    #expect(try VAPIDKeyFile(VAPIDKeyFile(Secret(key.pemRepresentation)).stored).publicKey == publicKey)
  }

  @Test(arguments: [
    ("", "This is empty"), (P256.Signing.PrivateKey().publicKey.pemRepresentation, "This is a public key"),
    (Base64URL.text(Array(browser)), "This is a public key"), ("c2hvcnQ", "This is not 32 bytes of a private key"),
    (P384.Signing.PrivateKey().pemRepresentation, "This is not a private key of P-256"),
    ("{}", "This is a JSON file, but not a private key of P-256"),
    (String(repeating: "a", count: 20_000), "This is too long"),
    (Base64URL.text([UInt8](repeating: 0, count: 32)), "This is not 32"),
  ])
  func `A file that is no private key of P-256 is named`(_ text: String, _ start: String) throws {
    let error = #expect(throws: RegistryError.self) { try VAPIDKeyFile(Secret(text)) }
    guard case .credential("vapidPrivateKey", let sentence) = error else { throw CancellationError() }
    #expect(sentence.hasPrefix(start), "\(sentence)")
  }

  @Test(arguments: [
    "push@acme.com", "mailto:", "mailto:a", "http://acme.com", "https://", "mailto:a@b c", "mailto:ä@b",
  ])
  func `A contact that is no address is refused`(_ contact: String) {
    #expect(throws: RegistryError.self) { try PushServiceFields([.contact: Secret(contact)]).checked(for: .web) }
    #expect(throws: RegistryError.self) { try PushServiceFields([.contact: Secret("mailto:a@b")]).checked(for: .ios) }
    #expect(throws: RegistryError.self) {
      try PushServiceFields([.vapidPrivateKey: Secret("x")]).checked(for: .firebase)
    }
  }

  @Test func `A subscription is kept in one form, and found again whatever form it comes in`() throws {
    let plain = Self.subscription()
    let token = try DeviceToken(plain, type: .web, field: "t")
    #expect(token.text == plain)
    let spaced = plain.replacing(",", with: " ,\n ").replacing("}}", with: "}, \"expirationTime\":null}")
    #expect(try DeviceToken(spaced, type: .web, field: "t") == token)
    #expect(try DeviceToken(Self.subscription("https://push.example.com/2"), type: .web, field: "t") != token)
  }

  @Test(arguments: [
    (subscription(key: Data([4] + [UInt8](repeating: 1, count: 64))), "deviceInfo[0].devicetoken.keys.p256dh"),
    ("c0ffee", "deviceInfo[0].devicetoken"), ("{}", "deviceInfo[0].devicetoken.endpoint"),
    (#"{"endpoint":"http://a.b/c"}"#, "deviceInfo[0].devicetoken.endpoint"), ("", "deviceInfo[0].devicetoken"),
    (String(repeating: " ", count: 5000), "deviceInfo[0].devicetoken"),
  ])
  func `What is no subscription is refused for an app of the web`(_ text: String, _ field: String) throws {
    let error = #expect(throws: RegistryError.self) {
      try DeviceToken(text, type: .web, field: "deviceInfo[0].devicetoken")
    }
    guard case .invalid(field, _) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test(arguments: [AppType.ios, .android, .firebase, .huawei, .windows])
  func `A subscription is no token of other apps`(_ type: AppType) {
    #expect(throws: RegistryError.self) { try DeviceToken(Self.subscription(), type: type, field: "t") }
  }

  @Test(arguments: [
    ("https://10.0.0.1/1", "", false), ("https://localhost:8447/1", "", false),
    ("https://push.example.com:25/1", "", false),
    ("https://push.example.com/1", "", true), ("https://localhost:8447/1", "localhost:8447", true),
    ("https://push.example.com/1", "localhost:8447", false),
  ])
  func `Where a subscription may lead is decided when it is registered`(
    _ endpoint: String, _ list: String, _ isAllowed: Bool
  ) async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let app = try await PushApps(database.pool, vault: .fresh()).add(customer, Self.app())
      var endpoints = EndpointRules()
      endpoints.webPush.listed = HostList(list)
      let registrations = RegistrationBatcher(database.pool, limits: .patient, endpoints: endpoints)
      let registration = try Registration(
        PushDevicesBody("me", token: Self.subscription(endpoint)), apps: [app])
      if isAllowed {
        let contact = try await registrations.register(customer, registration)
        #expect(contact?.devices.map(\.token) == [Self.subscription(endpoint)])
      } else {
        let error = await #expect(throws: RegistryError.self) {
          try await registrations.register(customer, registration)
        }
        guard case .invalid("deviceInfo[0].devicetoken.endpoint", _) = error else {
          Issue.record("\(String(describing: error))")
          return
        }
      }
    }
  }
}
