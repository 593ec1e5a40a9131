import CryptoExtras
import Foundation
import Postgres
import Support
import Testing
import Wire

@testable import Registry

/// Every file is made here, of a key made here.
@Suite struct ServiceAccountFileTests {
  static let key = try? _RSA.Signing.PrivateKey(keySize: .bits2048)

  /// A key file as the Firebase console makes it.
  static func file(_ change: (inout [String: String]) -> Void = { _ in }) throws -> Secret {
    var fields = [
      "type": "service_account", "project_id": "acme-shop", "private_key_id": "0123456789abcdef",
      "private_key": try #require(key).pkcs8PEMRepresentation, "client_id": "1",
      "client_email": "firebase-adminsdk@acme-shop.iam.gserviceaccount.com",
      "token_uri": "https://oauth2.googleapis.com/token",
    ]
    change(&fields)
    return Secret(bytes: Array(try JSONEncoder().encode(fields)))
  }

  @Test func `A key file is stored sealed, and what was uploaded signs`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let vault = try Vault.fresh()
      let apps = PushApps(database.pool, vault: vault)
      for (type, appID) in [(AppType.firebase, "com.acme.app"), (.android, "com.acme.old")] {
        let bare = try await apps.add(customer, NewPushApp(appID: appID, type: type, name: "Acme"))
        #expect(bare.warnings == ["There is no serviceAccount, so nothing can be sent to this app yet."])
        #expect(try await PushCredentialVault(database.pool, vault: vault).credentials(for: bare) == nil)
        let app = try await apps.update(
          customer, bare.id, PushAppUpdate(service: PushServiceFields([.serviceAccount: try Self.file()])))
        #expect(app.warnings.isEmpty && app.credentials.map(\.kind) == [.fcmServiceAccount])
        let credentials = try await PushCredentialVault(database.pool, vault: vault).credentials(for: app)
        guard case .fcm(let account) = credentials else { throw CancellationError() }
        #expect(account.projectID == "acme-shop" && account.privateKeyID == "0123456789abcdef")
        #expect(account.clientEmail == "firebase-adminsdk@acme-shop.iam.gserviceaccount.com")
        #expect(account.privateKey == Self.key?.pkcs8PEMRepresentation)
        #expect(!"\(account)".contains("PRIVATE") && !String(reflecting: credentials).contains("PRIVATE"))
      }
    }
  }

  @Test func `A key file belongs to Firebase, Android and Huawei`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let apps = PushApps(database.pool, vault: try .fresh())
      for type in [AppType.ios, .windows] {
        await #expect(
          throws: RegistryError.invalid(
            field: "serviceAccount", problem: "belongs to Firebase, Android and Huawei apps only, of appType 6, 2 and 7"
          )
        ) {
          _ = try await apps.add(
            customer,
            NewPushApp(
              appID: "com.acme.app", type: type, name: "Acme",
              service: PushServiceFields([.serviceAccount: try Self.file()])))
        }
      }
    }
  }

  @Test(arguments: [
    ("", "This is empty"),
    (#"{"project_info":{"project_id":"x"},"client":[]}"#, "This is a google-services.json"),
    (#"{"installed":{"client_id":"x"}}"#, "This is an OAuth client, not a service account key"),
    (#"{"type":"authorized_user"}"#, "This is a person's sign-in, not a service account key"),
    (#"{"type":"external_account"}"#, "This is a workload identity configuration, which has no private key"),
    (#"{"a":1}"#, "This is a JSON file, but not a service account key"),
    (#"{"type":"service_account","project_id":1}"#, "This is a key file with a part that is no text"),
    (#"{"type":"service_account","project_id":"#, "This is a JSON file that is damaged or cut off"),
    ("<?xml version=\"1.0\"?><plist/>", "This is a GoogleService-Info.plist or another XML file"),
    ("<!doctype html>", "This is a web page"),
    ("-----BEGIN PRIVATE KEY-----", "This is a key alone, without the account that it belongs to"),
    ("AIzaSyA-1234567890", "This is a server key of the old FCM interface"),
    ("acme-firebase-adminsdk.json", "This is the name of a file and not what the file holds"),
    ("hello", "This is not JSON, and so not a service account key"),
  ])
  func `A wrong file is told what it is`(file: String, finding: String) {
    refuses(Secret(file), finding)
  }

  @Test(arguments: ["project_id", "client_email", "private_key_id", "private_key"])
  func `A key file that lacks a part is refused with its name`(name: String) throws {
    refuses(try Self.file { $0[name] = nil }, "The key file has no \(name)")
    refuses(try Self.file { $0[name] = "" }, "The key file has no \(name)")
  }

  @Test func `What could break out of a path or is no RSA key is refused`() throws {
    refuses(try Self.file { $0["project_id"] = "acme/../x" }, "The key file's project_id is not of letters")
    refuses(try Self.file { $0["private_key"] = "-----BEGIN" }, "The key file's private_key is not an RSA key")
  }

  private func refuses(_ file: Secret, _ finding: String) {
    let error = #expect(throws: RegistryError.self) {
      try PushServiceFields([.serviceAccount: file]).credentials(for: "com.acme.app", .firebase)
    }
    guard case .credential(field: "serviceAccount", let sentence) = error else {
      Issue.record("refused otherwise: \(String(describing: error))")
      return
    }
    #expect(sentence.hasPrefix(finding), "\(sentence)")
    #expect(sentence.contains("upload the JSON file of a service account's private key"))
  }
}
