import Foundation
import Testing
import Wire

@testable import Registry

/// Files of push services that are given where others belong.
@Suite struct MisplacedFileTests {
  /// Where a file can be given.
  enum Field: String, CaseIterable {
    case signingKey, productionCertificate, clientSecret, vapidPrivateKey
    case googleAccount = "serviceAccount"
    case huaweiAccount = "serviceAccount of Huawei"

    private func readAccount(_ file: Secret, _ type: AppType) throws {
      _ = try PushServiceFields([.serviceAccount: file]).credentials(for: "com.acme.app", type)
    }

    func read(_ file: Secret) throws {
      switch self {
      case .signingKey: _ = try SigningKeyFile(file)
      case .productionCertificate:
        _ = try PushCertificateFile(file, password: nil, for: .production, appID: "com.acme.app")
      case .clientSecret: _ = try ClientSecret.text(file, advice: "give another.")
      case .vapidPrivateKey: _ = try VAPIDKeyFile(file)
      case .googleAccount: try readAccount(file, .firebase)
      case .huaweiAccount: try readAccount(file, .huawei)
      }
    }
  }

  static let google = #"{"project_info":{"project_number":"1"},"client":[{"client_info":{}}]}"#
  static let huawei = #"{"agcgw":{"url":"x"},"client":{"app_id":"1"},"app_info":{"package_name":"a.b"}}"#
  static let googleAccount = """
    {"type":"service_account","project_id":"x","private_key":"-----BEGIN PRIVATE KEY-----\\nAAAA\\n-----END PRIVATE KEY-----\\n"}
    """
  static let huaweiAccount = #"{"sub_account":"1","project_id":"1","private_key":"-----BEGIN PRIVATE KEY-----"}"#
  static let pkcs12: [UInt8] = [0x30, 0x82, 0x07, 0xD4, 0x02, 0x01, 0x03] + [UInt8](repeating: 0xC5, count: 2001)

  private func expect(_ start: String, _ file: [UInt8], _ field: Field) {
    let error = #expect(throws: RegistryError.self) { try field.read(Secret(bytes: file)) }
    guard case .credential(let named, let sentence)? = error else {
      Issue.record("\(field): \(String(describing: error))")
      return
    }
    #expect(field.rawValue.hasPrefix(named) && sentence.hasPrefix(start), "\(field): \(sentence)")
  }

  @Test(arguments: Field.allCases)
  func `A JSON file of a push service is told what it is, wherever it is given`(field: Field) {
    for (file, start) in [
      (Self.google, "This is a google-services.json of Firebase, which belongs inside the app and signs in nobody: "),
      (Self.huawei, "This is an agconnect-services.json of Huawei, which belongs inside the app and signs in nobody: "),
      (#"{"installed":{"client_id":"x"}}"#, "This is an OAuth client, not a"),
      (#"{"a":1}"#, "This is a JSON file, but not a"),
      (String(Self.google.dropLast()), "This is a JSON file that is damaged or cut off: "),
    ] {
      for text in [file, "\u{FEFF}\r\n \(file)\n"] { expect(start, Array(text.utf8), field) }
    }
    if field != .googleAccount {
      expect("This is a Google service account, which belongs in", Array(Self.googleAccount.utf8), field)
    }
    if field != .huaweiAccount {
      expect("This is a Huawei service account, which belongs in", Array(Self.huaweiAccount.utf8), field)
    }
    // As scripts upload it.
    if field == .productionCertificate {
      expect("This is a google-services.json", Array(Data(Self.google.utf8).base64EncodedString().utf8), field)
    }
  }

  @Test(arguments: Field.allCases.filter { $0 != .productionCertificate })
  func `A .p12 file is told what it is, wherever it is given`(field: Field) {
    let base64 = Data(Self.pkcs12).base64EncodedString(options: .lineLength64Characters)
    for file in [Self.pkcs12, Array(base64.utf8)] {
      expect("This is a .p12 file, which holds a push certificate and not a", file, field)
    }
  }

  @Test func `No cut of a file brings the hub down`() {
    for file in [Self.pkcs12, Array(Self.huawei.utf8), Array(Self.googleAccount.utf8)] {
      for length in 0...min(file.count, 200) {
        for field in Field.allCases { try? field.read(Secret(bytes: Array(file.prefix(length)))) }
      }
    }
  }
}
