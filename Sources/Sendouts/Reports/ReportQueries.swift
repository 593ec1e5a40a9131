import Postgres
public import Wire

/// Statements on the views of schema `report`, one for each report; a row is a JSON object. `$1` is the customer, `$2` the
/// limit of rows, `$3` the sendout or contact that the report is limited to, if it can be.
enum ReportQueries {
  static let all = Report.allCases.map(statement)

  static func statement(_ report: Report) -> Statement {
    let view = ReportView.of(report)
    let members = view.columns.map { "'\($0.name)', \($0.sql)" }.joined(separator: ", ")
    let rows =
      switch view.scope {
      case .customer: "report.\(view.view) WHERE customer_id = $1::bigint"
      case .sendout:
        "report.\(view.view) WHERE customer_id = $1::bigint AND ($3::bigint IS NULL OR sendout_id = $3::bigint)"
      // Those that are listed are known before any of their rows is read, and others are not read.
      case .eachSendout(let condition):
        """
        (SELECT sendout_id AS listed_id FROM sendout
          WHERE customer_id = $1::bigint AND ($3::bigint IS NULL OR sendout_id = $3::bigint) AND \(condition)
          ORDER BY sendout_id DESC LIMIT $2::bigint) AS listed
         CROSS JOIN LATERAL (SELECT * FROM report.\(view.view)
                              WHERE customer_id = $1::bigint AND sendout_id = listed.listed_id OFFSET 0) AS \(view.view)
        """
      case .contact: "report.\(view.view) WHERE customer_id = $1::bigint AND original_id = $3::text"
      }
    return Statement(
      "report.\(report.rawValue)", .read,
      """
      SELECT jsonb_build_object(\(members)) FROM \(rows)
       ORDER BY \(view.order)
       LIMIT $2::bigint
      """)
  }
}

/// The documented view that a report is read from, and the names of its columns in JSON.
public struct ReportView: Sendable {
  /// What a report can be limited to.
  enum Scope: Sendable {
    case customer
    /// One sendout, optionally.
    case sendout
    /// One sendout, optionally, of a view that has rows of those that meet a condition. The limit holds for sendouts, too.
    case eachSendout(String)
    /// One contact, always.
    case contact

    var takesSendout: Bool {
      switch self {
      case .sendout, .eachSendout: true
      case .customer, .contact: false
      }
    }

    var takesContact: Bool {
      switch self {
      case .contact: true
      case .customer, .sendout, .eachSendout: false
      }
    }
  }

  public struct Column: Sendable {
    /// As in JSON.
    public let name: String
    let sql: String
  }

  let view: String
  let scope: Scope
  let order: String
  /// In the order in which people read them.
  public let columns: [Column]

  private init(_ view: String, _ scope: Scope = .customer, by order: String, _ columns: [Column]) {
    self.view = view
    self.scope = scope
    self.order = order
    self.columns = columns
  }
}

