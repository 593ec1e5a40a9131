import Postgres
import Registry
import Wire

/// What a freeze and its preflight have in common: the SQL that decides about each contact of an audience.
struct PlannedAudienceSQL {
  /// The parameters' values follow from `append`. What the statement adds has numbers after these.
  enum Parameter: Int, CaseIterable, CustomStringConvertible {
    case customer = 1
    case apps, sendout, purpose, startAt, localTime, scheduledAt, onMissed, steps, stepMinutes, endAt, ttl
    case quietStart, quietEnd, quietPolicy, holdMinutes
    case capCounts, capHours, capPurposes, capNames, ignoresCaps
    case holdout, shareBounds
    case customerZone, countries, zones
    case innerPad, outerPad

    var description: String { "$\(rawValue)::\(type)" }

    private var type: String {
      switch self {
      case .customer, .sendout: "bigint"
      case .apps: "bigint[]"
      case .purpose, .onMissed, .quietPolicy, .customerZone: "text"
      case .startAt, .scheduledAt, .endAt: "timestamptz"
      case .localTime: "timestamp"
      case .steps, .stepMinutes, .holdMinutes, .holdout: "int4"
      case .ttl: "float8"
      case .quietStart, .quietEnd: "time"
      case .capCounts, .capHours, .shareBounds: "int4[]"
      case .capPurposes, .capNames, .countries, .zones: "text[]"
      case .ignoresCaps: "bool"
      case .innerPad, .outerPad: "bytea"
      }
    }
  }

  typealias StepName = PreflightReply.StepName

  let selection: ContactSelection
  /// Whether anything depends on the contact's time zone. Else none is looked up.
  let isZoned: Bool
  /// Whether each of these is met is noted of each contact, as a bit of `met`. Their literals are the first parameter that the statement adds.
  let conditions: [FilterSQL]
  /// The number of the first parameter that a statement adds.
  static let nextParameter = Parameter.allCases.count + ContactSelection.parameterCount + 1

  init(_ audience: SelectedAudience, excluded: FilterSQL?, isZoned: Bool, conditions: [FilterSQL] = []) {
    self.conditions = conditions
    selection = ContactSelection(audience, excluded: excluded, parameters: Parameter.allCases.count + 1)
    self.isZoned = isZoned
  }

