import AsyncHTTPClient
import CryptoExtras
import FoundationEssentials
import NIOCore
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

/// A reply of the simulated FCM or token endpoint, read by an independent client.
struct FCMAnswer {
  var status: Int
  var headers: HTTPHeaders
  var json: JSONValue

  /// The status of Google's error, such as `NOT_FOUND`.
  var name: JSONValue? { json["error"]?["status"] }
  var message: JSONValue? { json["error"]?["message"] }
  /// The code of the detail `FcmError`.
  var errorCode: JSONValue? { detail("google.firebase.fcm.v1.FcmError")?["errorCode"] }
  /// The fields of the detail `BadRequest`, with an empty text for a violation of the body as a whole.
  var fields: [JSONValue] {
    guard case .array(let violations) = detail("google.rpc.BadRequest")?["fieldViolations"] else { return [] }
    return violations.map { $0["field"] ?? "" }
  }

  func detail(_ type: String) -> JSONValue? {
    guard case .array(let details) = json["error"]?["details"] else { return nil }
    return details.first { $0["@type"] == .string("type.googleapis.com/" + type) }
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
  ) async throws -> FCMAnswer {
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
    #expect(answer.status == status && answer.errorCode == code, "\(answer.json)", sourceLocation: sourceLocation)
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
  ) async throws -> FCMAnswer {
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
    guard case .string(let text) = answer.json["error_description"] else {
      Issue.record("There is no description.", sourceLocation: sourceLocation)
      return
    }
    #expect(text.contains(description), "\(text)", sourceLocation: sourceLocation)
  }

  /// An access token of an account.
  func signIn(_ assertion: TestAssertion) async throws -> String {
    let answer = try await askForToken(assertion.form)
    #expect(answer.status == 200, "\(answer.json)")
    guard case .string(let token) = answer.json["access_token"] else { return "" }
    return token
  }

  private func post(
    _ path: String, _ body: String, method: HTTPMethod = .POST, contentType: String?, authorization: String? = nil
  ) async throws -> FCMAnswer {
    var sent = HTTPClientRequest(url: simulator.fcmURL + path)
    sent.method = method
    if let contentType { sent.headers.add(name: "content-type", value: contentType) }
    if let authorization { sent.headers.add(name: "authorization", value: authorization) }
    if method == .POST { sent.body = .bytes(ByteBuffer(string: body)) }
    let response = try await client.execute(sent, timeout: .seconds(600))
    let text = try await response.body.collect(upTo: 1 << 16)
    let json = try? JSONValue(json: Array(text.readableBytesView))
    return FCMAnswer(
      status: Int(response.status.code), headers: response.headers, json: json ?? .string(String(buffer: text)))
  }
}

/// Runs `body` with a Simulator that knows one service account, and a way to send it messages.
/// - Parameter issued: when the account signed in, or nil if it does not.
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