extension ReportView {
  /// The newest rows come first, so that a limit leaves out the oldest.
  public static func of(_ report: Report) -> ReportView {
    switch report {
    case .devices:
      ReportView(
        "devices", by: "app_id, app_type, environment, state DESC",
        app + ["platform", "environment", "state", "devices", "contacts"])
    case .registrations:
      ReportView(
        "registrations_by_day", by: "day DESC, app_id, app_type",
        ["day"] + app + ["registered", "moved", "revived", "environment"])
    case .invalidations:
      ReportView(
        "invalidations_by_day", by: "day DESC, app_id, app_type, devices DESC, reason",
        ["day"] + app + [text("reason"), "devices"])
    case .sendouts:
      ReportView(
        "sendout_totals", .eachSendout(isNoTest), by: "sendout_id DESC",
        [sendout, text("name"), Column(name: "appId", sql: "app_id"), "platform", "state"] + counts + [
          rate("openRate", "open_rate")
        ]
          + [moment("createdAt", "created_at"), moment("startedAt", "started_at"), moment("finishedAt", "finished_at")])
    case .funnel:
      ReportView(
        "funnel", .eachSendout(isNoTest), by: "sendout_id DESC, step",
        [
          sendout, text("name"), "stage", "pushes", rate("ofAudience", "of_audience"),
          rate("ofPrevious", "of_previous"),
        ])
    case .failures:
      ReportView(
        "failures", .sendout, by: "sendout_id DESC, pushes DESC, state, reason",
        [sendout, "state", text("reason"), "pushes"])
    case .opens:
      ReportView(
        "opens_by_hour", .sendout, by: "hour DESC, sendout_id DESC",
        [
          moment("hour", "hour"), sendout, "opens", Column(name: "firstOpens", sql: "first_opens"),
          Column(name: "byMachines", sql: "by_machines"),
        ])
    case .subscriptions:
      ReportView(
        "subscriptions", by: "app_id, service, event",
        [Column(name: "appId", sql: "app_id"), "service", "event", "subscriptions", "waiting"])
    case .suppressions:
      ReportView(
        "suppressions", by: "suppressions DESC, kind, scope, by_page, reason",
        [
          "kind", "scope", text("reason"), Column(name: "byPage", sql: "by_page"), "suppressions",
          moment("firstAt", "first_at"), moment("lastAt", "last_at"),
        ])
    case .notifications:
      ReportView(
        "notifications_by_day", by: "day DESC, app_id, service, event, outcome, reason",
        ["day", Column(name: "appId", sql: "app_id"), "service", "event", "outcome", text("reason"), "notifications"])
    case .hybrid:
      ReportView(
        "hybrid_share", by: "day DESC, app_id, kind",
        [
          "day", text("appId", "app_id"), "kind", "messages", Column(name: "byPush", sql: "by_push"),
          Column(name: "bySms", sql: "by_sms"), Column(name: "smsOnly", sql: "sms_only"),
          Column(name: "noDevice", sql: "no_device"), Column(name: "pushFailed", sql: "push_failed"), "unconfirmed",
          Column(name: "smsParts", sql: "sms_parts"), "delivered", "read", "failed", "withdrawn",
          rate("medianSeconds", "median_seconds"), rate("slowestSeconds", "slowest_seconds"),
        ])
    case .timeline:
      ReportView(
        "contact_timeline", .contact, by: "at DESC, event, device_id",
        [moment("at", "at"), "event", text("detail"), Column(name: "deviceId", sql: "device_id"), sendout])
    case .campaigns:
      ReportView(
        "campaigns", .eachSendout(isNoTest), by: "sendout_id DESC",
        [
          sendout, text("name"), "kind", "state", Column(name: "seriesId", sql: "series_id"),
          Column(name: "seriesNo", sql: "series_no"), moment("startedAt", "started_at"),
          moment("finishedAt", "finished_at"), "everyone", Column(name: "left", sql: #""left""#), "accepted", "failed",
          "opened", rate("openRate", "open_rate"), Column(name: "leftOut", sql: "left_out"),
        ])
    case .variants:
      ReportView(
        "variants", .eachSendout("frozen_at IS NOT NULL AND campaign -> 'variants' IS NOT NULL"),
        by: "sendout_id DESC, variant_no = 0, variant_no",
        [
          sendout, Column(name: "variantNo", sql: "variant_no"), text("variant"), "share", "contacts", "accepted",
          "opened", rate("rate", "rate"), rate("low", "low"), rate("high", "high"),
          Column(name: "acceptedAtDecision", sql: "accepted_at_decision"),
          Column(name: "openedAtDecision", sql: "opened_at_decision"), Column(name: "pAdjusted", sql: "p_adjusted"),
          Column(name: "fitsShare", sql: "fits_share"), "decision",
        ])
    case .localTimes:
      ReportView(
        "local_times",
        .eachSendout("frozen_at IS NOT NULL AND (local_time IS NOT NULL OR rules -> 'quietHours' IS NOT NULL)"),
        by: "sendout_id DESC, planned_at, zone, source",
        [
          sendout, "zone", "source", moment("plannedAt", "planned_at"), "contacts", "accepted", "opened",
        ])
    case .leftOut:
      ReportView(
        "left_out", .eachSendout("frozen_at IS NOT NULL AND kind = 'broadcast'"),
        by: "sendout_id DESC, contacts DESC, reason", [sendout, text("reason"), "contacts"])
    case .caps:
      ReportView("caps", by: "day DESC, rule", ["day", "rule", "contacts", "capped"])
    }
  }

  private static let isNoTest = "test_of IS NULL"

  private static let app = [Column(name: "appId", sql: "app_id"), Column(name: "appType", sql: "app_type")]
  private static let sendout = Column(name: "sendoutId", sql: "sendout_id")
  private static let counts: [Column] = [
    "audience", "queued", "sending", "waiting", "sent", "accepted", "failed", "uncertain", "skipped", "cancelled",
    "opened",
  ]

  /// Free text, exact: the view's cell is made for spreadsheets.
  private static func text(_ name: String, _ column: String? = nil) -> Column {
    Column(name: name, sql: "report.exact(\(column ?? name))")
  }

  /// In the form of `Timestamp`.
  private static func moment(_ name: String, _ column: String) -> Column {
    Column(name: name, sql: #"to_char(\#(column) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')"#)
  }

  /// From 0 to 1.
  private static func rate(_ name: String, _ column: String) -> Column {
    Column(name: name, sql: "\(column)::float8")
  }
}

extension ReportView.Column: ExpressibleByStringLiteral {
  /// A column with the same name in JSON and in the view.
  public init(stringLiteral name: String) { self.init(name: name, sql: name) }
}