  /// CTEs for behind `WITH`, each of which is read by others:
  ///
  /// - `person`: every contact of the audience;
  /// - `place`: their zones, with the sendout's moment there;
  /// - `cell`: what falls to the contacts of a zone who have the same place in the spread. Zones are reckoned with here, and not for each contact;
  /// - `moment`: when pushes are due;
  /// - `decided`: every contact once, with the first step that leaves it out as `verdict`, or NULL. Those due after the sendout's end are `expired`,
  ///   which is no step of its own (`StepName.init(reason:)`);
  /// - `tally`: how many contacts have been decided in the same way.
  var ctes: String {
    """
    given AS (SELECT \(Parameter.allCases.map(\.description).joined(separator: ", ")), \(selection.types)\(conditions.isEmpty ? "" : ", \(Self.literals)")),
    person AS MATERIALIZED (
      SELECT contact.contact_id, \(selection.isExcluded) AS is_excluded,
             \(isSuppressed(SuppressionSQL.scope(ofContact: "contact.original_id", key: key))) AS is_suppressed,
             EXISTS (SELECT FROM device
                      WHERE device.customer_id = $1::bigint AND device.contact_id = contact.contact_id
                        AND \(Self.isOfApps)) AS has_device,
             CASE WHEN \(Self.hasSuppressions)
                  THEN EXISTS (SELECT FROM device
                                WHERE device.customer_id = $1::bigint AND device.contact_id = contact.contact_id
                                  AND \(Self.isOfApps)
                                  AND NOT \(isSuppressed(SuppressionSQL.scope(ofDevice: "device", originalID: "contact.original_id", key: key))))
                  ELSE true END AS has_free_device,
             \(isZoned ? Self.told : "NULL::text") AS told,
             \(Parameter.holdout) > 0 AND \(ShareSQL.isAmong(percent: "\(Parameter.holdout)", .holdout, contact: Self.contact, sendout: Self.sendout)) AS is_held_out,
             CASE WHEN cardinality(\(Parameter.shareBounds)) > 0
                  THEN \(ShareSQL.variant(bounds: "\(Parameter.shareBounds)", contact: Self.contact, sendout: Self.sendout)) END AS variant,
             CASE WHEN \(Parameter.steps) > 1
                  THEN \(ShareSQL.place(.spread, contact: Self.contact, sendout: Self.sendout)) * \(Parameter.steps) / 10000 ELSE 0 END AS slot,
             CASE WHEN \(Parameter.holdMinutes) > 1
                  THEN \(ShareSQL.place(.hold, contact: Self.contact, sendout: Self.sendout)) % \(Parameter.holdMinutes) ELSE 0 END AS hold,
             CASE WHEN reach.contact_id IS NOT NULL AND NOT \(Parameter.ignoresCaps)
                   AND NOT coalesce(reach_ref(\(Parameter.sendout), NULL) = ANY (reach.refs), false)
                  THEN \(CapSQL.brokenRule(row: "reach", Self.rules)) END AS rule\(conditions.isEmpty ? "" : ", \(met) AS met")
        \(selection.from(Self.joinedReach))),
    place AS MATERIALIZED (
      SELECT place.*, \(moment) AS moment FROM (\(places)) AS place),
    quiet AS MATERIALIZED (
      SELECT at.*, quiet_end(at, zone, \(Parameter.quietStart), \(Parameter.quietEnd)) AS until
        FROM (SELECT place.told, place.zone, place.zone_no, slot, moment + make_interval(mins => slot * \(Parameter.stepMinutes)) AS at
                FROM place CROSS JOIN generate_series(0, \(Parameter.steps) - 1) AS slot) AS at),
    fate AS MATERIALIZED (
      SELECT quiet.*, hold, coalesce(until + make_interval(mins => hold), at) AS due_at,
             CASE WHEN at IS NULL THEN '\(StepName.missed.rawValue)'
                  WHEN at >= \(Parameter.endAt) THEN '\(HubReason.expired.rawValue)'
                  WHEN until IS NOT NULL
                       AND (\(Parameter.quietPolicy) = '\(QuietPolicy.skip.rawValue)' OR until >= \(Parameter.endAt)
                            OR at + make_interval(secs => \(Parameter.ttl)) <= until) THEN '\(StepName.quiet.rawValue)'
                  WHEN until + make_interval(mins => hold) >= \(Parameter.endAt) THEN '\(HubReason.expired.rawValue)' END AS verdict
        FROM quiet JOIN generate_series(0, \(Parameter.holdMinutes) - 1) AS hold ON hold = 0 OR until IS NOT NULL),
    moment AS MATERIALIZED (
      SELECT (row_number() OVER (ORDER BY due_at))::int4 AS moment_no, due_at, is_held, zones
        FROM (SELECT due_at, bool_or(until IS NOT NULL) AS is_held, array_agg(DISTINCT zone) AS zones
                FROM fate WHERE verdict IS NULL GROUP BY due_at) AS due),
    cell AS MATERIALIZED (
      SELECT fate.*, moment.moment_no FROM fate LEFT JOIN moment ON moment.due_at = fate.due_at AND fate.verdict IS NULL),
    -- By a filter the planner may expect a single contact, and would then compare each with every cell. It expects a thousand more of nobody.
    expected AS (
      SELECT * FROM person
      UNION ALL
      SELECT nobody.* FROM generate_series(1, (SELECT 0)) CROSS JOIN (SELECT * FROM person LIMIT 1) AS nobody),
    decided AS MATERIALIZED (
      SELECT contact_id, verdict, zone_no, moment_no, due_at, until IS NOT NULL AND verdict IS NULL AS is_held,
             CASE WHEN verdict IS NULL THEN variant END AS variant, CASE WHEN verdict = '\(StepName.capped.rawValue)' THEN rule END AS rule\(conditions.isEmpty ? "" : ", met")
        FROM (SELECT person.contact_id, person.variant, person.rule, \(conditions.isEmpty ? "" : "person.met, ") cell.zone_no, cell.moment_no, cell.due_at, cell.until,
                     CASE WHEN person.is_excluded THEN '\(StepName.excluded.rawValue)'
                          WHEN person.is_suppressed THEN '\(StepName.suppressed.rawValue)'
                          WHEN NOT person.has_device THEN '\(StepName.noDevice.rawValue)'
                          WHEN NOT person.has_free_device THEN '\(StepName.suppressed.rawValue)'
                          WHEN person.is_held_out THEN '\(StepName.heldOut.rawValue)'
                          WHEN person.rule IS NOT NULL THEN '\(StepName.capped.rawValue)'
                          ELSE cell.verdict END AS verdict
                FROM expected AS person
                -- Each has a cell. By an outer join the planner expects as many as there are.
                LEFT JOIN cell ON cell.slot = person.slot \(isZoned ? "AND cell.told = person.told" : "")
                              AND cell.hold = CASE WHEN cell.until IS NULL THEN 0 ELSE person.hold END) AS person),
    tally AS MATERIALIZED (
      SELECT verdict, is_held, variant, rule, min(due_at) AS first_at, max(due_at) AS last_at, count(*) AS contacts
        FROM decided GROUP BY verdict, is_held, variant, rule)
    """
  }

