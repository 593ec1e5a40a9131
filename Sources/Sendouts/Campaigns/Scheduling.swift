import Delivery
import FoundationEssentials
import Postgres
import Registry
public import Wire

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

  /// Checks that a draft which somebody starts by hand can reach anybody: its end is to come, and so is a local time after which nobody gets it.
  /// - Throws: `SendoutError.invalid`.
  func checkTimes(ofStart sendout: Sendout) async throws {
    var times = try sendout.campaign()
    // It starts now, whatever was written.
    times.startAt = nil
    if (times.onMissed ?? .skip) != .skip { times.localTime = nil }
    _ = try await checkedTimes(times)
  }

  /// Schedules a draft, or once more a sendout that was changed. Hubs are told.
  /// - Parameter version: of the template; nil for the one that the row has.
  /// - Throws: `SendoutError.invalid` for one without a time, unless the conditions say when it starts.
  func schedule(_ sendout: Sendout, _ conditions: SendoutStart, templateVersion version: Int32?) async throws -> Sendout
  {
    let hasTime = sendout.startAt != nil || sendout.localTime != nil
    if hasTime, conditions.inSeconds != nil {
      throw SendoutError.invalid(field: "inSeconds", problem: "is there, and the sendout has a time: leave it out")
    }
    guard hasTime || conditions.inSeconds != nil else {
      throw SendoutError.invalid(field: "startAt", problem: "is missing: give the draft a time first, or start it")
    }
    if let repetition = try sendout.campaign().repeat, sendout.series == nil {
      try await Series(database).begin(with: sendout, repetition)
    }
    let key = sendout.key
    let scheduled = try Sendout(
      try await database.query(
        ScheduleQueries.schedule, key.customer.rawValue, key.sendout.rawValue, version,
        conditions.maximumContacts.map(Int32.init), conditions.inSeconds.map(Int32.init))[0])
    try await database.notify(.sendout, key.description)
    return scheduled
  }

  /// Holds what is scheduled already to the conditions of another schedule.
  /// - Throws: `SendoutError.changed`; `.invalid` for seconds beside a time; `.changeNeedsApproval` where one person would let it reach others than
  ///   two have approved.
  func hold(_ sendout: Sendout, to conditions: SendoutStart) async throws -> Sendout {
    let key = sendout.key
    if conditions.inSeconds != nil {
      // A repetition of the request that scheduled it. Since then it has a moment, and so another digest.
      let own = try JSONCoding.decode(CampaignFields.self, from: sendout.campaignJSON.utf8)
      guard !own.hasTime else {
        throw SendoutError.invalid(field: "inSeconds", problem: "is there, and the sendout has a time: leave it out")
      }
    } else if let seen = conditions.digest {
      guard seen.hasSameBytes(as: try await digest(of: sendout)) else { throw SendoutError.changed(key.sendout) }
    }
    guard let most = conditions.maximumContacts.map(Int32.init), most != sendout.maximumContacts else { return sendout }
    if user != nil, try await wantsApproval(key.customer) { throw SendoutError.changeNeedsApproval(key.sendout) }
    return try Sendout(
      try await database.query(ScheduleQueries.limit, key.customer.rawValue, key.sendout.rawValue, most)[0])
  }
}

extension SendoutStore {
  /// Ends a series: the sendout that is scheduled is cancelled, and no other follows. Doing it again changes nothing.
  /// - Returns: the sendouts that were cancelled, without counts.
  /// - Throws: `SendoutError.seriesUnknown`.
  public func endSeries(_ customer: CustomerID, _ number: SeriesID) async throws -> [SendoutReply] {
    let series = Series(database)
    // Sendouts are locked before their series everywhere.
    for sendout in try await series.scheduled(customer, number) {
      try await database.query(SendoutQueries.lock, customer.rawValue, sendout.rawValue)
    }
    try await series.close(customer, number)
    var cancelled: [SendoutReply] = []
    for sendout in try await series.scheduled(customer, number) {
      cancelled.append(try await apply(.cancel, to: sendout, of: customer).sendout)
    }
    return cancelled
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
