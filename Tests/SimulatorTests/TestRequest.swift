import AsyncHTTPClient
import Crypto
import FoundationEssentials
import NIOCore
import NIOHPACK
import NIOHTTP1
import NIOSSL
import Providers
import Simulator
import Support
import Testing

/// A request that the Simulator accepts, until a test changes it.
struct TestRequest {
  var method = HTTPMethod.POST
  var path = "/3/device/" + String(repeating: "ab", count: 32)
  var headers: [(String, String)] = []
  var payload = #"{"aps":{"alert":"Hello"}}"#

  init(_ authorization: String? = TestToken.shared) {
    set("apns-id", "123e4567-e89b-42d3-a456-426614174000")
    set("apns-topic", "com.acme.app")
    set("apns-push-type", "alert")
    set("apns-priority", "10")
    if let authorization { set("authorization", authorization) }
  }

  mutating func set(_ name: String, _ value: String?) {
    headers.removeAll { $0.0 == name }
    if let value { headers.append((name, value)) }
  }

  func with(_ name: String, _ value: String?) -> TestRequest {
    var copy = self
    copy.set(name, value)
    return copy
  }

  var block: HPACKHeaders {
    HPACKHeaders(
      [(":method", method.rawValue), (":scheme", "https"), (":authority", "localhost"), (":path", path)] + headers)
  }
}

/// A provider token that a test can make wrong.
struct TestToken {
  var header = #"{"alg":"ES256","kid":"\#(APNsCredentials.sample.keyID)"}"#
  var team = APNsCredentials.sample.teamID
  var issuedAt = Date()
  var claims: String?
  var key = APNsCredentials.sample.signingKey

  /// One token for all requests, since APNs counts them.
  static let shared = TestToken().authorization

  var authorization: String { "bearer \(text)" }

  var text: String {
    let claims = claims ?? #"{"iss":"\#(team)","iat":\#(Int(issuedAt.timeIntervalSince1970))}"#
    let signed = encode(Data(header.utf8)) + "." + encode(Data(claims.utf8))
    guard let key = try? P256.Signing.PrivateKey(pemRepresentation: key),
      let signature = try? key.signature(for: Data(signed.utf8))
    else { return signed }
    return signed + "." + encode(signature.rawRepresentation)
  }

  private func encode(_ data: Data) -> String {
    data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
  }
}

/// A reply of the Simulator, read by an independent client.
struct TestAnswer: Equatable, CustomStringConvertible {
  var status: Int
  var reason: String?
  var timestamp: Double?
  var id: String?
  var uniqueID: String?

  init(_ status: Int, _ reason: String? = nil) {
    self.status = status
    self.reason = reason
  }

  static func == (left: TestAnswer, right: TestAnswer) -> Bool {
    left.status == right.status && left.reason == right.reason
  }

  var description: String { "\(status) \(reason ?? "")" }
}

/// Runs `body` with a Simulator and a way to send it requests over one connection.
func withRequests(
  now: @escaping @Sendable () -> Date = { Date() },
  configure: (inout SimulatorSettings) -> Void = { _ in },
  _ body: (PushSimulator, Requester) async throws -> Void
) async throws {
  try await withSimulator(now: now, configure: configure) { simulator in
    var configuration = HTTPClient.Configuration()
    var tls = TLSConfiguration.makeClientConfiguration()
    tls.trustRoots = .file(simulator.caFile)
    configuration.tlsConfiguration = tls
    configuration.timeout.connect = .seconds(600)
    let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    do {
      try await body(simulator, Requester(client: client, simulator: simulator))
      try await client.shutdown()
    } catch {
      try? await client.shutdown()
      throw error
    }
  }
}

struct Requester {
  let client: HTTPClient
  let simulator: PushSimulator

  /// Sends, and expects an answer.
  func expect(
    _ request: TestRequest, sandbox: Bool = false, _ status: Int, _ reason: String? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let answer = try await answer(request, sandbox: sandbox)
    #expect(answer == TestAnswer(status, reason), sourceLocation: sourceLocation)
  }

  func answer(_ request: TestRequest, sandbox: Bool = false) async throws -> TestAnswer {
    let received = try await client.ask(
      request.method, (sandbox ? simulator.sandboxURL : simulator.productionURL) + request.path, request.headers,
      request.payload.isEmpty ? nil : Array(request.payload.utf8))
    var answer = TestAnswer(received.status, received.json.string("reason"))
    answer.timestamp = received.json.integer("timestamp").map { Double($0) }
    answer.id = received.header("apns-id")
    answer.uniqueID = received.header("apns-unique-id")
    return answer
  }
}
