import Audience
import Content
import Delivery
import FoundationEssentials
public import Postgres
import Registry
public import Wire

/// The store of sendouts: creates, changes, starts, pauses, resumes and cancels them, and counts their progress.
///
/// Every verb changes sendout and ledger in the caller's transaction: once that is committed, no hub claims what it must not. Repeating a
/// verb is fine; one that is impossible in the sendout's state is refused.
public struct SendoutStore: Sendable {
  let database: any Querying
  /// For reads that may take long.
  let reading: any Querying
  /// The user of the console who makes the change; nil for API and command line.
  let user: UserID?
  /// Days for which the hub keeps the ledger; nil for ever.
  private let retentionDays: Int32?

  /// - Parameters:
  ///   - database: a transaction, for what changes anything.
  ///   - reading: for reads that may take long, so that they do not hold up others; `database` if `nil`.
  ///   - user: of the console, who makes the change; nil for API and command line.
  ///   - retentionDays: for which the hub keeps the ledger, as audiences that look back further are refused; nil for ever.
  public init(
    _ database: any Querying, reading: (any Querying)? = nil, by user: UserID? = nil, retentionDays: Int32? = nil
  ) {
    self.database = database
    self.user = user
    self.retentionDays = retentionDays
    self.reading = reading ?? database
  }

  /// Creates a sendout, and starts it if the request says so, or schedules it if it says when.
  /// - Returns: the sendout; its counts are 0, as a hub has yet to freeze its audience.
  /// - Throws: `SendoutError.invalid`, `.appWithoutCredentials`, `.needsApproval`; `RegistryError.appUnknown`, `.appAmbiguous`;
  ///   `ContentError.invalid`, `.unparsable` with fields such as `message.alert`.
  public func create(_ customer: CustomerID, _ request: SendoutRequest) async throws -> SendoutReply {
    let new = try await checked(customer, request, CheckedForm(request))
    let times = try await checkedTimes(request.campaign)
    let row = try await database.query(
      SendoutQueries.create, customer.rawValue, new.apps.map(\.id.rawValue), new.name,
      (request.start == true ? SendoutState.freezing : .draft).rawValue, try JSONB(encoding: new.audience),
      JSONDocument(request.message.json), new.template?.name, new.template?.version, new.unknownIDs.map(Int32.init),
      (request.onUncertain ?? .resend).rawValue, user?.rawValue, (request.purpose ?? .marketing).rawValue,
      times.campaign, times.startAt, times.localTime, times.endAt)[0]
    var sendout = try Sendout(row)
    if request.start == true { try await checkApproval(of: sendout) }
    if sendout.state == .freezing {
      try await database.query(SendoutQueries.requireRange, sendout.key.sendout.rawValue)
      try await database.notify(.sendout, sendout.key.description)
    }
    if request.isScheduled {
      try await checkApproval(of: sendout)
      sendout = try await schedule(sendout, SendoutStart(), templateVersion: nil)
    }
    return try await reply(sendout, among: new.apps, SendoutCounts())
  }

  /// Replaces all that a sendout says that has not started. One that is scheduled stays so, and is scheduled anew.
  /// - Returns: the sendout as it was and as it is, without counts.
  /// - Throws: `RegistryError.numberUnknown`, `SendoutError.notDraft`, `.changeNeedsApproval`; what `create` throws.
  public func change(
    _ customer: CustomerID, _ sendout: SendoutID, _ request: SendoutRequest
  ) async throws -> (before: SendoutReply, after: SendoutReply) {
    let form = try CheckedForm(request)
    return try await rewrite(try await changeable(customer, sendout), request, form)
  }

  /// Replaces those fields of a sendout that a change names. Its apps stay as they are unless the change names others.
  /// - Returns: as above.
  /// - Throws: as above; `JSONProblem` and `DecodingError` where the fields do not go together.
  public func change(
    _ customer: CustomerID, _ sendout: SendoutID, _ change: SendoutChange
  ) async throws -> (before: SendoutReply, after: SendoutReply) {
    let draft = try await changeable(customer, sendout)
    let known = try await PushApps(database).list(customer).filter { draft.apps.contains($0.id) }
    let request = try change.applied(to: try draft.request(apps: known))
    return try await rewrite(draft, request, CheckedForm(request), apps: change.namesApps ? nil : known)
  }

  private func changeable(_ customer: CustomerID, _ sendout: SendoutID) async throws -> Sendout {
    guard let row = try await database.query(SendoutQueries.lock, customer.rawValue, sendout.rawValue).first else {
      throw RegistryError.numberUnknown("sendout")
    }
    let draft = try Sendout(row)
    guard draft.state == .draft || draft.state == .scheduled else { throw SendoutError.notDraft(sendout, draft.state) }
    // Else one person could change what another has approved.
    if draft.state == .scheduled, user != nil, try await wantsApproval(customer) {
      throw SendoutError.changeNeedsApproval(sendout)
    }
    return draft
  }

