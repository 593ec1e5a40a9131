import FoundationEssentials
import Postgres
import Registry
import Wire

extension SendoutStore {
  /// What the columns of a sendout's times hold.
  struct Times {
    /// All of the campaign as JSON.
    let campaign: JSONDocument
    let startAt: Date?
    let localTime: String?
    let endAt: Date?
  }

  /// - Throws: `SendoutError.invalid` for times that are over by the database's clock.
  func checkedTimes(_ campaign: CampaignFields) async throws -> Times {
    let times = Times(
      campaign: try JSONDocument(String(decoding: JSONCoding.encode(campaign), as: UTF8.self)),
      startAt: campaign.startAt?.date, localTime: campaign.localTime?.description, endAt: campaign.endAt?.date)
    guard campaign.hasTime || campaign.endAt != nil else { return times }
    let (startIsOver, localIsOver, endIsOver) = try await database.query(
      ScheduleQueries.areOver, times.startAt, times.localTime, times.endAt)[0].decode(Bool.self, Bool.self, Bool.self)
    if startIsOver { throw SendoutError.invalid(field: "startAt", problem: "is over: give a moment to come") }
    if localIsOver {
      throw SendoutError.invalid(field: "localTime", problem: "is over in every zone: give a time to come")
    }
    if endIsOver { throw SendoutError.invalid(field: "endAt", problem: "is over: give a moment to come") }
    return times
  }

  /// Schedules a draft, or once more a sendout that was changed. Hubs are told.
  /// - Parameter version: of the template; nil for the one that the row has.
  func schedule(_ sendout: Sendout, _ conditions: SendoutStart, templateVersion version: Int32?) async throws -> Sendout
  {
    guard sendout.startAt != nil || sendout.localTime != nil else {
      throw SendoutError.invalid(field: "startAt", problem: "is missing: give the draft a time first, or start it")
    }
    let key = sendout.key
    let scheduled = try Sendout(
      try await database.query(
        SendoutQueries.schedule, key.customer.rawValue, key.sendout.rawValue, version,
        conditions.maximumContacts.map(Int32.init))[0])
    try await database.notify(.sendout, key.description)
    return scheduled
  }
}

extension Sendout {
  /// What would make such a sendout once more.
  func request(apps: [PushApp]) throws -> SendoutRequest {
    SendoutRequest(
      name: name, appIds: apps.map(\.appID), audience: try audience(), message: try message(), purpose: purpose,
      template: template?.name, onUncertain: onUncertain, campaign: try campaign())
  }
}

/// Statements on when sendouts go.
enum ScheduleQueries {
  static let all: [Statement] = [areOver]

  /// Whether a moment `$1`, a wall time `$2` in every zone of the world, and the end `$3` are over. NULL is not.
  static let areOver = Statement(
    "schedule.are_over", .read,
    """
    SELECT coalesce($1::timestamptz <= now(), false),
           coalesce(($2::text::timestamp + \(ZoneSQL.westernmost)) AT TIME ZONE 'UTC' <= now(), false),
           coalesce($3::timestamptz <= now(), false)
    """)
}

/// How far the world's clocks are ahead of UTC and behind it, in SQL.
enum ZoneSQL {
  static let easternmost = "interval '14 hours'"
  static let westernmost = "interval '12 hours'"
}
