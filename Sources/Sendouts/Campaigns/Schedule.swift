import Audience
import Delivery
import FoundationEssentials
import Logging
import Postgres
import Registry
import Wire

// What a hub does when a sendout's time has come.
extension SendoutWorker {
  /// Looks at a sendout whose moment has come: its start, the decision about its variants, or its end.
  /// - Returns: nil if there is nothing to do but what its state says.
  func attend(to sendout: Sendout) async throws -> Next? {
    let isScheduled = sendout.state == .scheduled
    guard isScheduled || sendout.state == .running || sendout.state == .paused, let next = sendout.nextAt,
      try await next <= pool.query(ScheduleQueries.now)[0].decode(Date.self)
    else { return isScheduled ? .done : nil }
    if isScheduled {
      try await takeUp(sendout)
    } else if try sendout.awaitsDecision(sendout.campaign()) {
      try await decideWinner(of: sendout)
    } else {
      try await expire(sendout)
    }
    return .continue(after: .zero)
  }

  /// What became of a scheduled sendout at its time.
  private enum TakeUp: String {
    /// Another hub was faster, or somebody has changed it meanwhile.
    case nothing
    case postponed
    case late
    case started
  }

  /// Starts a scheduled sendout, in one commit with the next of its series. Where it should have started long ago, a person has to decide. Where
  /// no contact's clock shows its local time yet, hubs look again when the next zone of the world has it.
  private func takeUp(_ sendout: Sendout) async throws {
    let key = sendout.key
    let (customer, number) = (key.customer.rawValue, key.sendout.rawValue)
    // The audience can be large, so it is read before the sendout is locked.
    let isThere = try await isThere(sendout)
    let taken: TakeUp = try await pool.transaction(of: customer) { database in
      guard let row = try await database.query(SendoutQueries.lock, customer, number).first,
        case let current = try Sendout(row), current.state == .scheduled, current.nextAt == sendout.nextAt,
        current.stateChanges == sendout.stateChanges
      else { return .nothing }
      let now = try await database.query(ScheduleQueries.now)[0].decode(Date.self)
      if !isThere, let next = current.nextLook(after: now) {
        try await database.query(ScheduleQueries.postponeLook, customer, number, next)
        return .postponed
      }
      if let series = current.series {
        try await Series(database).makeNext(key.customer, series.id, leaving: key.sendout)
      }
      let isLate = try current.isLate(at: now)
      if isLate {
        try await database.query(ScheduleQueries.late, customer, number)
      } else {
        try await database.query(ScheduleQueries.takeUp, customer, number)
        try await database.query(SendoutQueries.requireRange, number)
      }
      try await database.notify(.sendout, key.description)
      return isLate ? .late : .started
    }
    switch taken {
    case .nothing, .postponed: break
    case .started: logger.info("scheduled sendout started", metadata: ["sendout": "\(key)"])
    case .late:
      logger.warning(
        "scheduled sendout paused: hubs or the database were away when it was to start",
        metadata: ["sendout": "\(key)", "startAt": "\(sendout.startAt.map { "\(Wire.Timestamp($0))" } ?? "-")"])
    }
  }

  /// Whether there is somebody for whom the sendout's time has come.
  private func isThere(_ sendout: Sendout) async throws -> Bool {
    guard sendout.localTime != nil, let plan = try await sendout.plan(pool, suppressions: dispatcher.suppressions)
    else { return true }
    let audience = try await Segments(pool).resolve(sendout.key.customer, try sendout.audience()).selection
    return try await Ledger(pool).hasDueZone(sendout.key.customer, audience: audience, plan: plan)
  }

  /// Ends a sendout at its end: what has not left never does. It finishes by itself then, also where it was paused.
  private func expire(_ sendout: Sendout) async throws {
    let key = sendout.key
    let (customer, number) = (key.customer.rawValue, key.sendout.rawValue)
    let skipped: Int? = try await pool.transaction(of: customer, limit: Ledger.wholeSendoutLimit) { database in
      guard let row = try await database.query(SendoutQueries.lock, customer, number).first,
        case let current = try Sendout(row), current.state == .running || current.state == .paused,
        current.nextAt == sendout.nextAt
      else { return nil }
      // Whatever it was to look at, it is not the end.
      guard let endAt = current.endAt, try await endAt <= database.query(ScheduleQueries.now)[0].decode(Date.self)
      else {
        try await database.query(ScheduleQueries.postponeLook, customer, number, current.endAt)
        return nil
      }
      let ledger = Ledger(database)
      let skipped = try await ledger.expire(key)
      // What hubs have in hand is claimed once more, and skipped then.
      try await ledger.resume(key)
      try await database.query(ScheduleQueries.end, customer, number)
      try await database.notify(.sendout, key.description)
      return skipped
    }
    if let skipped {
      logger.info("sendout has come to its end", metadata: ["sendout": "\(key)", "skipped": "\(skipped)"])
    }
  }

  /// Makes the next time of each series whose newest is no longer scheduled, such as one that somebody has cancelled. One that is locked or fails
  /// waits for the next look, and holds up the others for two seconds at most.
  func fillSeries() async {
    do {
      for row in try await pool.query(SeriesQueries.lacking) {
        let (customer, series) = try row.decode(Int64.self, Int64.self)
        do {
          try await pool.transaction(of: customer, locks: .brief) { database in
            try await Series(database).makeNext(CustomerID(customer), SeriesID(series))
          }
        } catch  where !Task.isCancelled {
          logger.warning(
            "could not make the next time of a series, retrying later",
            metadata: ["customer": "\(customer)", "series": "\(series)", "error": "\(error)"])
        }
      }
    } catch  where !Task.isCancelled {
      logger.warning(
        "could not look for series that lack their next time, retrying later", metadata: ["error": "\(error)"])
    } catch {}
  }
}

extension Sendout {
  /// Whether hubs or the database were away when it was to start. A local time is never late as a whole: its zones are looked at one by one.
  fileprivate func isLate(at now: Date) throws -> Bool {
    guard let startAt else { return false }
    let minutes = try campaign().lateMinutes ?? CampaignFields.usualLateMinutes
    return now > startAt.addingTimeInterval(60 * Double(minutes))
  }

  /// When the next zone of the world has its local time: offsets are quarters of an hour. Nil once all zones have it.
  fileprivate func nextLook(after now: Date) -> Date? {
    guard let localTime, let inUTC = Wire.Timestamp("\(localTime):00Z")?.date else { return nil }
    let step = 15.0 * 60
    let first = inUTC.addingTimeInterval(-3600 * Double(ScheduleQueries.earliestZone))
    let days = (try? campaign())?.onMissed == .nextDay ? 1.0 : 0
    let last = inUTC.addingTimeInterval(3600 * (Double(ScheduleQueries.latestZone) + 24 * days))
    let steps = (now.timeIntervalSince(first) / step).rounded(.down) + 1
    let next = first.addingTimeInterval(step * max(0, steps))
    return next <= last ? next : nil
  }
}
