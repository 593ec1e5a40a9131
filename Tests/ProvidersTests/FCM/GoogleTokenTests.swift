import CryptoExtras
import FoundationEssentials
import JWTKit
import Logging
import Testing
import Wire

@testable import Providers

/// Requests for access tokens, and what their responses mean.
@Suite struct GoogleTokenTests {
  private struct Claims: JWTPayload {
    var iss: String
    var scope: String
    var aud: String
    var iat: Int
    var exp: Int
    func verify(using algorithm: some JWTAlgorithm) throws {}
  }

  private func endpoint() throws -> GoogleTokenEndpoint {
    let url = "https://oauth2.example.com/token"
    let (address, path) = try #require(ServiceAddress.withPath(url: url))
    return GoogleTokenEndpoint(url: url, address: address, path: path)
  }

  @Test func `The assertion is RS256, names account and scope, and has a valid signature`() async throws {
    let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
    let account = GoogleServiceAccount(
      projectID: "acme-1", clientEmail: "push@acme-1.iam", privateKeyID: "k1", privateKey: key.pkcs8PEMRepresentation)
    let request = try endpoint().request(account, now: Date(timeIntervalSince1970: 1_800_000_000.9))
    #expect(request.headers[":path"] == "/token")
    #expect(request.headers["content-type"] == "application/x-www-form-urlencoded")

    let form = String(decoding: request.body, as: UTF8.self)
    let start = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="
    #expect(form.hasPrefix(start))
    // Read and verified by another implementation.
    let keys = JWTKeyCollection()
    await keys.add(
      rsa: try Insecure.RSA.PublicKey(pem: key.publicKey.pemRepresentation), digestAlgorithm: .sha256, kid: "k1")
    let claims = try await keys.verify(String(form.dropFirst(start.count)), as: Claims.self)
    #expect(claims.iss == "push@acme-1.iam")
    #expect(claims.scope == "https://www.googleapis.com/auth/firebase.messaging")
    #expect(claims.aud == "https://oauth2.example.com/token")
    #expect(claims.iat == 1_800_000_000)
    #expect(claims.exp == 1_800_003_600)
  }

  @Test func `What is no private key signs nothing`() throws {
    let account = GoogleServiceAccount(projectID: "p", clientEmail: "e", privateKeyID: "k", privateKey: "nonsense")
    #expect(throws: (any Error).self) { try endpoint().request(account, now: Date()) }
  }

  private func response(_ status: Int, _ body: String, retryAfter: Duration? = nil) -> AccessTokenResponse {
    AccessTokenResponse(ServiceResponse(status: status, body: Array(body.utf8), retryAfter: retryAfter))
  }

  @Test func `A token is read with its lifetime`() {
    let response = response(200, #"{"access_token":"ya29.x","expires_in":3599,"token_type":"Bearer"}"#)
    #expect(response.token == .init(authorization: "Bearer ya29.x", lifetime: 3599))
    #expect(ResponseClassification(response).verdict == .accepted)
  }

  @Test(arguments: ["", "{}", #"{"access_token":""}"#, #"{"access_token":"a\r\nb"}"#])
  func `What holds no usable token is retried`(_ body: String) {
    let response = response(200, body)
    #expect(response.token == nil)
    #expect(ResponseClassification(response).verdict == .retry(after: nil, reason: "NoAccessToken"))
  }

  @Test(arguments: [
    (400, #"{"error":"invalid_grant","error_description":"Invalid JWT Signature."}"#, "invalid_grant"),
    (401, #"{"error":"invalid_client"}"#, "invalid_client"),
    (400, #"{"error":"unauthorized_client"}"#, "unauthorized_client"),
    (404, "<html>", "HTTP404"),
  ])
  func `A refusal refuses the credentials`(_ status: Int, _ body: String, _ reason: String) {
    #expect(ResponseClassification(response(status, body)).verdict == .credentialsRefused(reason: reason))
  }

  @Test(arguments: [(429, "HTTP429"), (500, "HTTP500"), (503, "HTTP503"), (408, "HTTP408"), (302, "HTTP302")])
  func `Anything else is retried`(_ status: Int, _ reason: String) {
    #expect(
      ResponseClassification(response(status, "", retryAfter: .seconds(9))).verdict
        == .retry(after: .seconds(9), reason: reason, appliesToService: true))
  }

  @Test(arguments: [
    "", "https://oauth2.example.com", "https://oauth2.example.com/", "http://oauth2.example.com/token",
    "https://host/token?x=1",
  ])
  func `The token endpoint's address has a path`(_ url: String) {
    var settings = PushServiceSettings()
    settings[.googleTokenURL] = url
    #expect(throws: ProviderError.tokenAddressUnusable(setting: "PUSHCART_GOOGLE_TOKEN_URL")) {
      try PushServices(settings, logger: .init(label: "test"))
    }
    #expect(!PushServiceSettings.isAddressWithPath(url))
  }
}