  private func rewrite(
    _ draft: Sendout, _ request: SendoutRequest, _ form: CheckedForm, apps: [PushApp]? = nil
  ) async throws -> (before: SendoutReply, after: SendoutReply) {
    let (customer, sendout) = (draft.key.customer, draft.key.sendout)
    if draft.state == .scheduled, !request.campaign.hasTime {
      throw SendoutError.invalid(
        field: "startAt", problem: "is missing, and the sendout is scheduled: give a time, or unschedule it first")
    }
    let before = try await reply(draft, nil)
    let new = try await checked(customer, request, form, apps: apps)
    let times = try await checkedTimes(request.campaign)
    var changed = try Sendout(
      try await database.query(
        SendoutQueries.rewrite, customer.rawValue, sendout.rawValue, new.apps.map(\.id.rawValue), new.name,
        try JSONB(encoding: new.audience), JSONDocument(request.message.json), new.template?.name,
        new.template?.version, new.unknownIDs.map(Int32.init), (request.onUncertain ?? .resend).rawValue,
        user?.rawValue, (request.purpose ?? .marketing).rawValue, times.campaign, times.startAt, times.localTime,
        times.endAt)[0])
    if draft.state == .scheduled {
      try await Series(database).change(draft, to: changed)
      changed = try await schedule(changed, SendoutStart(), templateVersion: nil)
    }
    return (before, try await reply(changed, among: new.apps, nil))
  }

  func wantsApproval(_ customer: CustomerID) async throws -> Bool {
    try await Customers(database).find(customer)?.settings.approval == true
  }

  /// Where the customer wants approval, nobody starts what they wrote themselves. Keys and the command line are no persons.
  private func checkApproval(of sendout: Sendout) async throws {
    guard let user, sendout.writtenBy == user, try await wantsApproval(sendout.key.customer) else { return }
    throw SendoutError.needsApproval(sendout.key.sendout)
  }

  /// How many devices an audience has. Nothing is stored.
  /// - Throws: `SendoutError.invalid`; `RegistryError.appUnknown`.
  public func count(_ customer: CustomerID, _ request: AudienceRequest) async throws -> AudienceReply {
    try SendoutRules.audience(request.audience)
    let appIDs = try SendoutRules.appIDs(request.appId, request.appIds)
    let apps = try await PushApps(database).resolveAll(customer, appIDs: appIDs, type: request.appType)
    // Of a list that does not exist, this says so in its own words.
    var reply = AudienceReply(apps: [], unknownOriginalIds: try await unknownIDs(customer, request.audience))
    let audience = try await segments.resolve(customer, request.audience).selection
    for app in apps {
      let (devices, isMore) = try await Audiences(reading).devices(
        customer, of: app.id, in: audience, upTo: request.limit ?? AudienceRequest.usualLimit)
      reply.apps.append(
        AudienceReply.App(
          pushAppId: app.id, appId: app.appID, appType: app.type, devices: devices, isMore: isMore))
    }
    return reply
  }

  /// What a request for a sendout says, checked without the database.
  private struct CheckedForm {
    let name: String
    let appIDs: [String]
    let message: MessageChoices

    init(_ request: SendoutRequest) throws {
      name = try SendoutRules.name(request)
      try SendoutRules.audience(request.audience)
      try SendoutRules.campaign(request)
      appIDs = try SendoutRules.appIDs(request.appId, request.appIds)
      // Compiled only as a check: every hub compiles its own.
      message = try SendoutRules.choices(request)
      try message.checkForm(for: [])
    }
  }

  /// What a request for a sendout names, once it is checked.
  private struct CheckedRequest {
    let name: String
    let apps: [PushApp]
    let template: Template?
    let unknownIDs: Int?
    let audience: Audience
  }

  /// - Parameters:
  ///   - apps: instead of those that the request names.
  ///   - isHeld: whether its template and its segments must stay until the transaction ends.
  private func checked(
    _ customer: CustomerID, _ request: SendoutRequest, _ form: CheckedForm, apps: [PushApp]? = nil, isHeld: Bool = true
  ) async throws -> CheckedRequest {
    let named =
      if let apps { apps } else {
        try await PushApps(database).resolveAll(customer, appIDs: form.appIDs, type: request.appType)
      }
    let served = try SendoutRules.sendable(named)
    try form.message.checkForm(for: served.map(\.type))
    _ = try await SendoutRules.templateVersions(customer, request.campaign.variants, in: database, isHeld: isHeld)
    return CheckedRequest(
      name: form.name, apps: served,
      template: try await SendoutRules.currentTemplate(customer, request.template, in: database, isHeld: isHeld),
      unknownIDs: try await unknownIDs(customer, request.audience),
      audience: try await segments.resolve(customer, request.audience, holding: isHeld).audience)
  }

