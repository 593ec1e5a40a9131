@testable import Hybrid

import Crypto
import Foundation
import Registry
import Testing
import Wire

@Suite struct MACAuthorizationTests {
  private static let moment: Int64 = 1_464_242_891
  private static let key = "00000000-0001-8c3a-9d5e-27c1b0a4f388"

  private static func header(_ mac: String, ts: String = "1464242891") -> String {
    "MAC kid=\"\(key)\" ts=\"\(ts)\" mac=\"\(mac)\""
  }

  private func verifies(
    _ header: String, _ method: String, _ target: String, host: String? = "push.example.com:8443",
    secrets: [String] = ["test-secret"], publicHost: String? = nil, later seconds: Int64 = 0
  ) -> Bool {
    guard let authorization = MACAuthorization(header) else { return false }
    return authorization.verifies(
      .init(method: method, target: target, host: host), by: secrets.map { Secret($0) }, publicHost: publicHost,
      now: Date(timeIntervalSince1970: Double(Self.moment + seconds)))
  }

  @Test(arguments: [
    ("POST", "/v1.0/deviceregistrations", "WSkaTyhrG7f7zBQTYL8idvEJPTg="),
    ("POST", "/v1.0/deviceregistrations", "qKl6DYjdAu83zrbmJLc5D2axR3I="),
    ("GET", "/v1.0/messages?$top=100", "ZV7mKCsjoM/VUCDL7Sw0Om8tZxA="),
    ("GET", "/v1.0/messages?%24top=100", "ZV7mKCsjoM/VUCDL7Sw0Om8tZxA="),
    (
      "GET", "/v1.0/messages?$filter=DateTime%20gt%20datetime'2016-01-01T12:00:00'", "JM41bgiI8rXBqBEs2Kkwr5IujKk="
    ),
  ])
  func `A signature that was made by hand is good`(method: String, target: String, mac: String) {
    #expect(verifies(Self.header(mac), method, target))
    #expect(!verifies(Self.header(mac), method == "GET" ? "PUT" : "GET", target))
    #expect(!verifies(Self.header(mac), method, target + "x"))
    #expect(!verifies(Self.header(mac), method, target, secrets: ["test-secret "]))
    #expect(verifies(Self.header(mac), method, target, secrets: ["another", "test-secret"]))
    #expect(!verifies(Self.header(mac), method, target, secrets: []))
  }

