import Foundation
import Registry
import Simulator
import Support
import Wire

/// A push service as tests of sendouts to any of them use it.
enum SendoutService: CaseIterable, Sendable {
  case apns, fcm, hms, wns, webPush

  /// Those to which apps sign in for access tokens.
  static let withAccessTokens = allCases.filter(\.type.service.name.takesAccessTokens)

  var type: AppType {
    switch self {
    case .apns: .ios
    case .fcm: .firebase
    case .hms: .huawei
    case .wns: .windows
    case .webPush: .web
    }
  }

  /// An app whose account the Simulator knows.
  func app(_ bench: SendingBench) async throws -> PushApp {
    let fields: PushServiceFields
    switch self {
    case .apns: return bench.app
    case .fcm:
      fields = PushServiceFields([.serviceAccount: Secret(try bench.simulator.issueServiceAccount())])
    case .hms:
      bench.simulator.hms.register(clientID: "104567891", secret: "acme-secret")
      fields = PushServiceFields([.clientID: Secret("104567891"), .clientSecret: Secret("acme-secret")])
    case .wns:
      bench.simulator.wns.register(packageSID: "ms-app://s-1-15-2-7", secret: "acme-secret")
      fields = PushServiceFields([.clientSecret: Secret("acme-secret"), .packageSID: Secret("ms-app://s-1-15-2-7")])
    case .webPush: fields = PushServiceFields()
    }
    return try await PushApps(bench.pool, vault: bench.vault).add(
      bench.customer, NewPushApp(appID: SendingBench.appID, type: type, name: "Acme", service: fields))
  }

  /// Such an app, and a device of each of these contacts.
  /// - Parameters:
  ///   - endpoints: where devices may be; the Simulator's hosts if nil.
  ///   - token: other tokens than the usual ones.
  func addApp(
    _ bench: SendingBench, contacts: Int, endpoints: EndpointRules? = nil, token: ((Int) -> String)? = nil
  ) async throws -> PushApp {
    let app = try await app(bench)
    let registrations = RegistrationBatcher(
      bench.pool, limits: .patient, endpoints: endpoints ?? EndpointRules(bench.simulator))
    for number in 1...contacts {
      let body = PushDevicesBody(
        "user\(number)@example.com", firstName: "N\(number)",
        token: token?(number) ?? self.token(number, app, bench.simulator), type: type)
      try await registrations.register(bench.customer, try Registration(body, apps: [app]), returnsContact: false)
    }
    return app
  }

  /// A device's token.
  func token(_ number: Int, _ app: PushApp, _ simulator: PushSimulator) -> String {
    switch self {
    case .apns: String(repeating: "a\(number % 10)", count: 32)
    case .fcm: "android-\(number):APA91b"
    case .hms: "huawei-\(number)"
    case .wns: simulator.channel("windows-\(number)")
    case .webPush: simulator.webPush.subscription(named: "browser-\(number)", vapidKey: app.vapidPublicKey ?? "").json
    }
  }

  /// The service's answers to the first three devices: the first is gone, the second is put off once, the third's push is refused.
  /// - Returns: the reasons.
  func answer(_ simulator: PushSimulator) -> (gone: String, putOff: String, refused: String) {
    switch self {
    case .apns, .webPush: return ("", "", "")
    case .fcm:
      simulator.fcm.unregister(token: "android-1:APA91b")
      simulator.fcm.rule(.prefix("android-2:"), .refuse(.unavailable()), times: 1)
      simulator.fcm.rule(
        .prefix("android-3:"), .refuse(.fcm(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", "The message is invalid")))
      return ("UNREGISTERED", "UNAVAILABLE", "INVALID_ARGUMENT")
    case .hms:
      simulator.hms.unregister(token: "huawei-1")
      simulator.hms.rule(.prefix("huawei-2"), .refuse(.code("81000001")), times: 1)
      simulator.hms.rule(.prefix("huawei-3"), .refuse(.code("80100016")))
      return ("80300007", "81000001", "80100016")
    case .wns:
      simulator.wns.expire(channel: "windows-1")
      simulator.wns.rule(.prefix("windows-2"), .refuse(.taken("channelthrottled")), times: 1)
      simulator.wns.rule(.prefix("windows-3"), .refuse(.taken("dropped")))
      return ("HTTP410", "channelthrottled", "dropped")
    }
  }

  /// A push as it arrived: what is shown, and the fields for the app.
  struct Arrived {
    var shown: String?
    var fields: JSONValue
  }

  /// What arrived, by device.
  func arrived(_ simulator: PushSimulator) throws -> [String: Arrived] {
    func fields(_ text: String?) throws -> JSONValue { try JSONValue(parsing: Array((text ?? "null").utf8)) }
    var arrived: [String: Arrived] = [:]
    switch self {
    case .apns, .webPush: break
    case .fcm:
      for request in simulator.fcm.requests {
        let shown = request.message["notification"]?.string("body")
        arrived[request.token] = Arrived(shown: shown, fields: request.message["data"] ?? .null)
      }
    case .hms:
      for request in simulator.hms.requests {
        let shown = request.message["android"]?["notification"]?.string("body")
        let data = try fields(request.message.string("data"))
        for token in request.tokens { arrived[token] = Arrived(shown: shown, fields: data) }
      }
    case .wns:
      for request in simulator.wns.requests {
        let launch = try fields(request.attribute("launch"))
        arrived[request.channel] = Arrived(shown: request.texts.first, fields: launch)
      }
    }
    return arrived
  }

  /// How often apps signed in.
  func signIns(_ simulator: PushSimulator) -> Int { simulator.signIns(type.service.name) }

  /// How long the service was told to keep pushes, in seconds; of APNs, which is told a moment, what was left when the request came.
  func lifetimes(_ simulator: PushSimulator) -> [Int?] {
    func seconds(_ text: String?) -> Int? { text.flatMap { Int($0.dropLast()) } }
    return switch self {
    case .apns:
      simulator.apns.requests.map { request in
        request.header("apns-expiration").flatMap(Int.init).map { $0 - Int(request.at.timeIntervalSince1970) }
      }
    case .fcm: simulator.fcm.requests.map { seconds($0.message["android"]?.string("ttl")) }
    case .hms: simulator.hms.requests.map { seconds($0.message["android"]?.string("ttl")) }
    case .wns: simulator.wns.requests.map { $0.header("x-wns-ttl").flatMap(Int.init) }
    case .webPush: simulator.webPush.requests.map { $0.header("ttl").flatMap(Int.init) }
    }
  }
}