  /// What a request says, checked as if it was to be stored.
  /// - Throws: what `create` throws.
  func unsaved(_ customer: CustomerID, _ request: SendoutRequest) async throws -> SendoutSubject {
    let new = try await checked(customer, request, CheckedForm(request), isHeld: false)
    _ = try await checkedTimes(request.campaign)
    return SendoutSubject(
      customer: customer, sendout: nil, name: new.name, apps: new.apps.map(\.id), audience: new.audience,
      message: request.message, campaign: request.campaign, purpose: request.purpose ?? .marketing,
      template: new.template?.name, onUncertain: request.onUncertain ?? .resend, scheduledAt: nil)
  }

  /// The first sendout that names the app, and whether it is one of single messages; `nil` if there is none.
  package func first(
    naming app: PushAppID, of customer: CustomerID
  ) async throws -> (sendout: SendoutID, isStream: Bool)? {
    try await database.query(SendoutQueries.ofApp, customer.rawValue, app.rawValue).first.map { row in
      let (sendout, isStream) = try row.decode(Int64.self, Bool.self)
      return (SendoutID(sendout), isStream)
    }
  }

  var segments: Segments { Segments(database, retentionDays: retentionDays) }

  /// A sendout that names the segment and is not frozen yet; nil if there is none. The caller has locked the segment's row.
  package func first(naming segment: SegmentID, of customer: CustomerID) async throws -> SendoutID? {
    try await database.query(SendoutQueries.ofSegment, customer.rawValue, segment.rawValue).first
      .map { SendoutID(try $0.decode(Int64.self)) }
  }

  /// Checks that the list exists, and counts the ids that no contact has.
  private func unknownIDs(_ customer: CustomerID, _ audience: Audience) async throws -> Int? {
    switch audience.included {
    case .all, .lists, .segment, .filter, .excluding: return nil
    case .list(let list):
      guard try await ContactLists(database).find(customer, list) != nil else {
        throw SendoutError.invalid(field: "audience.listId", problem: "names no list of this customer")
      }
      return nil
    case .originalIds(let ids):
      return try await Audiences(database).unknownOriginalIDs(customer, among: ids)
    }
  }

  /// Starts, schedules, pauses, resumes or cancels a sendout. It waits for no freeze: one that is under way obeys when it ends. Nor does it wait for
  /// long while something else has the sendout's row (`LockWait.brief`). Once it has returned, pushes in flight may still leave.
  /// - Parameter conditions: of a start and of a schedule. The digest of what whoever starts it has seen is compared while the row is locked.
  /// - Returns: the sendout as it is now, without counts, and the state it was in before.
  /// - Throws: `RegistryError.numberUnknown`, `SendoutError.wrongState`, `.needsApproval`, `.changed`; `.invalid` for times that are over.
  public func apply(
    _ verb: SendoutVerb, to sendout: SendoutID, of customer: CustomerID, _ conditions: SendoutStart = SendoutStart()
  ) async throws -> (before: SendoutState, sendout: SendoutReply) {
    let key = SendoutKey(customer, sendout)
    let (customer, number) = (key.customer.rawValue, key.sendout.rawValue)
    guard let row = try await database.query(SendoutQueries.lock, customer, number).first else {
      throw RegistryError.numberUnknown("sendout")
    }
    var sendout = try Sendout(row)
    let before = sendout.state
    guard let state = verb.next(from: before, isFrozen: sendout.frozenAt != nil) else {
      throw SendoutError.wrongState(key.sendout, before, verb)
    }
    if verb == .start, conditions.inSeconds != nil {
      throw SendoutError.invalid(
        field: "inSeconds", problem: "belongs to schedule: leave it out, or schedule the draft")
    }
    if verb == .schedule, before == .scheduled { sendout = try await hold(sendout, to: conditions) }
    if state != before {
      var version: Int32?
      if verb == .start || verb == .schedule {
        try await checkApproval(of: sendout)
        // A draft starts with the current version of its template, not with that of its creation.
        if before == .draft { version = try await currentTemplate(of: sendout, isHeld: true)?.version }
        if let seen = conditions.digest {
          let digest = try await digest(of: sendout)
          guard seen.hasSameBytes(as: digest) else { throw SendoutError.changed(key.sendout) }
        }
      }
      // A time of a series that does not go as it was made makes room for the next. Before its own time changes, that of the next follows from it.
      if before == .scheduled, let series = sendout.series {
        let all = Series(database)
        if verb == .unschedule { try await all.forget(sendout) }
        try await all.makeNext(key.customer, series.id, leaving: key.sendout)
      }
      if verb == .start, before == .draft, sendout.series == nil, try sendout.campaign().repeat != nil {
        throw SendoutError.invalid(field: "repeat", problem: "needs a schedule: schedule the draft, or remove repeat")
      }
      if verb == .start, before == .draft { try await checkTimes(ofStart: sendout) }
      switch verb {
      case .schedule:
        _ = try await checkedTimes(try sendout.campaign())
        sendout = try await schedule(sendout, conditions, templateVersion: version)
      case .unschedule:
        sendout = try Sendout(try await database.query(ScheduleQueries.unschedule, customer, number)[0])
      case .start, .pause, .resume, .cancel:
        sendout = try Sendout(
          try await database.query(
            SendoutQueries.change, customer, number, state.rawValue, version,
            conditions.maximumContacts.map(Int32.init))[0])
      }
      let ledger = Ledger(database)
      switch verb {
      case .schedule, .unschedule: break
      case .start: try await database.query(SendoutQueries.requireRange, number)
      case .pause: try await ledger.hold(key)
      case .resume:
        // One that was late is frozen only now.
        if sendout.state == .freezing { try await database.query(SendoutQueries.requireRange, number) }
        try await ledger.resume(key)
        if let winner = try sendout.campaign().winner,
          let row = try await database.query(WinnerQueries.putOff, customer, number, Int32(winner.afterMinutes)).first
        {
          sendout = try Sendout(row)
        }
      case .cancel: try await ledger.cancel(key)
      }
      try await database.notify(.sendout, key.description)
    }
    return (before, try await reply(sendout, nil))
  }

