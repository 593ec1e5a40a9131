package import Wire

/// What a sendout's pushes obey when they are claimed: quiet hours, caps, lateness and rate. The sendout's row has it from the freeze
/// on, so that a change of settings meanwhile does not split a sendout in two.
public struct SendRules: Sendable, Hashable, Codable {
  /// Of the sendout's messages, for which contacts are counted.
  package var purpose: MessagePurpose
  package var quietHours: QuietHours?
  /// Those that concern the purpose.
  package var caps: [Cap]
  /// Whether caps leave nobody out. Contacts are counted all the same.
  package var ignoresCaps: Bool
  /// How late a planned push may leave, in seconds.
  package var lateSeconds: Int
  package var ratePerSecond: Int?
  /// For how long the message is of use after its moment, in seconds; `nil` for ever.
  package var ttl: Int?

  /// - Parameters:
  ///   - quietHours: of the sendout, else of the customer. They concern marketing alone.
  ///   - caps: of the customer.
  package init(
    purpose: MessagePurpose, quietHours: QuietHours?, caps: [Cap], ignoresCaps: Bool = false,
    lateMinutes: Int = CampaignFields.usualLateMinutes, ratePerSecond: Int? = nil, ttl: Int? = nil
  ) {
    self.purpose = purpose
    self.quietHours = purpose == .marketing ? quietHours : nil
    self.caps = caps.filter { $0.concerns(purpose) }
    self.ignoresCaps = ignoresCaps
    lateSeconds = 60 * lateMinutes
    self.ratePerSecond = ratePerSecond
    self.ttl = ttl.flatMap { $0 > 0 ? $0 : nil }
  }

  /// The rules of a campaign.
  /// - Parameter ttl: of its message.
  package init(
    purpose: MessagePurpose, customerQuietHours: QuietHours?, caps: [Cap], _ campaign: CampaignFields, ttl: Int? = nil
  ) {
    let own = campaign.quietHours
    self.init(
      purpose: purpose, quietHours: own == nil ? customerQuietHours : own?.hours, caps: caps,
      ignoresCaps: campaign.ignoreCaps ?? false, lateMinutes: campaign.lateMinutes ?? CampaignFields.usualLateMinutes,
      ratePerSecond: campaign.ratePerSecond, ttl: ttl)
  }

  /// Whether a message with these rules needs neither a zone nor a count.
  package var limitsNothing: Bool { quietHours == nil && caps.isEmpty }

  /// How many moments of a contact are kept: what the largest rule looks at, and a few of sendouts that go at the same time.
  package var keptMoments: Int { (caps.map(\.count).max() ?? 0) + 8 }
}

/// How caps are decided and what they reserve, in SQL over a row of `reach`.
enum CapSQL {
  /// Rules as parameters: counts, hours and purposes, in which "" stands for all.
  struct Parameters {
    let counts: [Int32]
    let hours: [Int32]
    let purposes: [String]
    let names: [String]

    init(_ caps: [Cap]) {
      counts = caps.map { Int32($0.count) }
      hours = caps.map { Int32($0.per.hours) }
      purposes = caps.map { $0.purpose?.rawValue ?? "" }
      names = caps.map(\.name)
    }
  }

  /// SQL of arrays with a line for each rule, as `Parameters` has them.
  struct Rules {
    let counts: String
    let hours: String
    let purposes: String

    /// SQL of whether one more push at the moment `now` would break the rule of this number.
    fileprivate func isBroken(_ place: Int, row: String, now: String) -> String {
      """
      coalesce((CASE WHEN (\(purposes))[\(place)] = '' THEN \(row).every
                     WHEN (\(purposes))[\(place)] = '\(MessagePurpose.marketing.rawValue)' THEN \(row).marketing
                     ELSE \(row).transactional END)[(\(counts))[\(place)]] > \(now) - 3600000 * (\(hours))[\(place)]::bigint, false)
      """
    }
  }

  /// SQL of the present moment as `reach` has moments.
  static let now = "(extract(epoch FROM now()) * 1000)::bigint"

  /// SQL of the number, from 1 on, of the first rule that one more push would break; NULL for none.
  /// - Parameter row: the alias of a row of `reach`, or of one that is NULL.
  static func brokenRule(row: String, _ rules: Rules) -> String {
    let cases = (1...Cap.maximumCount).map { "WHEN \(rules.isBroken($0, row: row, now: now)) THEN \($0)" }
    return "(CASE \(cases.joined(separator: "\n")) END)"
  }

  /// SQL of a statement that counts contacts once more, unless they were counted for this sendout or message already. Returns the contacts
  /// that are in, so the others are capped.
  ///
  /// Locks the rows in the order of the contacts. Whoever comes second decides by what the first has committed.
  /// - Parameters:
  ///   - contacts: SQL of a query with the columns `contact_id` and `ref`, each contact once and in their order.
  ///   - purpose: SQL of the purpose.
  ///   - kept: SQL of how many moments are kept.
  ///   - ignores: SQL of whether nobody is left out.
  static func reserve(
    _ contacts: String, purpose: String, kept: String, ignores: String, _ rules: Rules
  ) -> String {
    // Whatever is new comes by way of `excluded`: Citus takes neither moments nor subqueries in DO UPDATE.
    func added(_ column: String) -> String {
      """
      \(column) = CASE WHEN excluded.refs[1] = ANY (r.refs) THEN r.\(column)
                    ELSE (excluded.\(column) || r.\(column))[:\(kept)] END
      """
    }
    let marketing = "\(purpose) = '\(MessagePurpose.marketing.rawValue)'"
    let broken = (1...Cap.maximumCount).map { rules.isBroken($0, row: "r", now: "excluded.every[1]") }
    return """
      INSERT INTO reach AS r (customer_id, contact_id, marketing, transactional, every, refs, changed_at)
      SELECT $1::bigint, contact_id, CASE WHEN \(marketing) THEN ARRAY[moment] ELSE '{}' END,
             CASE WHEN \(marketing) THEN '{}' ELSE ARRAY[moment] END, ARRAY[moment], ARRAY[ref], now()
        FROM (SELECT asked.*, \(now) AS moment FROM (\(contacts)) AS asked) AS asked
      ON CONFLICT (customer_id, contact_id) DO UPDATE
         SET \(added("marketing")),
             \(added("transactional")),
             \(added("every")),
             \(added("refs")), changed_at = excluded.changed_at
       WHERE \(ignores) OR excluded.refs[1] = ANY (r.refs)
          OR NOT (\(broken.joined(separator: "\nOR ")))
      RETURNING contact_id
      """
  }
}