  @Test func `A code is taken only if it is whole and unchanged, as in Wycheproof's vectors`() throws {
    func bytes(_ digits: String) throws -> [UInt8] {
      let digits = Array(digits == "-" ? "" : digits)
      return try stride(from: 0, to: digits.count, by: 2).map {
        try #require(UInt8(String(digits[$0...$0 + 1]), radix: 16))
      }
    }
    var taken = 0
    for line in HMACVectors.lines {
      let (key, text, code) = (try bytes(line[0]), try bytes(line[1]), try bytes(line[2]))
      let isGood = line.count == 3 && code.count == 20
      #expect(
        MACAuthorization.isCode(code, of: text, by: SymmetricKey(data: key)) == isGood, "\(line)")
      if isGood { taken += 1 }
    }
    #expect(HMACVectors.lines.count == 162 && taken > 20)
  }

  @Test func `The clock may differ by five minutes`() {
    let header = Self.header("WSkaTyhrG7f7zBQTYL8idvEJPTg=")
    for seconds in [-300, 300] as [Int64] {
      #expect(verifies(header, "POST", "/v1.0/deviceregistrations", later: seconds))
    }
    for seconds in [-301, 301] as [Int64] {
      #expect(!verifies(header, "POST", "/v1.0/deviceregistrations", later: seconds))
    }
  }

  @Test(arguments: [
    // own host, without and with its port
    ("/v1.0/messages", "GET /v1.0/messages HTTP/1.1\npush.example.com\n1464242891\n"),
    ("/v1.0/messages", "GET /v1.0/messages HTTP/1.1\npush.example.com:8443\n1464242891\n"),
    ("/v1.0/messages", "GET /v1.0/messages HTTP/1.1\npublic.example.com\n1464242891\n"),
    ("/v1.0/messages", "GET /v1.0/messages HTTP/1.1\napi.notifire.com\n1464242891\n"),
    // CRLF, with and without the last one
    ("/v1.0/messages", "GET /v1.0/messages HTTP/1.1\r\napi.cmtelecom.com\r\n1464242891\r\n"),
    ("/v1.0/messages", "GET /v1.0/messages HTTP/1.1\r\napi.cmtelecom.com\r\n1464242891"),
    // not decoded, decoded as UTF-8, and each byte as a character
    (
      "/v1.0/messages?$filter=Sender%20eq%20'%C3%A9'",
      "GET /v1.0/messages?$filter=Sender%20eq%20'%C3%A9' HTTP/1.1\napi.cmtelecom.com\n1464242891\n"
    ),
    (
      "/v1.0/messages?$filter=Sender%20eq%20'%C3%A9'",
      "GET /v1.0/messages?$filter=Sender eq 'é' HTTP/1.1\napi.cmtelecom.com\n1464242891\n"
    ),
    (
      "/v1.0/messages?$filter=Sender%20eq%20'%C3%A9'",
      "GET /v1.0/messages?$filter=Sender eq 'Ã©' HTTP/1.1\napi.cmtelecom.com\n1464242891\n"
    ),
    // a plus sign stays one
    ("/v1.0/messages?$orderby=a+b", "GET /v1.0/messages?$orderby=a+b HTTP/1.1\napi.cmtelecom.com\n1464242891\n"),
  ])
  func `Every way in which clients write the text is taken`(target: String, text: String) {
    let header = Self.header(Self.mac(text))
    #expect(verifies(header, "GET", target, publicHost: "public.example.com"))
    #expect(!verifies(header, "GET", target, secrets: ["other"], publicHost: "public.example.com"))
  }

  @Test func `A signature for another host is refused`() {
    let header = Self.header(Self.mac("GET /v1.0/messages HTTP/1.1\nevil.example.com\n1464242891\n"))
    #expect(!verifies(header, "GET", "/v1.0/messages"))
    #expect(verifies(header, "GET", "/v1.0/messages", host: "EVIL.example.com"))
  }

  @Test(arguments: [
    "mac KID=\"\(key)\",ts=\"1\", mac=\"WSkaTyhrG7f7zBQTYL8idvEJPTg=\"",
    "MAC mac=\"WSkaTyhrG7f7zBQTYL8idvEJPTg=\"\tts=\"1\" , kid=\"\(key.uppercased())\"",
  ])
  func `The header's pairs may stand in any order`(header: String) throws {
    let authorization = try #require(MACAuthorization(header))
    #expect(authorization.key == UUID(uuidString: Self.key))
  }

  @Test(arguments: [
    "", "MAC", "Bearer pck_1_x", "MAC kid=\"\(key)\" ts=\"1464242891\"",
    "MAC kid=\"x\" ts=\"1\" mac=\"WSkaTyhrG7f7zBQTYL8idvEJPTg=\"",
    header("WSkaTyhrG7f7zBQTYL8idvEJPTg"), header("AAAA"), header(""), header("WSkaTyhrG7f7zBQTYL8idvEJPTg=", ts: "-1"),
    header("WSkaTyhrG7f7zBQTYL8idvEJPTg=", ts: "1.5"), header("WSkaTyhrG7f7zBQTYL8idvEJPTg=", ts: ""),
    header("WSkaTyhrG7f7zBQTYL8idvEJPTg=", ts: "9999999999999"),
    header("WSkaTyhrG7f7zBQTYL8idvEJPTg=", ts: "1\" ts=\"2"),
    "MAC kid=\(key) ts=1 mac=x", "MAC kid=\"\(key)", "MAC " + String(repeating: "a=\"b\" ", count: 200),
  ])
  func `A header that is none is refused`(header: String) { #expect(MACAuthorization(header) == nil) }

  @Test func `An app key says whose it is, and nothing else does`() throws {
    for number in [1, 7, 1 << 32, (1 << 48) - 1] as [Int64] {
      let key = UUID.appKey(of: CustomerID(number))
      #expect(key.customerOfAppKey == CustomerID(number))
      #expect(key.text.dropFirst(14).first == "8" && "89ab".contains(key.text.dropFirst(19).first ?? "x"))
      #expect(UUID.appKey(of: CustomerID(number)) != key)
    }
    #expect(UUID().customerOfAppKey == nil)
    #expect(UUID(uuidString: "00000000-0000-8000-8000-000000000000")?.customerOfAppKey == nil)
  }
}

extension MACAuthorizationTests {
  private static func mac(_ text: String) -> String {
    let code = HMAC<Insecure.SHA1>.authenticationCode(
      for: Data(text.utf8), using: SymmetricKey(data: Data("test-secret".utf8)))
    return Data(code).base64EncodedString()
  }
}
