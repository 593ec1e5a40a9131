import Hummingbird

/// A simulated service whose rules can be given as JSON.
protocol SteerableService: SimulatedService {
  associatedtype Match: RulePart & CountedMatch
  associatedtype Refusal: RulePart

  /// The value of `service` in rules and orders.
  static var serviceName: String { get }

  /// The rules in force, by number.
  var rules: [ReplyRules<Match, Refusal>.Entry] { get }

  @discardableResult
  func rule(_ match: Match, _ reply: SimulatedReply<Refusal>, times: Int?) -> Int

  func removeRules()
}

extension SteerableService {
  var ruleBodies: [RuleBody] { rules.map { RuleBody($0, service: Self.serviceName) } }

  /// - Returns: the rule's number.
  /// - Throws: `HTTPError` 400 that names a member which is wrong, or which this service does not have.
  func add(_ body: RuleBody) throws -> Int {
    let (match, reply) = (try Match(body), try body.reply(of: Refusal.self))
    let understood = RuleBody(
      ReplyRules<Match, Refusal>.Entry(number: 0, match: match, reply: reply, times: body.times),
      service: Self.serviceName)
    if let member = body.member(missingIn: understood) {
      throw HTTPError(
        .badRequest,
        message:
          "The member \(member) has no meaning for \(Self.serviceName) with the reply \(body.reply). Leave it out.")
    }
    return rule(match, reply, times: body.times)
  }
}

/// What a rule in JSON says of its requests, or of their refusal.
protocol RulePart: Sendable, Hashable {
  /// - Throws: `HTTPError` 400 that names the member which is wrong.
  init(_ rule: RuleBody) throws

  /// Enters what `init` reads.
  func describe(in rule: inout RuleBody)
}

// MARK: - Services that tell devices apart by nothing but the prefix of their token

protocol PrefixMatch: RulePart, CountedMatch {
  var prefix: String { get }
  init(prefix: String, nth: Int?)
}

extension PrefixMatch {
  init(_ rule: RuleBody) { self.init(prefix: rule.tokenPrefix ?? "", nth: rule.nth) }

  func describe(in rule: inout RuleBody) { rule.tokenPrefix = prefix.isEmpty ? nil : prefix }
}

// MARK: - Services that have only some refusals

protocol ListedRefusal: RulePart {
  /// All that a rule in JSON can name. No two have the same status and reason.
  static var listed: [Self] { get }
  var status: Int { get }
  /// The service's word or number for it; empty if it has none.
  var reason: String { get }
  /// When to send again: seconds, or an HTTP date.
  var retryAfter: String? { get set }
}

extension ListedRefusal {
  /// The one refusal that has the rule's status and reason. One of the two is enough if it names a single one.
  init(_ rule: RuleBody) throws {
    let named = Self.listed.filter { refusal in
      rule.status.map { $0 == refusal.status } ?? true && rule.reason.map { $0 == refusal.reason } ?? true
    }
    guard named.count == 1 else {
      let all = Self.listed.map { $0.reason.isEmpty ? "\($0.status)" : "\($0.status) \($0.reason)" }
      let found = named.isEmpty ? "no refusal" : "several refusals"
      throw HTTPError(
        .badRequest,
        message: "The members status and reason name \(found) of this service. "
          + "Give those of one: \(all.joined(separator: ", ")).")
    }
    self = named[0]
    if let retryAfter = rule.retryAfter { self.retryAfter = retryAfter }
  }

  func describe(in rule: inout RuleBody) {
    rule.status = status
    rule.reason = reason.isEmpty ? nil : reason
    rule.retryAfter = retryAfter
  }
}
