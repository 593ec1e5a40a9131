import Wire

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
  /// - Parameter row: the alias of a row of `reach`, or of one whose columns are NULL.
  static func brokenRule(row: String, _ rules: Rules) -> String {
    let cases = (1...Cap.maximumCount).map { place in
      "WHEN cardinality(\(rules.counts)) < \(place) THEN NULL WHEN \(rules.isBroken(place, row: row, now: now)) THEN \(place)"
    }
    return "(CASE \(cases.joined(separator: "\n")) END)"
  }

  /// SQL of the number of the rule that has left out a contact whom `reserve` does not return, and has locked. The lock, which the statement has
  /// already, shows what others have committed since it began. Of a contact who had no row then it sees nothing; the rule with the least count
  /// stands for whatever others have broken at that moment.
  static func rule(contact: String, _ rules: Rules) -> String {
    """
    coalesce((SELECT \(brokenRule(row: "r", rules))
                FROM (SELECT marketing, transactional, every FROM reach
                       WHERE reach.customer_id = $1::bigint AND reach.contact_id = \(contact)
                       LIMIT 1 FOR NO KEY UPDATE) AS r),
             (SELECT place::int4 FROM unnest(\(rules.counts)) WITH ORDINALITY AS rule (count, place) ORDER BY count, place LIMIT 1))
    """
  }

  /// SQL of the reason for that.
  static func reason(rule: String, names: String) -> String {
    "'\(HubReason.capped.rawValue) ' || (\(names))[\(rule)]"
  }

  /// SQL of a statement that counts by day what the rules let through and left out.
  /// - Parameters:
  ///   - names: SQL of the array of the rules' names.
  ///   - counted: SQL of how many contacts were counted.
  ///   - capped: SQL of a query with the columns `reason`, as `reason` makes it, and `contacts`.
  ///   - seed: SQL of a number. Statements with different ones seldom wait for each other.
  static func count(names: String, counted: String, capped: String, seed: String) -> String {
    """
    INSERT INTO cap_day AS known (customer_id, rule, day, slot, contacts, capped)
    SELECT $1::bigint, rule.name, (now() AT TIME ZONE 'UTC')::date, ((\(seed)) % 8)::int2, counted.contacts, coalesce(left_out.contacts, 0)
      FROM unnest(\(names)) AS rule (name)
     CROSS JOIN (SELECT \(counted) AS contacts) AS counted
      LEFT JOIN (\(capped)) AS left_out ON left_out.reason = '\(HubReason.capped.rawValue) ' || rule.name
     WHERE counted.contacts > 0 OR left_out.contacts > 0
     ORDER BY rule.name
    ON CONFLICT (customer_id, rule, day, slot)
      DO UPDATE SET contacts = known.contacts + excluded.contacts, capped = known.capped + excluded.capped
    """
  }

  /// SQL of how many contacts `reserve` has counted, from what it returns as `reached`.
  static let counted = "(SELECT count(*) FROM reached WHERE moment = \(now))"

  /// SQL of a statement that counts contacts once more, unless they were counted for this sendout or message already. Returns the contacts
  /// that are in, so the others are capped, and the moment of their last count.
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
    // Whatever is new comes by way of `excluded`: Citus takes neither moments nor subqueries in DO UPDATE. What is rarely so is asked last.
    let isCounted = "excluded.refs[1] = ANY (r.refs)"
    func added(_ column: String) -> String {
      let all = "excluded.\(column) || r.\(column)"
      return """
        \(column) = CASE WHEN cardinality(excluded.\(column)) = 0 OR \(isCounted) THEN r.\(column)
                      WHEN cardinality(r.\(column)) < \(kept) THEN \(all) ELSE (\(all))[:\(kept)] END
        """
    }
    let marketing = "\(purpose) = '\(MessagePurpose.marketing.rawValue)'"
    let broken = (1...Cap.maximumCount).reversed().reduce("false") { rest, place in
      """
      cardinality(\(rules.counts)) >= \(place) AND (\(rules.isBroken(place, row: "r", now: "excluded.every[1]"))
        OR \(rest))
      """
    }
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
       WHERE \(ignores) OR NOT (\(broken)) OR \(isCounted)
      RETURNING contact_id, r.every[1] AS moment
      """
  }
}