  /// Those of the conditions.
  private static let literals = "$\(nextParameter)::text[]"

  /// SQL of the bits of the conditions that the row `contact` meets.
  private var met: String {
    conditions.enumerated().map { place, condition in
      "CASE WHEN \(condition.sql(literals: Self.literals)) THEN \(Self.bit(place)) ELSE 0 END"
    }.joined(separator: " + ")
  }

  /// The bit of a condition, by its place among them.
  static func bit(_ place: Int) -> Int32 { 1 << Int32(place) }

  private static let contact = "contact.contact_id"
  private static let sendout = "\(Parameter.sendout)"
  private static let rules = CapSQL.Rules(
    counts: "\(Parameter.capCounts)", hours: "\(Parameter.capHours)", purposes: "\(Parameter.capPurposes)")
  private static let joinedReach = """
    LEFT JOIN reach ON cardinality(\(Parameter.capCounts)) > 0
                     AND reach.customer_id = $1::bigint AND reach.contact_id = contact.contact_id
    """
  private var key: Int { Self.key }
  private static let key = Parameter.innerPad.rawValue

  /// That the row `device` is valid, and of the sendout's apps.
  static let isOfApps = "device.push_app_id = ANY (\(Parameter.apps)) AND device.invalidated_at IS NULL"
  /// That the customer has suppressions at all. It is asked once a statement.
  static let hasSuppressions = "EXISTS (SELECT FROM suppression WHERE suppression.customer_id = $1::bigint)"

  /// That the row `device` is suppressed. It is looked up once more, so that no token has to be carried along for each.
  static let isSuppressedDevice = """
    CASE WHEN \(hasSuppressions)
         THEN EXISTS (SELECT FROM device AS one
                       WHERE one.customer_id = $1::bigint AND one.device_id = device.device_id
                         AND \(isSuppressed(SuppressionSQL.scope(ofDevice: "one", key: key))))
         ELSE false END
    """

  /// Suppressions are of all, or of marketing, and concern transactional sendouts only if they are of all.
  private static func isSuppressed(_ scope: String) -> String {
    "coalesce((\(scope)) IN ('\(SuppressionScope.all.rawValue)', \(Parameter.purpose)), false)"
  }
  private func isSuppressed(_ scope: String) -> String { Self.isSuppressed(scope) }

  private static let places = PlaceSQL.Places(
    customerZone: "\(Parameter.customerZone)", countries: "\(Parameter.countries)", zones: "\(Parameter.zones)")
  private static let told = PlaceSQL.told(ofContact: "contact", places)

