import Hummingbird
import Wire

/// A simulated service whose replies to requests that pass all checks are decided by rules.
public protocol RuledService: SimulatedService {
  associatedtype Match: CountedMatch
  associatedtype Refusal: Sendable & Hashable

  /// Rules for requests, but not for those for access tokens.
  var rules: ReplyRules<Match, Refusal> { get }

  /// Rules for requests for access tokens; nil if the service issues none.
  var tokenRules: ReplyRules<PrefixMatch, Refusal>? { get }
}

extension RuledService {
  /// How a request is answered.
  public typealias Reply = SimulatedReply<Refusal>
  typealias Rules = ReplyRules<Match, Refusal>

  public var tokenRules: ReplyRules<PrefixMatch, Refusal>? { nil }

  /// Adds a rule. The first that matches decides.
  /// - Parameter times: how often it applies; nil for always.
  /// - Returns: the rule's number.
  @discardableResult
  public func rule(_ match: Match = .any, _ reply: Reply, times: Int? = nil) -> Int {
    rules.add(match, reply, times: times)
  }

  /// Removes all rules, those for token requests too.
  public func removeRules() {
    rules.removeAll()
    tokenRules?.removeAll()
  }
}

// MARK: - Rules in JSON

/// A simulated service as the Simulator starts it, steers it by JSON, and shows what phones get.
protocol SteerableService: RuledService where Match: RulePart, Refusal: RulePart {
  static var service: PushServiceName { get }
  /// Where it listens.
  static var ports: [SimulatedPort] { get }
  /// What its pushes are shown on.
  static var phone: PhoneKind { get }
  /// The tokens that select a reply, and how the phone page introduces them; nil if there are none.
  static var testTokenTable: TestTokenTable? { get }
  /// Who may sign in, as `pushcart simulator` takes it.
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
  /// - Parameter keep: the text of a file, which is made at the first start.
  func sample(
    _ simulator: PushSimulator, keep: (_ file: String, _ make: () throws -> String) throws -> String
  ) throws -> SampleApp?
}

extension SteerableService {
  /// The value of `service` in rules and orders.
  static var serviceName: String { service.rawValue }
  static var testTokenTable: TestTokenTable? { nil }
  static var trustOptions: [TrustOption] { [] }
  func started(_ simulator: PushSimulator) {}
  func stopped() {}
  func sample(
    _ simulator: PushSimulator, keep: (_ file: String, _ make: () throws -> String) throws -> String
  ) throws -> SampleApp? { nil }

  /// Those for token requests come last, with numbers of their own.
  var ruleBodies: [RuleBody] {
    rules.entries.map { RuleBody($0, service: Self.serviceName) }
      + (tokenRules?.entries ?? []).map { RuleBody($0, service: Self.serviceName, for: RuleBody.tokenRequests) }
  }

  /// - Returns: the rule's number, among those for the same kind of requests.
  /// - Throws: `HTTPError` 400 that names a member which is wrong, or which this service does not have.
  func add(_ body: RuleBody) throws -> Int {
    guard let requests = body.requests else { return try add(body, to: rules) }
    guard requests == RuleBody.tokenRequests else {
      throw HTTPError(
        .badRequest,
        message: "There are no requests \(requests). Give \(RuleBody.tokenRequests), or leave the member requests out.")
    }
    guard let tokenRules else {
      throw HTTPError(
        .badRequest, message: "\(Self.serviceName) issues no access tokens. Leave the member requests out.")
    }
    return try add(body, to: tokenRules)
  }

  private func add<Part: RulePart & CountedMatch>(_ body: RuleBody, to rules: ReplyRules<Part, Refusal>) throws -> Int {
    let (match, reply) = (try Part(body), try body.reply(of: Refusal.self))
    let understood = RuleBody(
      ReplyRules<Part, Refusal>.Entry(number: 0, match: match, reply: reply, times: body.times),
      service: Self.serviceName, for: body.requests)
    if let member = body.member(missingIn: understood) {
      throw HTTPError(
        .badRequest,
        message:
          "The member \(member) has no meaning for \(Self.serviceName) with the reply \(body.reply). Leave it out.")
    }
    return rules.add(match, reply, times: body.times)
  }
}

/// What a rule in JSON says of its requests, or of their refusal.
protocol RulePart: Sendable, Hashable {
  /// - Throws: `HTTPError` 400 that names the member which is wrong.
  init(_ rule: RuleBody) throws

  /// Enters what `init` reads.
  func describe(in rule: inout RuleBody)
}

extension PrefixMatch: RulePart {
  init(_ rule: RuleBody) {
    prefix = (rule.requests == nil ? rule.tokenPrefix : rule.clientPrefix) ?? ""
    nth = rule.nth
  }

  func describe(in rule: inout RuleBody) {
    guard !prefix.isEmpty else { return }
    if rule.requests == nil { rule.tokenPrefix = prefix } else { rule.clientPrefix = prefix }
  }
}

// MARK: - Services that have only some refusals

protocol ListedRefusal: RulePart {
  /// All that a rule in JSON can name: whatever the hub's tables tell apart. No two have the same status and reason.
  static var listed: [Self] { get }
  /// The same for token requests; empty for a service that issues no access tokens.
  static var listedForTokens: [Self] { get }
  var status: Int { get }
  /// The service's word or number for it; empty if it has none.
  var reason: String { get }
  /// When to send again: seconds, or an HTTP date.
  var retryAfter: String? { get set }
}

extension ListedRefusal {
  static var listedForTokens: [Self] { [] }

  /// The one refusal that has the rule's status and reason. One of the two is enough if it names a single one. An empty reason names the
  /// one that has none.
  init(_ rule: RuleBody) throws {
    let listed = Self.listed(for: rule)
    let named = listed.filter { refusal in
      rule.status.map { $0 == refusal.status } ?? true && rule.reason.map { $0 == refusal.reason } ?? true
    }
    guard named.count == 1 else {
      let all = listed.map { refusal in
        let reason = refusal.reason(among: listed)
        return "\(refusal.status)" + (reason.map { $0.isEmpty ? " \"\"" : " \($0)" } ?? "")
      }
      let found = named.isEmpty ? "no refusal" : "several refusals"
      throw HTTPError(
        .badRequest,
        message: "The members status and reason name \(found) of this service for such requests. "
          + "Give those of one: \(all.joined(separator: ", ")).")
    }
    self = named[0]
    if let retryAfter = rule.retryAfter { self.retryAfter = retryAfter.text }
  }

  func describe(in rule: inout RuleBody) {
    rule.status = status
    rule.reason = reason(among: Self.listed(for: rule))
    rule.retryAfter = retryAfter.map { HeaderText($0) }
  }

  private static func listed(for rule: RuleBody) -> [Self] { rule.requests == nil ? listed : listedForTokens }

  /// Nil where it has none, and its status names no other.
  private func reason(among listed: [Self]) -> String? {
    reason.isEmpty && listed.count { $0.status == status } < 2 ? nil : reason
  }
}