  /// - Throws: `RegistryError.numberUnknown`.
  public func find(_ customer: CustomerID, _ sendout: SendoutID) async throws -> SendoutReply {
    guard let row = try await database.query(SendoutQueries.find, customer.rawValue, sendout.rawValue).first else {
      throw RegistryError.numberUnknown("sendout")
    }
    let sendout = try Sendout(row)
    return try await reply(sendout, try await Ledger(database).counts(sendout.key))
  }

  func reply(
    _ sendout: Sendout, among apps: [PushApp]? = nil, _ counts: SendoutCounts?
  ) async throws -> SendoutReply {
    let known = if let apps { apps } else { try await PushApps(database).list(sendout.key.customer) }
    var reply = try sendout.reply(apps: known, counts: counts)
    if sendout.state == .draft || sendout.state == .scheduled {
      // What it would start with, not what it was written with.
      if sendout.state == .draft { reply.templateVersion = try await currentTemplate(of: sendout)?.version }
      reply.digest = try await digest(of: sendout)
    }
    return reply
  }

  private func currentTemplate(of sendout: Sendout, isHeld: Bool = false) async throws -> Template? {
    try await SendoutRules.currentTemplate(
      sendout.key.customer, sendout.template?.name, in: database, isHeld: isHeld)
  }

  /// The customer's sendouts, the newest first, without audience, message and counts.
  public func list(
    _ customer: CustomerID, _ page: PageRequest<SendoutID> = PageRequest(),
    matching filter: SendoutFilter = SendoutFilter()
  ) async throws -> Page<SendoutReply, SendoutID> {
    guard filter.name?.utf8.contains(0) != true else { return Page(items: []) }
    let apps = try await PushApps(database).list(customer)
    let rows = try await database.query(
      SendoutQueries.list, customer.rawValue, page.after?.rawValue, page.limit + 1, filter.states?.map(\.rawValue),
      filter.kind?.rawValue, filter.name)
    let replies = try rows.map { try Sendout($0).summary(among: apps) }
    return page.page(of: replies, cursor: \.sendoutId)
  }

  /// The sendout's pushes in the order of their numbers.
  /// - Parameter state: only those in this state; all when `nil`.
  /// - Throws: `RegistryError.numberUnknown`.
  public func pushes(
    _ customer: CustomerID, _ sendout: SendoutID, state: PushState? = nil,
    _ page: PageRequest<PushNumber> = PageRequest()
  ) async throws -> Page<PushReply, PushNumber> {
    guard try await !reading.query(SendoutQueries.find, customer.rawValue, sendout.rawValue).isEmpty else {
      throw RegistryError.numberUnknown("sendout")
    }
    return try await Ledger(reading).pushes(SendoutKey(customer, sendout), state: state, page)
  }
}
