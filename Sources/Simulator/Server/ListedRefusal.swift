import Hummingbird
import Wire

/// A refusal of a service that has only some.
protocol ListedRefusal: RuleRefusal {
  /// All that a rule in JSON can name: whatever the hub's tables tell apart. No two have the same status and reason.
  static var listed: [Self] { get }
  /// All that a rule for token requests can name; empty for a service that issues no access tokens.
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
