import Delivery
import FoundationEssentials
import Postgres
import Registry
import Wire

/// A row of `sendout`.
struct Sendout: Sendable {
  let key: SendoutKey
  let apps: [PushAppID]
  /// Whether it is a stream of single messages.
  let isStream: Bool
  let name: String
  let state: SendoutState
  let haltReason: String?
  /// Audience and message as JSON: long audiences are decoded only where they are needed.
  let audienceJSON: String
  let messageJSON: String
  /// Times, limits and variants as JSON.
  let campaignJSON: String
  let template: (name: String, version: Int32)?
  let unknownIDs: Int32?
  let onUncertain: UncertainPolicy
  let purpose: MessagePurpose
  let createdAt: Date
  let startedAt: Date?
  /// When it was started, paused or resumed last.
  let changedAt: Date?
  let frozenAt: Date?
  let finishedAt: Date?
  /// When retention had deleted its pushes.
  let expiredAt: Date?
  /// How often its state was changed, other than by the end of its freeze and of its pushes.
  let stateChanges: Int32
  /// Of a stream of tracked messages: the fields in which pushes carry their ids. Nil for others.
  let idFields: [String]?
  /// The app whose pushes stand in for the others.
  let fallback: PushAppID?
  /// The user of the console who wrote it last; nil for API and command line.
  let writtenBy: UserID?
  /// The moment at which it starts; nil for none.
  let startAt: Date?
  /// The wall time at which each contact gets it.
  let localTime: WallTime?
  let endAt: Date?
  let scheduledAt: Date?
  /// When a hub has to look at it next.
  let nextAt: Date?
  /// The series, and which of its times it is.
  let series: (id: SeriesID, number: Int32)?
  /// What its pushes obey, from the freeze on; nil for a sendout without times, limits and variants.
  let rules: SendRules?
  let maximumContacts: Int32?
  let everyone: Int32?
  let people: Int32?
  let winner: Winner?
  /// Of a stream of test pushes: the sendout that was tested.
  let testOf: SendoutID?

  /// Which variant those get who waited for it. Without `by` it is a person's to decide, since `at`.
  struct Winner: Sendable {
    /// From 1 on; nil for none.
    let number: Int16?
    let by: DecisionMaker?
    let at: Date
  }

  func audience() throws -> Audience { try JSONCoding.decode(Audience.self, from: audienceJSON.utf8) }
  /// The times are those of its columns: a start by hand changes them, and each time of a series has its own.
  func campaign() throws -> CampaignFields {
    var campaign = try JSONCoding.decode(CampaignFields.self, from: campaignJSON.utf8)
    campaign.startAt = startAt.map(Wire.Timestamp.init)
    campaign.localTime = localTime
    campaign.endAt = endAt.map(Wire.Timestamp.init)
    return campaign
  }
  /// Whether it was frozen with rules of its own, so that its batches are claimed by them.
  var isPlanned: Bool { rules != nil }
  func message() throws -> MessageBody { try JSONCoding.decode(MessageBody.self, from: messageJSON.utf8, rules: .own) }
}

extension Sendout {
  init(_ row: Row) throws {
    let (customer, sendout, apps, name, state, halt, audience, message) = try row.decode(
      Int64.self, Int64.self, [Int64].self, String.self, String.self, String?.self, JSONB.self, JSONDocument.self)
    let templateName: String? = try row.get("template_name")
    let templateVersion: Int32? = try row.get("template_version")
    let policy: String = try row.get("on_uncertain")
    guard let state = SendoutState(rawValue: state), let policy = UncertainPolicy(rawValue: policy),
      let purpose = MessagePurpose(rawValue: try row.get("purpose"))
    else {
      throw PostgresError.decoding(
        statement: "sendout", column: "state", .format("an unknown state, policy or purpose"))
    }
    self.init(
      key: SendoutKey(CustomerID(customer), SendoutID(sendout)), apps: apps.map { PushAppID($0) },
      isStream: try row.get("kind") == "stream", name: name,
      state: state,
      haltReason: halt, audienceJSON: audience.text, messageJSON: message.text,
      campaignJSON: (try row.get("campaign") as JSONDocument).text,
      template: templateName.flatMap { name in templateVersion.map { (name, $0) } },
      unknownIDs: try row.get("unknown_ids"), onUncertain: policy, purpose: purpose,
      createdAt: try row.get("created_at"),
      startedAt: try row.get("started_at"), changedAt: try row.get("changed_at"),
      frozenAt: try row.get("frozen_at"), finishedAt: try row.get("finished_at"),
      expiredAt: try row.get("expired_at"), stateChanges: try row.get("state_changes"),
      idFields: try row.get("id_fields"), fallback: (try row.get("fallback_app_id") as Int64?).map { PushAppID($0) },
      writtenBy: (try row.get("written_by") as Int64?).map { UserID($0) }, startAt: try row.get("start_at"),
      localTime: (try row.get("local_time") as Date?).flatMap { WallTime(utc: $0) }, endAt: try row.get("end_at"),
      scheduledAt: try row.get("scheduled_at"), nextAt: try row.get("next_at"), series: try Self.series(row),
      rules: try (row.get("rules") as JSONB?).map { try JSONCoding.decode(SendRules.self, from: $0.text.utf8) },
      maximumContacts: try row.get("maximum_contacts"), everyone: try row.get("everyone"),
      people: try row.get("people"), winner: try Self.winner(row),
      testOf: (try row.get("test_of") as Int64?).map { SendoutID($0) })
  }

