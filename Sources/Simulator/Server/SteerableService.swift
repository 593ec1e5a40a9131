import FoundationEssentials
import Hummingbird
import Wire

/// A simulated service as the Simulator starts it, steers it by JSON, and shows what phones get.
protocol SteerableService: SimulatedService where Refusal: RuleRefusal {
  static var service: PushServiceName { get }
  /// Where it listens.
  static var ports: [SimulatedPort] { get }
  /// What its pushes are shown on.
  static var phone: PhoneKind { get }
  /// The tokens that select a reply; `.none` for none.
  static var testTokens: TestTokens<Refusal> { get }
  /// What tells its requests apart for a rule in JSON, besides `tokenPrefix` and `nth`.
  static var matchMembers: Set<RuleBody.CodingKeys> { get }
  /// Who may sign in, as `pushcart simulator` takes it; empty for a service that knows no accounts.
  static var trustOptions: [TrustOption] { get }

  init(_ context: SimulatorContext) throws

  /// Listens on one of its ports.
  func listen(on port: SimulatedPort, _ host: ListeningHost) async throws -> ServiceListener
  /// It listens, and the addresses are known.
  func started(_ simulator: PushSimulator)
  /// It listens no more.
  func stopped()
  /// What points a hub here.
  func settings(_ simulator: PushSimulator) -> [(setting: ServiceSetting, value: String)]
  /// The app of a private hub that it knows; nil if it has none.
  func sample(_ simulator: PushSimulator, keep: KeptFile) throws -> SampleApp?
}

extension SteerableService {
  /// The value of `service` in rules and orders.
  static var serviceName: String { service.rawValue }
  static var matchMembers: Set<RuleBody.CodingKeys> { [] }
  func started(_ simulator: PushSimulator) {}
  func stopped() {}

  /// As the phone page shows them.
  static var testTokenTable: (introduction: String, rows: [(prefix: String, meaning: String)]) {
    (testTokens.introduction, testTokens.table.map { ($0.prefix, $0.meaning) })
  }

  static func traffic(_ context: SimulatorContext) -> ServiceTraffic<Details, Refusal> {
    ServiceTraffic(context, of: service, ignoresCase: phone.ignoresCase)
  }

  /// The reply that a test token or a rule selects; nil if neither does.
  /// - Parameter token: what begins with a test token or a rule's prefix.
  func selectedReply(
    to token: String, environment: SimulatedAPNs.Environment? = nil, project: String? = nil, now: Date
  ) -> Reply? {
    Self.testTokens.reply(to: token, now: now)
      ?? traffic.rules.reply(to: token, environment: environment, project: project)
  }
}

/// A simulated service that answers a request without regard to its connection.
protocol PlainService: SteerableService {
  /// Decides on a complete request, and logs it.
  func answer(_ incoming: IncomingRequest) -> SimulatedAnswer<Refusal>
}

extension PlainService {
  func listen(on port: SimulatedPort, _ host: ListeningHost) async throws -> ServiceListener {
    try await host.listen(on: port, self)
  }
}

// MARK: - Rules in JSON

extension SteerableService {
  /// Those for token requests come last, with numbers of their own.
  var ruleBodies: [RuleBody] {
    traffic.rules.entries.map { RuleBody($0, service: Self.serviceName) }
      + traffic.tokenEndpoint.rules.entries.map {
        RuleBody($0, service: Self.serviceName, for: RuleBody.tokenRequests)
      }
  }

  /// - Returns: the rule's number, among those for the same kind of requests.
  /// - Throws: `HTTPError` 400 that names a member which is wrong, or which this service does not have.
  func add(_ body: RuleBody) throws -> Int {
    if let requests = body.requests {
      guard requests == RuleBody.tokenRequests else {
        throw HTTPError(
          .badRequest,
          message:
            "There are no requests \(requests). Give \(RuleBody.tokenRequests), or leave the member requests out.")
      }
      guard self is any TokenIssuingService else {
        throw HTTPError(
          .badRequest, message: "\(Self.serviceName) issues no access tokens. Leave the member requests out.")
      }
    }
    let match = RequestMatch(body, members: body.requests == nil ? Self.matchMembers : [])
    let reply = try body.reply(of: Refusal.self)
    let understood = RuleBody(
      ReplyRules<Refusal>.Entry(number: 0, match: match, reply: reply, times: body.times),
      service: Self.serviceName, for: body.requests)
    if let member = body.member(missingIn: understood) {
      throw HTTPError(
        .badRequest,
        message:
          "The member \(member) has no meaning for \(Self.serviceName) with the reply \(body.reply). Leave it out.")
    }
    let rules = body.requests == nil ? traffic.rules : traffic.tokenEndpoint.rules
    return rules.add(match, reply, times: body.times)
  }
}

extension RequestMatch {
  /// - Parameter members: those that only some services have.
  init(_ rule: RuleBody, members: Set<RuleBody.CodingKeys>) {
    self.init(
      prefix: (rule.requests == nil ? rule.tokenPrefix : rule.clientPrefix) ?? "",
      environment: members.contains(.environment) ? rule.environment : nil,
      project: members.contains(.project) ? rule.project : nil, nth: rule.nth)
  }

  /// Enters what `init` reads.
  func describe(in rule: inout RuleBody) {
    (rule.environment, rule.project, rule.nth) = (environment, project, nth)
    guard !prefix.isEmpty else { return }
    if rule.requests == nil { rule.tokenPrefix = prefix } else { rule.clientPrefix = prefix }
  }
}

/// A refusal that a rule in JSON can name.
protocol RuleRefusal: Sendable, Hashable {
  /// - Throws: `HTTPError` 400 that names the member which is wrong.
  init(_ rule: RuleBody) throws

  /// Enters what `init` reads.
  func describe(in rule: inout RuleBody)
}
