import Delivery
import FoundationEssentials
import Postgres
import Registry
public import Wire

/// Which sendouts are listed.
public struct SendoutFilter: Sendable {
  /// `nil` for all.
  public var states: [SendoutState]?
  public var kind: SendoutKind?
  /// How their names begin, in upper or lower case.
  public var name: String?

  public init(states: [SendoutState]? = nil, kind: SendoutKind? = nil, name: String? = nil) {
    self.states = states
    self.kind = kind
    self.name = name
  }
}

extension SendoutStore {
  /// Adds counts to a list of broadcasts, and their first opens by hour. Streams may have a batch for each message, so counting them may
  /// take long, and they get none.
  public func addFigures(_ customer: CustomerID, to listed: inout [SendoutReply]) async throws {
    let counted = listed.filter { $0.frozenAt != nil && $0.kind == .broadcast }
    guard !counted.isEmpty else { return }
    let totals = try await Ledger(reading).totals(customer, of: counted.map(\.sendoutId))
    let opens = try await OpenHours(reading).first(
      SendoutReply.hoursOfOpens, customer,
      of: counted.map { ($0.sendoutId, ($0.startedAt ?? $0.createdAt).date) })
    for index in listed.indices {
      listed[index].counts = totals[listed[index].sendoutId]
      listed[index].firstOpens = opens[listed[index].sendoutId]
    }
  }

  /// The figures of a sendout at this moment.
  /// - Throws: `RegistryError.numberUnknown`.
  public func figures(_ customer: CustomerID, _ sendout: SendoutID) async throws -> SendoutFigures {
    guard let row = try await reading.query(SendoutQueries.find, customer.rawValue, sendout.rawValue).first else {
      throw RegistryError.numberUnknown("sendout")
    }
    let sendout = try Sendout(row)
    let ledger = Ledger(reading)
    let counts = try await ledger.counts(sendout.key)
    let hours = try await OpenHours(reading).all(sendout.key)
    var figures = SendoutFigures(
      sendoutId: sendout.key.sendout, name: sendout.name, state: sendout.state, counts: counts,
      opens: hours.reduce(0) { $0 + $1.opens }, hours: hours)
    if sendout.state == .running, !sendout.isStream {
      let (pace, othersWait) = try await ledger.settledLately(sendout.key)
      figures.settledLately = pace
      let lasted = min(60, max(1, Date().timeIntervalSince(sendout.frozenAt ?? sendout.createdAt)))
      let perSecond = Double(pace) / lasted
      let left = counts.queued + counts.sending + counts.waiting
      // What waits for a local time, a spread, quiet hours or a winner comes at no pace.
      if perSecond > 0, !othersWait { figures.secondsLeft = Int((Double(left) / perSecond).rounded(.up)) }
    }
    // Retention has deleted the pushes, and with them the reasons.
    guard sendout.expiredAt == nil else { return figures }
    let apps = try await PushApps(reading).list(customer).filter { sendout.apps.contains($0.id) }
    figures.reasons = try await ledger.reasons(sendout.key, counts).map { line in
      let help = ReasonHelp(line.reason, of: apps.map(\.type))
      var line = line
      (line.meaning, line.advice) = (help.meaning, help.advice)
      return line
    }
    return figures
  }

  /// Whom the sendout went to, in the order of pushes.
  /// - Parameters:
  ///   - query: how original ids begin, or a contact's number; then there is one page, of the first contacts.
  ///   - state: only pushes in this state; all when `nil`.
  ///   - isOpened: only pushes that were opened.
  /// - Throws: `RegistryError.numberUnknown`.
  public func recipients(
    _ customer: CustomerID, _ sendout: SendoutID, query: String? = nil, state: PushState? = nil,
    isOpened: Bool = false, _ page: PageRequest<PushNumber> = PageRequest()
  ) async throws -> Page<RecipientReply, PushNumber> {
    guard try await !reading.query(SendoutQueries.find, customer.rawValue, sendout.rawValue).isEmpty else {
      throw RegistryError.numberUnknown("sendout")
    }
    let key = SendoutKey(customer, sendout)
    guard let query, !query.isEmpty else {
      return try await Ledger(reading).recipients(key, state: state, isOpened: isOpened, page)
    }
    return Page(items: try await Ledger(reading).recipients(key, named: query, state: state, isOpened: isOpened))
  }
}
