import CryptoExtras
import FoundationEssentials
import Logging
import Simulator
import Support
import Testing
import Wire

@testable import Providers

/// Pushes to Huawei's Push Kit over TLS and HTTP/2, with sign-in.
@Suite struct HMSSendingTests {
  static let invalid = Verdict.tokenInvalid(.unregistered, since: nil, reason: "80300007")

  @Test func `Equal messages travel in one request, and personal ones each in its own`() async throws {
    try await withAPNs { simulator, services in
      let account = services.huawei(simulator)
      let texts = ["Hi", "Hi", "For you", "Hi"]
      #expect(
        await account.verdicts(of: texts.enumerated().map { ("token-\($0)", $1) })
          == [.accepted, .accepted, .accepted, .accepted])
      let received = simulator.hms.requests
      #expect(
        received.map(\.tokens).sorted { $0.count > $1.count } == [["token-0", "token-1", "token-3"], ["token-2"]])
      #expect(simulator.hms.tokenRequestCount == 1)
      let request = try #require(received.first)
      #expect(request.header(":path") == "/v1/104567891/messages:send")
      #expect(request.header("content-type") == "application/json;charset=UTF-8")
    }
  }

  @Test func `A request has 1000 tokens at most, and none twice`() async throws {
    try await withAPNs { simulator, services in
      let account = services.huawei(simulator)
      // Long tokens make a body of several windows of HTTP/2.
      let long = String(repeating: "x", count: 120)
      var pushes = (0..<2001).map { ("\(long)-\($0)", "Hi") }
      pushes.append(("\(long)-2000", "Hi"))
      #expect(await account.verdicts(of: pushes) == [Verdict?](repeating: .accepted, count: 2002))
      let counts = simulator.hms.requests.map(\.tokens.count).sorted()
      #expect(counts == [1, 1, 1000, 1000])
    }
  }

  @Test func `After a partial failure the tokens that it names are invalid, and the others are accepted`() async throws
  {
    try await withAPNs { simulator, services in
      let account = services.huawei(simulator)
      simulator.hms.unregister(token: "token-1")
      simulator.hms.unregister(token: "tok\"en/\\2")
      let verdicts = await account.verdicts(of: ["token-0", "token-1", "tok\"en/\\2", "token-3"].map { ($0, "Hi") })
      let gone = Verdict.tokenInvalid(.unregistered, since: nil, reason: "80100000")
      #expect(verdicts == [.accepted, gone, gone, .accepted])
      #expect(simulator.hms.count == 1)
    }
  }

  @Test func `A few tokens that are all invalid are the tokens' fault, and fifty of them the app's`() async throws {
    try await withAPNs { simulator, services in
      let account = services.huawei(simulator)
      simulator.hms.rule(.prefix("gone-"), .refuse(.allTokensInvalid))
      #expect(await account.verdicts(of: [("gone-1", "Hi")]) == [Self.invalid])
      let few = (0..<49).map { ("gone-\($0)", "Hi") }
      #expect(await account.verdicts(of: few) == [Verdict?](repeating: Self.invalid, count: 49))
      let refused = Verdict.credentialsRefused(reason: "80300007")
      #expect(await account.verdicts(of: few + [("gone-50", "Hi")]) == [Verdict?](repeating: refused, count: 50))
    }
  }

  @Test func `A wrong secret refuses the credentials by the number of Huawei's error, and nothing is sent`()
    async throws
  {
    try await withAPNs { simulator, services in
      let account = services.huawei(simulator, secret: "wrong")
      #expect(await account.verdicts(of: [("token-1", "Hi")]) == [.credentialsRefused(reason: "1101")])
      #expect(await account.check(.production) == .refused(reason: "1101"))
      #expect(simulator.hms.count == 0)
    }
  }

  @Test func `A secret with reserved characters arrives as it is`() async throws {
    try await withAPNs { simulator, services in
      let odd = "a+b&c=d%20/ü€"
      simulator.hms.register(clientID: "7", secret: odd)
      let account = services.account(
        appID: "com.acme.app", of: CustomerID(1), credentials: .hms(.client(id: "7", secret: odd)))
      #expect(await account.check(.production) == .accepted)
    }
  }

  @Test func `A service account signs its own token and sends for its project`() async throws {
    try await withAPNs { simulator, services in
      let key = try _RSA.Signing.PrivateKey(keySize: .bits2048).pkcs8PEMRepresentation
      func file(_ project: String) -> String {
        String(
          decoding: JSONTextOf(["project_id": project, "sub_account": "101", "key_id": "k1", "private_key": key]),
          as: UTF8.self)
      }
      try simulator.hms.register(keyFile: file("736430079244"))
      func account(_ project: String, keyID: String = "k1") -> any PushAccount {
        services.account(
          appID: "com.acme.app", of: CustomerID(1),
          credentials: .hms(
            .serviceAccount(
              HuaweiServiceAccount(projectID: project, subAccount: "101", keyID: keyID, privateKey: key))))
      }
      let own = account("736430079244")
      #expect(await own.verdicts(of: [("token-1", "Hi"), ("token-2", "Hi")]) == [.accepted, .accepted])
      #expect(simulator.hms.requests.first?.header(":path") == "/v2/736430079244/messages:send")
      #expect(simulator.hms.tokenRequestCount == 0)
      #expect(await own.check(.production) == .accepted)
      #expect(await account("other").check(.production) == .refused(reason: "80200001"))
      #expect(await account("736430079244", keyID: "k2").check(.production) == .refused(reason: "80200001"))
    }
  }

  @Test func `A check is a dry run, and a word about its token accepts the account`() async throws {
    try await withAPNs { simulator, services in
      let account = services.huawei(simulator)
      #expect(await account.check(.production) == .accepted)
      simulator.hms.rule(.any, .refuse(.allTokensInvalid), times: 1)
      #expect(await account.check(.production) == .accepted)
      simulator.hms.rule(.any, .refuse(.code("80300002")), times: 1)
      #expect(await account.check(.production) == .refused(reason: "80300002"))
      simulator.hms.rule(.any, .refuse(.flowControl()), times: 1)
      #expect(await account.check(.production) == .unreachable(reason: "HTTP503"))
      #expect(simulator.hms.requests.allSatisfy { $0.validateOnly })
    }
  }

  /// Push Kit's table: what the stand-in answers, and the verdict.
  @Test(
    arguments: [
      ("80100001", .payloadRefused(reason: "80100001")), ("80100003", .payloadRefused(reason: "80100003")),
      ("80100004", .payloadRefused(reason: "80100004")), ("80100013", .payloadRefused(reason: "80100013")),
      ("80100016", .payloadRefused(reason: "80100016")), ("80100018", .payloadRefused(reason: "80100018")),
      ("80300008", .payloadRefused(reason: "80300008")), ("80300010", .payloadRefused(reason: "80300010")),
      ("80300011", .payloadRefused(reason: "80300011")), ("80300013", .payloadRefused(reason: "80300013")),
      ("80100017", .retry(after: nil, reason: "80100017")), ("80600003", .retry(after: nil, reason: "80600003")),
      ("81000001", .retry(after: nil, reason: "81000001")),
      ("80200001", .credentialsRefused(reason: "80200001")), ("80200003", .credentialsRefused(reason: "80200003")),
      ("80200005", .credentialsRefused(reason: "80200005")), ("80300002", .credentialsRefused(reason: "80300002")),
      ("80300007", invalid),
    ] as [(String, Verdict)])
  func `Every code of Push Kit leads to its verdict, whatever the HTTP status`(code: String, verdict: Verdict)
    async throws
  {
    try await withAPNs { simulator, services in
      let account = services.huawei(simulator)
      for status in [200, 400, 500] {
        simulator.hms.rule(.any, .refuse(.code(code, status: status)))
        #expect(await account.verdicts(of: [("token-1", "Hi")]) == [verdict], "\(status)")
        simulator.hms.removeRules()
      }
    }
  }

  @Test(
    arguments: [
      (200, .uncertain(reason: "89999999", isAnswered: true), .uncertain(reason: "HTTP200", isAnswered: true)),
      (400, .payloadRefused(reason: "89999999"), .payloadRefused(reason: "HTTP400")),
      (401, .credentialsRefused(reason: "89999999"), .credentialsRefused(reason: "HTTP401")),
      (404, .credentialsRefused(reason: "89999999"), .credentialsRefused(reason: "HTTP404")),
      (429, .retry(after: .seconds(7), reason: "89999999"), .retry(after: .seconds(7), reason: "HTTP429")),
      (500, .retry(after: .seconds(7), reason: "89999999"), .retry(after: .seconds(7), reason: "HTTP500")),
      (502, .retry(after: .seconds(7), reason: "89999999"), .retry(after: .seconds(7), reason: "HTTP502")),
      (
        503, .retry(after: .seconds(7), reason: "89999999", appliesToService: true),
        .retry(after: .seconds(7), reason: "HTTP503", appliesToService: true)
      ),
    ] as [(Int, Verdict, Verdict)])
  func `A code that is unknown, or a body without one, goes by the HTTP status`(
    status: Int, withCode: Verdict, without: Verdict
  ) async throws {
    try await withAPNs { simulator, services in
      let account = services.huawei(simulator)
      var refusal = SimulatedHMS.Refusal.code("89999999", status: status)
      refusal.retryAfter = "7"
      simulator.hms.rule(.any, .refuse(refusal))
      #expect(await account.verdicts(of: [("token-1", "Hi")]) == [withCode])
      simulator.hms.removeRules()
      simulator.hms.rule(.any, .refuse(.init(status: status, body: "<html>", retryAfter: "7")))
      #expect(await account.verdicts(of: [("token-1", "Hi")]) == [without])
    }
  }

  @Test func `Every documented code has a row in these tests or is success in whole or part`() {
    let tested = [
      "80000000", "80100000", "80100001", "80100003", "80100004", "80100013", "80100016", "80100017", "80100018",
      "80200001", "80200003", "80200005", "80300002", "80300007", "80300008", "80300010", "80300011", "80300013",
      "80600003", "81000001",
    ]
    #expect(Set(HMSCode.allCases.map(\.rawValue)) == Set(tested))
  }

  @Test(arguments: HMSCode.allCases) func `Whoever has refused credentials, or is warned, is told what to do`(
    code: HMSCode
  ) throws {
    let services = try PushServices(PushServiceSettings(), logger: .init(label: "test"))
    let account = services.account(
      appID: "com.acme.app", of: CustomerID(1), credentials: .hms(.client(id: "1", secret: "s")))
    let warnings: [HMSCode] = [.noHighPriority, .badReceiptAddress, .signInUnavailable]
    let refusals: [HMSCode] = [.authenticationFailed, .accessTokenExpired, .signedTokenExpired, .noPermission]
    let advice = account.advice(on: code.rawValue)
    #expect((advice?.hasSuffix(".") == true) == (warnings + refusals).contains(code))
    let response = HMSResponse(status: 200, code: code.rawValue)
    let outcome = PushOutcome(
      index: 0, verdict: ResponseClassification(response, tokens: [[]]).verdict, sentAt: nil)
    let warning = account.warning(on: [PushOutcome(index: 1, verdict: .accepted, sentAt: nil), outcome])
    #expect(warning == (warnings.contains(code) ? "\(code.rawValue): \(advice ?? "")" : nil))
  }

  @Test func `After a partial failure what is not named was accepted, unless none was`() {
    let tokens = ["a", "b"].map(JSONText.quoted)
    for illegal in [nil, [], ["c"]] as [[String]?] {
      for (accepted, verdict) in [
        (nil, .accepted), (1, .accepted), (2, .accepted), (0, .payloadRefused(reason: "80100000")),
      ] as [(Int?, Verdict)] {
        let response = HMSResponse(status: 200, code: "80100000", illegalTokens: illegal, accepted: accepted)
        let classification = ResponseClassification(response, tokens: tokens)
        #expect(classification.verdict == verdict && classification.exceptions.isEmpty)
      }
    }
    let body = #"{"code":"80100000","msg":"{\"success\":1,\"failure\":0,\"illegal_tokens\":[]}","requestId":"1"}"#
    let response = HMSResponse(ServiceResponse(status: 200, body: Array(body.utf8)))
    #expect(response == HMSResponse(status: 200, code: "80100000", illegalTokens: [], accepted: 1))
  }

  @Test func `An answer without a code of Huawei's is an answer, so nothing is sent again`() {
    let response = HMSResponse(ServiceResponse(status: 200, body: Array("<html>".utf8)))
    #expect(
      ResponseClassification(response, tokens: []).verdict == .uncertain(reason: "HTTP200", isAnswered: true))
  }
}

extension PushServices {
  /// An app's account whose client the Simulator knows.
  func huawei(_ simulator: PushSimulator, secret: String = "acme-secret") -> any PushAccount {
    simulator.hms.register(clientID: "104567891", secret: "acme-secret", name: "Acme")
    return account(
      appID: "com.acme.app", of: CustomerID(1), credentials: .hms(.client(id: "104567891", secret: secret)))
  }
}

extension PushAccount {
  /// Sends each text to its token, and returns the verdicts in their order.
  fileprivate func verdicts(of pushes: [(token: String, text: String)]) async -> [Verdict?] {
    let requests = pushes.compactMap { push -> PushRequest? in
      let message = RenderedMessage(alert: JSONText.quoted(push.text))
      let outgoing = OutgoingPush(token: push.token, id: UUID(), collapseKey: "s17", message: message)
      if case .request(let request) = prepare(outgoing) { return request }
      return nil
    }
    return await send(requests, to: .production, while: { true }).verdicts(of: pushes.count)
  }
}

private func JSONTextOf(_ object: [String: String]) -> [UInt8] { Array((try? JSONEncoder().encode(object)) ?? Data()) }