  /// Without zones there is one place, where the clocks do not matter.
  private var places: String {
    guard isZoned else {
      return "SELECT NULL::text AS told, NULL::text AS source, 'UTC' AS zone, NULL::int2 AS zone_no, 0 AS contacts"
    }
    return """
      SELECT told, \(PlaceSQL.source(ofTold: "told")) AS source,
             \(PlaceSQL.zone(ofTold: "told", Self.places)) AS zone,
             (row_number() OVER (ORDER BY told COLLATE "C"))::int2 AS zone_no, contacts
        FROM (SELECT told, count(*)::int4 AS contacts FROM person GROUP BY told) AS told
      OFFSET 0
      """
  }

  private var moment: String {
    PlaceSQL.moment(
      zone: "place.zone", startAt: "\(Parameter.startAt)", localTime: "\(Parameter.localTime)",
      scheduledAt: "\(Parameter.scheduledAt)", onMissed: "\(Parameter.onMissed)")
  }

  /// SQL of whether the local time has come in the zone of one of the contacts, as a query.
  var hasDueZone: String {
    """
    WITH given AS (SELECT \(Parameter.allCases.map(\.description).joined(separator: ", ")), \(selection.types)),
    told AS MATERIALIZED (SELECT \(Self.told) AS told \(selection.from())),
    place AS MATERIALIZED (
      SELECT \(PlaceSQL.zone(ofTold: "told", Self.places)) AS zone
        FROM (SELECT DISTINCT told FROM told) AS told)
    SELECT EXISTS (SELECT FROM place WHERE \(moment) <= now())
    """
  }
}

extension FreezePlan {
  /// How many steps spread pushes, and how long each is, in minutes. There are at most 120.
  var steps: (count: Int, minutes: Int) {
    let minutes = max(1, (spreadMinutes + 119) / 120)
    return (max(1, (spreadMinutes + minutes - 1) / minutes), minutes)
  }

  /// Whether each push has a moment, after which it can be late.
  var hasMoments: Bool { startAt != nil || localTime != nil || spreadMinutes > 0 }

  /// The percent that no variant's share names, who wait for the winner; 0 without variants.
  var restShare: Int { variants.isEmpty ? 0 : 100 - variants.reduce(0) { $0 + $1.share } }

  /// The values of the parameters that planned statements have in common, in the order of `PlannedAudienceSQL.Parameter`.
  func parameters(
    _ customer: CustomerID, sendout: SendoutID?, apps: [PushAppID], _ selection: ContactSelection
  ) -> ParameterBuffer {
    let caps = CapSQL.Parameters(rules.caps)
    let quiet = rules.quietHours
    var parameters = ParameterBuffer(
      customer.rawValue, apps.map(\.rawValue), sendout?.rawValue ?? 0, rules.purpose.rawValue)
    parameters.append(startAt)
    parameters.append(localTime?.description)
    parameters.append(scheduledAt)
    parameters.append(onMissed.rawValue)
    parameters.append(Int32(steps.count))
    parameters.append(Int32(steps.minutes))
    parameters.append(endAt)
    parameters.append(rules.ttl.map { Double($0) })
    parameters.append(quiet?.start.description)
    parameters.append(quiet?.end.description)
    parameters.append(quiet?.policy?.rawValue)
    parameters.append(quiet == nil ? 1 : Int32(rules.holdMinutes))
    parameters.append(caps.counts)
    parameters.append(caps.hours)
    parameters.append(caps.purposes)
    parameters.append(caps.names)
    parameters.append(rules.ignoresCaps)
    parameters.append(Int32(holdoutPercent))
    parameters.append(ShareSQL.shareBounds(variants.map(\.share)))
    parameters.append(customerZone)
    parameters.append(countryZones.countries)
    parameters.append(countryZones.zones)
    parameters.append(suppressions.inner)
    parameters.append(suppressions.outer)
    selection.append(to: &parameters)
    return parameters
  }
}
