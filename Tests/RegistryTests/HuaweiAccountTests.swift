import CryptoExtras
import FoundationEssentials
import Support
import Testing
import Wire

@testable import Registry

/// What signs in to Huawei's Push Kit.
@Suite struct HuaweiAccountTests {
  private static let key = Result { try _RSA.Signing.PrivateKey(keySize: .bits2048).pkcs8PEMRepresentation }

  private func file(_ change: (inout [String: String]) -> Void = { _ in }) throws -> Secret {
    var members = [
      "project_id": "736430079244", "key_id": "k1", "sub_account": "101783233", "private_key": try Self.key.get(),
      "token_uri": "https://oauth-login.cloud.huawei.com/oauth2/v3/token",
    ]
    change(&members)
    return Secret(bytes: Array(try JSONEncoder().encode(members)))
  }

  private func app(_ service: PushServiceFields) -> NewPushApp {
    NewPushApp(appID: "com.acme.app", type: .huawei, name: "Acme", service: service)
  }

  @Test func `A client id and secret are kept as they are but for blanks, and a service account takes their place`()
    async throws
  {
    try await withDatabase { database in
      let customer = try await database.customer()
      let vault = try Vault.fresh()
      let apps = PushApps(database.pool, vault: vault)
      let signing = PushCredentialVault(database.pool, vault: vault)
      let added = try await apps.add(
        customer, app(PushServiceFields([.clientID: Secret(" 104567891\n"), .clientSecret: Secret(" s3cr3t+/=\r\n")])))
      #expect(added.credentials.map(\.kind) == [.hmsAccount] && added.credentials.map(\.account) == ["104567891"])
      #expect(added.warnings.isEmpty)
      #expect(try await signing.credentials(for: added) == .hms(.client(id: "104567891", secret: "s3cr3t+/=")))

      let changed = try await apps.update(
        customer, added.id, PushAppUpdate(service: PushServiceFields([.serviceAccount: try file()])))
      #expect(changed.credentials.map(\.account) == ["101783233/k1"])
      #expect(changed.credentials[0].fingerprint != added.credentials[0].fingerprint)
      let credentials = try #require(try await signing.credentials(for: changed))
      guard case .hms(.serviceAccount(let account)) = credentials else { throw CancellationError() }
      #expect(account.projectID == "736430079244" && account.subAccount == "101783233" && account.keyID == "k1")
      #expect(!"\(credentials)".contains(account.privateKey))
    }
  }

  struct Wrong: CustomTestStringConvertible {
    let start: String
    let text: String
    var testDescription: String { start }
  }

  private static let others = [
    Wrong(start: "This is an agconnect-services.json", text: #"{"agcgw":{"url":"x"},"client":{"app_id":"1"}}"#),
    Wrong(start: "This is a google-services.json", text: #"{"project_info":{},"client":[]}"#),
    Wrong(start: "This is a Google service account", text: #"{"type":"service_account","private_key":"-"}"#),
    Wrong(start: "This is empty", text: " \n"),
  ]

  @Test(
    arguments: others + [
      Wrong(start: "This is a Huawei service account", text: #"{"sub_account":"1"}"#),
      Wrong(start: "This is a key in PEM form", text: "-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----"),
      Wrong(start: "This is not one word", text: "two words"),
      Wrong(start: "This is too long", text: String(repeating: "x", count: 257)),
    ])
  func `A file that is no Client Secret is told what it is`(_ wrong: Wrong) throws {
    let fields = PushServiceFields([.clientID: Secret("1"), .clientSecret: Secret(wrong.text)])
    let error = #expect(throws: RegistryError.self) { try fields.credentials(for: "com.acme.app", .huawei) }
    guard case .credential("clientSecret", let sentence)? = error else { throw CancellationError() }
    #expect(sentence.hasPrefix(wrong.start) && sentence.hasSuffix("under Project settings, App information."))
  }

  @Test(
    arguments: others + [
      Wrong(start: "This is not JSON, and so not a service account key", text: "hello"),
      Wrong(start: "The key file has no key_id", text: #"{"sub_account":"1","project_id":"1"}"#),
      Wrong(start: "The key file's project_id is not", text: #"{"sub_account":"1","project_id":"a/b"}"#),
      Wrong(
        start: "The key file's private_key is not an RSA key",
        text: #"{"sub_account":"1","project_id":"1","key_id":"k","private_key":"x"}"#),
    ])
  func `A file that is no service account of Huawei is told what it is`(_ wrong: Wrong) throws {
    let fields = PushServiceFields([.serviceAccount: Secret(wrong.text)])
    let error = #expect(throws: RegistryError.self) { try fields.credentials(for: "com.acme.app", .huawei) }
    guard case .credential("serviceAccount", let sentence)? = error else { throw CancellationError() }
    #expect(sentence.hasPrefix(wrong.start) && sentence.hasSuffix("or give clientId and clientSecret."))
  }

  @Test(
    arguments: [
      (#"{"agcgw":{"url":"x"},"client":{"app_id":"1"}}"#, "This is an agconnect-services.json of Huawei"),
      (#"{"sub_account":"1"}"#, "This is a Huawei service account"),
    ])
  func `A file of Huawei is told so where Google's is wanted`(text: String, start: String) throws {
    let error = #expect(throws: RegistryError.self) {
      try PushServiceFields([.serviceAccount: Secret(text)]).credentials(for: "com.acme.app", .firebase)
    }
    guard case .credential("serviceAccount", let sentence)? = error else { throw CancellationError() }
    #expect(sentence.hasPrefix(start))
  }

  @Test(arguments: ["", "a/b", "ä", String(repeating: "1", count: 65)])
  func `A client id of another form is refused`(id: String) {
    #expect(throws: RegistryError.self) {
      try PushServiceFields([.clientID: Secret(id), .clientSecret: Secret("s")]).credentials(
        for: "com.acme.app", .huawei)
    }
  }
}
