import Delivery
import Foundation
import Logging
import Postgres
import Providers
import Registry
import Sendouts
import Simulator
import Support
import Testing
import Web
import Wire

/// A hub over a bench, whose customer has a softphone for Android, `valid.appid`, and one for iOS with both of its AppIds.
struct SoftphoneGateway: Sendable {
  static let app = "com.acme.phone"
  static let calls = "com.acme.phone.voip"

  let bench: SendingBench
  let server: TestWebServer
  let key: String

  /// Sends with the key in the path.
  func send(
    _ path: String, _ json: String?, headers: [(String, String)] = [], sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> TestReply {
    try await server.send("POST", "/k/\(key)/pnm2\(path)", headers: headers, json: json)
  }

  /// A push of these attributes beside the usual ones.
  func push(_ verb: String, to app: String = app, token: String? = nil, _ more: String = "") -> String {
    """
    {"verb":"\(verb)","AppId":"\(app)","DeviceToken":"\(token ?? Self.token(1))","Selector":"acc1"\(more.isEmpty ? "" : ",")\(more)}
    """
  }

  /// A token of APNs, in base64.
  static func token(_ number: UInt8) -> String { Data([UInt8](repeating: number, count: 32)).base64EncodedString() }

  /// What the phone of that token got last, in APNs' form.
  func payload(sourceLocation: SourceLocation = #_sourceLocation) throws -> JSONValue {
    try JSONValue(json: try #require(bench.simulator.apns.requests.last, sourceLocation: sourceLocation).payload)
  }

  /// The data that an Android phone got last.
  func data(sourceLocation: SourceLocation = #_sourceLocation) throws -> JSONValue {
    let message = try #require(bench.simulator.fcm.requests.last, sourceLocation: sourceLocation).message
    #expect(message["notification"] == nil, sourceLocation: sourceLocation)
    return try #require(message["data"], sourceLocation: sourceLocation)
  }
}

func withSoftphoneGateway(
  verdictTimeout: Duration = .seconds(250), settings: SoftphoneSettings = SoftphoneSettings(),
  server: WebServerSettings = WebServerSettings(), logger: Logger = TestServer.logger,
  _ body: @escaping @Sendable (SoftphoneGateway) async throws -> Void
) async throws {
  try await withSendingBench { bench in
    let apps = PushApps(bench.pool, vault: bench.vault)
    let account = PushServiceFields([.serviceAccount: Secret(try bench.simulator.issueServiceAccount())])
    _ = try await apps.add(
      bench.customer,
      NewPushApp(appID: "valid.appid", type: .firebase, kind: .softphone, name: "Phone", service: account))
    let apple = APNsCredentials.sample
    for (appID, kind) in [(SoftphoneGateway.app, PushAppKind.softphone), (SoftphoneGateway.calls, .pushkit)] {
      _ = try await apps.add(
        bench.customer,
        NewPushApp(
          appID: appID, type: .ios, kind: kind, name: "Phone",
          service: apple.fields))
    }
    let dispatcher = bench.dispatcher()
    let messages = MessageDispatcher(dispatcher)
    var whole = WholeWebServer(bench)
    (whole.messages, whole.softphone, whole.verdictTimeout, whole.logger) = (messages, settings, verdictTimeout, logger)
    let key = try await AccessKeys(bench.pool).make(bench.customer, name: "PBX", scope: .send).token
    let runner = SendoutRunner(
      bench.pool, dispatcher: dispatcher, vault: bench.vault, settings: TestHub().runner, logger: TestServer.logger)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await runner.run() }
      defer { group.cancelAll() }
      try await withTestWebServer(try whole.routes, settings: server, logger: logger) { server in
        try await body(SoftphoneGateway(bench: bench, server: server, key: key))
      }
    }
    await messages.end(sendsRest: true)
  }
}