  private static func series(_ row: Row) throws -> (id: SeriesID, number: Int32)? {
    guard let id: Int64 = try row.get("series_id"), let number: Int32 = try row.get("series_no") else { return nil }
    return (SeriesID(id), number)
  }

  private static func winner(_ row: Row) throws -> Winner? {
    guard let at: Date = try row.get("winner_at") else { return nil }
    let by: String? = try row.get("winner_by")
    return Winner(number: try row.get("winner_no"), by: by.flatMap { DecisionMaker(rawValue: $0) }, at: at)
  }
}

extension Sendout {
  func reply(apps: [PushApp], counts: SendoutCounts?) throws -> SendoutReply {
    var reply = try summary(among: apps)
    let audience = try audience()
    // Retention has taken the ids.
    reply.audience = audience == .originalIds([]) ? nil : audience
    reply.message = try message()
    reply.counts = counts
    return reply
  }

  /// Without audience, message and counts.
  /// - Parameter apps: its apps, and perhaps others of the customer.
  func summary(among apps: [PushApp]) throws -> SendoutReply {
    let campaign = try campaign()
    return SendoutReply(
      sendoutId: key.sendout, name: name, kind: isStream ? .stream : .broadcast,
      apps: apps.filter { self.apps.contains($0.id) }.map {
        SendoutReply.App(pushAppId: $0.id, appId: $0.appID, appType: $0.type)
      }, state: state,
      haltReason: haltReason, unknownOriginalIds: unknownIDs.map(Int.init), purpose: purpose, template: template?.name,
      templateVersion: template?.version, onUncertain: onUncertain, writtenBy: writtenBy,
      createdAt: Wire.Timestamp(createdAt),
      startedAt: startedAt.map(Wire.Timestamp.init), frozenAt: frozenAt.map(Wire.Timestamp.init),
      finishedAt: finishedAt.map(Wire.Timestamp.init), expiredAt: expiredAt.map(Wire.Timestamp.init),
      campaign: campaign, seriesId: series?.id, seriesNo: (series?.number).map(Int.init),
      scheduledAt: scheduledAt.map(Wire.Timestamp.init), nextAt: nextAt.map(Wire.Timestamp.init),
      maximumContacts: maximumContacts.map(Int.init), everyone: everyone.map(Int.init), people: people.map(Int.init),
      decision: decision(campaign), testOf: testOf,
      pausedAt: state == .paused ? changedAt.map(Wire.Timestamp.init) : nil)
  }

  func decision(_ campaign: CampaignFields) -> WinnerDecision? {
    guard campaign.winner != nil, frozenAt != nil else { return nil }
    guard let winner else { return WinnerDecision(state: .waiting) }
    let at = Wire.Timestamp(winner.at)
    guard let by = winner.by else { return WinnerDecision(state: .waitingForPerson, at: at) }
    let variant = winner.number.flatMap { campaign.variants?.dropFirst(Int($0) - 1).first }
    return WinnerDecision(state: .decided, variant: variant?.name, by: by, at: at)
  }
}

extension WallTime {
  /// What clocks show in UTC, as PostgreSQL sends a time without a zone.
  init?(utc moment: Date) { self.init(String(Wire.Timestamp(moment).withoutZone.prefix(16))) }
}

extension JSONB {
  init(encoding value: some Encodable) throws {
    self.init(String(decoding: try JSONCoding.encode(value), as: UTF8.self))
  }
}
