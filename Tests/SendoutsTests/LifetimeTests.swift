import Delivery
import Foundation
import Registry
import Sendouts
import Simulator
import Support
import Testing
import Wire

/// How long push services are told to keep a push: what is left of its ttl by the database's clock, and no more than was asked for.
@Suite struct LifetimeTests {
  /// A push service, a device's token there, and the lifetimes that its simulation was told.
  enum Service: CaseIterable, Sendable {
    case apns, fcm, hms, wns, webPush

    var type: AppType {
      switch self {
      case .apns: .ios
      case .fcm: .firebase
      case .hms: .huawei
      case .wns: .windows
      case .webPush: .web
      }
    }

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

    func token(_ app: PushApp, _ simulator: PushSimulator) -> String {
      switch self {
      case .apns: String(repeating: "a1", count: 32)
      case .fcm: "android-1:APA91b"
      case .hms: "huawei-1"
      case .wns: simulator.channel("windows-1")
      case .webPush: simulator.webPush.subscription(named: "browser-1", vapidKey: app.vapidPublicKey ?? "").json
      }
    }

    /// In seconds; of APNs, which is told a moment, what was left when the request came.
    func lifetimes(_ simulator: PushSimulator) -> [Int?] {
      switch self {
      case .apns:
        simulator.apns.requests.map { request in
          request.header("apns-expiration").flatMap(Int.init).map { $0 - Int(request.at.timeIntervalSince1970) }
        }
      case .fcm: simulator.fcm.requests.map { Self.seconds($0.message["android"]?.string("ttl")) }
      case .hms: simulator.hms.requests.map { Self.seconds($0.message["android"]?.string("ttl")) }
      case .wns: simulator.wns.requests.map { $0.header("x-wns-ttl").flatMap(Int.init) }
      case .webPush: simulator.webPush.requests.map { $0.header("ttl").flatMap(Int.init) }
      }
    }

    private static func seconds(_ text: String?) -> Int? { text.flatMap { Int($0.dropLast()) } }
  }

  @Test(arguments: Service.allCases, [600.0, -600])
  func `A hub whose clock is wrong tells what is left by the database's clock`(
    service: Service, lead: Double
  ) async throws {
    try await withSendingBench { bench in
      let app = try await service.app(bench)
      var body = PushDevicesBody()
      body.originalId = "user@example.com"
      var device = PushDevicesBody.DeviceInfo()
      device.deviceToken = service.token(app, bench.simulator)
      device.appType = service.type
      body.deviceInfo = [device]
      try await RegistrationBatcher(bench.pool, endpoints: EndpointRules(bench.simulator)).register(
        bench.customer, try Registration(body, apps: [app]), returnsContact: false)
      try await bench.withHubs(1, { $0.now = { Date(timeIntervalSinceNow: lead) } }) {
        let reply = try await bench.sendouts.create(
          bench.customer,
          SendoutRequest(
            name: "Offer", appId: SendingBench.appID, audience: .all, message: MessageBody(alert: "x", ttl: 3600),
            start: true))
        try await bench.until(SendoutKey(bench.customer, reply.sendoutId), .finished)
      }
      let lifetimes = service.lifetimes(bench.simulator)
      // A slow machine takes its time.
      #expect(lifetimes.count == 1 && (3300...3600).contains(lifetimes[0] ?? 0), "\(lifetimes)")
    }
  }
}
