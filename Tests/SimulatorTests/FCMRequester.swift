import AsyncHTTPClient
import CryptoExtras
import FoundationEssentials
import NIOHTTP1
import Simulator
import Support
import Testing
import Wire

/// A JWT for Google's token endpoint that a test can make wrong.
struct TestAssertion {
  var header: String
  var claims: [UTF8String: JSONValue]
  var privateKey: String

  init(_ account: SimulatedFCM.ServiceAccount, issued: Date = Date()) {
    header = #"{"alg":"RS256","typ":"JWT","kid":"\#(account.keyID)"}"#
    let issued = Int64(issued.timeIntervalSince1970)
    claims = [
      "iss": .string(account.clientEmail), "scope": "https://www.googleapis.com/auth/firebase.messaging",
      "aud": .string(account.tokenURL), "iat": .integer(issued), "exp": .integer(issued + 3600),
    ]
    privateKey = account.privateKey
  }

  func with(_ claim: String, _ value: JSONValue?) -> TestAssertion {
    var copy = self
    copy.claims[claim] = value
    return copy
  }

  func with(header: String) -> TestAssertion {
    var copy = self
    copy.header = header
    return copy
  }

  var text: String {
    get throws {
      let claims = try JSONCoding.encode(JSONValue.object(claims))
      let signed = Base64URL.text(Array(header.utf8)) + "." + Base64URL.text(Array(claims))
      let key = try _RSA.Signing.PrivateKey(pemRepresentation: privateKey)
      let signature = try key.signature(for: Data(signed.utf8), padding: .insecurePKCS1v1_5)
      return signed + "." + Base64URL.text(Array(signature.rawRepresentation))
    }
  }

  /// The body of a token request.
  var form: String {
    get throws { try "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=" + text }
  }
}

/// An error of the simulated FCM.
extension HTTPAnswer {
  /// The status of Google's error, such as `NOT_FOUND`.
  var name: JSONValue? { json["error"]?["status"] }
  var message: JSONValue? { json["error"]?["message"] }
  /// The code of the detail `FcmError`.
  var errorCode: JSONValue? { detail("google.firebase.fcm.v1.FcmError")?["errorCode"] }
  /// The fields of the detail `BadRequest`, with an empty text for a violation of the body as a whole.
  var fields: [JSONValue] {
    (detail("google.rpc.BadRequest")?.array("fieldViolations") ?? []).map { $0["field"] ?? "" }
  }

  func detail(_ type: String) -> JSONValue? {
    json["error"]?.array("details")?.first { $0["@type"] == .string("type.googleapis.com/" + type) }
  }
}

/// Sends to the simulated FCM over one connection, signed in as a service account.
struct FCMRequester {
  let client: HTTPClient
  let simulator: PushSimulator
  let account: SimulatedFCM.ServiceAccount
  var accessToken: String?

  static let address = "/v1/projects/acme-shop/messages:send"
  static let token = "cVn7:APA91bHun4MxP5egoKMwt2KZFBaFUH-1RYqx"

  /// A message that FCM accepts.
  static func body(token: String = token, _ more: String = #""data":{"alert":"Hello"}"#) -> String {
    #"{"message":{"token":"\#(token)",\#(more)}}"#
  }

  func send(
    _ body: String = FCMRequester.body(), to path: String = address, method: HTTPMethod = .POST,
    contentType: String? = "application/json", authorization: String? = nil
  ) async throws -> HTTPAnswer {
    try await post(
      path, body, method: method, contentType: contentType,
      authorization: authorization ?? accessToken.map { "Bearer \($0)" })
  }

  /// Sends, and expects a status and a code of FCM.
  func expect(
    _ status: Int, _ code: JSONValue? = nil, for body: String = FCMRequester.body(),
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let answer = try await send(body)
    #expect(answer.status == status && answer.errorCode == code, "\(answer.text)", sourceLocation: sourceLocation)
  }

  /// Sends the fields of a message to a token, and expects that one of them is refused.
  func expect(
    _ fields: String, refusedAt field: JSONValue, code: JSONValue? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let answer = try await send(Self.body(fields))
    #expect(answer.status == 400 && answer.name == "INVALID_ARGUMENT", "\(fields)", sourceLocation: sourceLocation)
    #expect(answer.fields == [field], "\(fields)", sourceLocation: sourceLocation)
    #expect(answer.errorCode == code, "\(fields)", sourceLocation: sourceLocation)
  }

  func askForToken(
    _ form: String, contentType: String? = "application/x-www-form-urlencoded"
  ) async throws -> HTTPAnswer {
    try await post("/token", form, contentType: contentType)
  }

  /// Asks with a JWT that is expected to be refused.
  func expect(
    _ assertion: TestAssertion, refusedAs error: JSONValue, _ description: String, status: Int = 400,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let answer = try await askForToken(assertion.form)
    #expect(answer.status == status, sourceLocation: sourceLocation)
    #expect(answer.json["error"] == error, sourceLocation: sourceLocation)
    let text = answer.json.string("error_description")
    #expect(text?.contains(description) == true, "\(answer.text)", sourceLocation: sourceLocation)
  }

  /// An access token of an account.
  func signIn(_ assertion: TestAssertion) async throws -> String {
    let answer = try await askForToken(assertion.form)
    #expect(answer.status == 200, "\(answer.json)")
    return try #require(answer.json.string("access_token"))
  }

  private func post(
    _ path: String, _ body: String, method: HTTPMethod = .POST, contentType: String?, authorization: String? = nil
  ) async throws -> HTTPAnswer {
    let headers = [("content-type", contentType), ("authorization", authorization)]
    return try await client.ask(
      method, simulator.fcmURL + path, headers.compactMap { name, value in value.map { (name, $0) } },
      method == .POST ? Array(body.utf8) : nil)
  }
}

/// Runs `body` with a Simulator that knows one service account, and a way to send it messages.
/// - Parameter isSignedIn: whether the account has an access token.
func withFCM(
  now: @escaping @Sendable () -> Date = { Date() }, isSignedIn: Bool = true,
  configure: (inout SimulatorSettings) -> Void = { _ in },
  _ body: (PushSimulator, FCMRequester) async throws -> Void
) async throws {
  try await withRequests(now: now, configure: configure) { simulator, requests in
    let account = try SimulatedFCM.ServiceAccount(tokenURL: simulator.googleTokenURL)
    try simulator.fcm.register(account)
    var requester = FCMRequester(client: requests.client, simulator: simulator, account: account)
    if isSignedIn { requester.accessToken = try await requester.signIn(TestAssertion(account, issued: now())) }
    try await body(simulator, requester)
  }
}
