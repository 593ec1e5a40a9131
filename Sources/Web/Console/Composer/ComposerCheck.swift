import Embedded
import Operations
import Registry
import Wire

/// What one looks at before a draft is sent or scheduled: who gets it when, what it looks like, and what is wrong with it.
struct ComposerCheck: Sendable {
  let call: ConsoleCall
  let draft: SendoutReply

  /// Original ids that the page shows.
  private static let shownIDs = 5
  /// Devices of an app up to which the page waits for its preflight. With more, the page comes first, and reads the preflight by itself.
  static let mostAtOnce = 20_000
  /// The parameter by which the page waits for its preflight, however long that takes.
  static let waiting = "wait"
  /// Seconds in which a start can be taken back.
  private static let secondsToUndo = 10

  init(_ call: ConsoleCall, _ sendout: SendoutID) async throws {
    self.call = call
    draft = try await call.read(SendoutOperations.show, sendout)
    guard draft.state == .draft else {
      let state = draft.state == .scheduled ? "scheduled already" : "\(draft.state.rawValue): it was started already"
      throw HTTPErrorResponse.conflict("Sendout \(sendout) is \(state).")
    }
  }

  /// Whether the number of devices has to be typed.
  private func isTyped(_ devices: Int) -> Bool { devices > Int(call.settings.sendThreshold) }

  /// Whether somebody else has to start it.
  private var isOwn: Bool { call.settings.approval && draft.writtenBy == call.user.user }

  // MARK: The page

  /// What the sendout would do now, or why that is not known.
  private enum Told {
    case known(PreflightReply)
    case unknown(String)
    /// The page asks for it once more.
    case late
  }

  /// - Parameter isAnswer: whether the page tells what came of a form, which is not read again.
  private func preflight(isAnswer: Bool) async throws -> Told {
    let isWanted = call.given("part") == "live" || call.given(Self.waiting) != nil
    if !isAnswer, !isWanted, await isLarge() { return .late }
    do {
      return .known(try await call.read(CampaignOperations.preflight, draft.sendoutId))
    } catch {
      guard let refusal = ErrorReplies.response(for: error) else { throw error }
      return .unknown(refusal.sentence)
    }
  }

  /// Whether an app has so many devices that a preflight may take seconds. Of who meets a filter is not looked at.
  private func isLarge() async -> Bool {
    guard let included = draft.audience?.included else { return false }
    let bound: Audience
    switch included {
    case .originalIds: return false
    case .list, .lists: bound = included
    case .all, .segment, .filter, .excluding: bound = .all
    }
    let ids = draft.apps.map(\.appId).reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }
    let request = AudienceRequest(appIds: ids, audience: bound, limit: Self.mostAtOnce)
    // What cannot be counted is told by the preflight.
    let counted = try? await call.change(SendoutOperations.audience, (), request)
    return counted?.apps.contains { $0.isMore } == true
  }

  /// - Parameter tested: what came of a test.
  func view(tested: SendoutTestReply? = nil) async throws -> ConsoleView {
    let apps = try await call.read(
      AppOperations.list, PageRequest(limit: PageRequest<PushAppID>.limits.upperBound)
    ).items
    let form = shownForm(apps)
    let preview = try await ComposerPreview(form, among: apps, call)
    let told = try await preflight(isAnswer: tested != nil || call.refusal != nil)
    var (isLate, calls) = (false, [link])
    var values: [String: Any] = [
      "id": "\(draft.sendoutId)", "seen": draft.digest ?? "", "name": draft.name, "who": try await who(),
      "isOwn": isOwn, "approves": call.settings.approval && !isOwn, "hasTime": draft.campaign.hasTime,
      "digest": String((draft.digest ?? "").prefix(12)), "undo": "\(Self.secondsToUndo)", "facts": facts,
      "template": draft.template.map { "\($0), version \(draft.templateVersion ?? 1)" } ?? "",
      "preview": preview.values, "isSendable": false, "isKnown": false,
      "shownFields": FormView(form.shownFields, [:], form.values).values["fields"] ?? [[String: Any]](),
      "contact": call.given(ComposerForm.Own.contact) ?? "",
      "tests": call.allows(CampaignOperations.test) ? [tests(tested)] : [],
    ]
    var problems =
      draft.unknownOriginalIds.flatMap { unknown in
        unknown > 0 ? ["\(ComposerForm.grouped(unknown)) of the original ids belong to nobody. They are skipped."] : nil
      } ?? []
    problems += (preview.problem.map { [$0] } ?? []) + preview.warnings
    switch told {
    case .late:
      isLate = true
      calls.append(call.parts.link(to: CampaignOperations.preflight, draft.sendoutId, of: call.customer))
    case .unknown(let problem): problems.insert(problem, at: 0)
    case .known(let told):
      problems.insert(contentsOf: Self.problems(told), at: 0)
      values.merge(self.values(of: told)) { $1 }
    }
    values["isLate"] = isLate
    values["whole"] = "/console/sendouts/\(draft.sendoutId)/check?\(Self.waiting)=yes"
    values["problems"] = problems.map { ["text": $0] }
    values["hasProblems"] = !problems.isEmpty
    if values["errors"] == nil { values["errors"] = call.refusals }
    return ConsoleView(
      title: "Check and send", template: "compose-check", values: values,
      sql: """
        SELECT name, audience, message, campaign FROM sendout
         WHERE customer_id = \(call.customer) AND sendout_id = \(draft.sendoutId);
        """, calls: calls, isLive: isLate)
  }

  /// What the preflight tells, and the form that sends.
  private func values(of told: PreflightReply) -> [String: Any] {
    let devices = told.devices
    let form = sendForm(told)
    let test = call.formView(testFields, of: Self.testPath)
    return [
      "isKnown": true, "devices": ComposerForm.grouped(devices), "counted": "\(devices)", "isOne": devices == 1,
      "contacts": ComposerForm.grouped(told.left), "isOneContact": told.left == 1,
      // Who is in the audience by the time that it starts is not known yet.
      "isSendable": !isOwn && (devices > 0 || draft.campaign.hasTime),
      "fields": form["fields"] ?? [[String: Any]](), "errors": form["errors"] ?? test["errors"] ?? [[String: Any]](),
      "waterfall": Waterfall(told.steps).markup, "asOf": call.zone.time(told.asOf),
      "held": told.held > 0 ? ComposerForm.grouped(told.held) : "", "isOneHeld": told.held == 1,
      "apps": told.apps.map {
        ["appId": $0.appId, "platform": $0.appType.platform, "devices": ComposerForm.grouped($0.devices)]
      },
      "firstAt": told.firstAt.map { [call.zone.time($0)] } ?? [],
      "lastAt": told.lastAt.map { [call.zone.time($0)] } ?? [],
      "strip": told.zones.isEmpty
        ? Markup("") : ZoneStrip(told, in: call.zone, hasLocalTime: draft.campaign.localTime != nil).markup,
      "warnings": warnings(told.warnings), "hasWarnings": !told.warnings.isEmpty,
    ]
  }

  /// The draft's fields, with the contact, the variant and the language that somebody wants to see.
  private func shownForm(_ apps: [PushAppReply]) -> ComposerForm {
    let initial = ComposerForm.values(of: draft, apps: apps, in: call.zone)
    var values = FormValues(initial.flatMap { name, values in values.map { (name: name, value: $0) } })
    for name in ComposerForm.Own.shown {
      if let given = call.given(name) { values = values.with(name, given) }
    }
    return ComposerForm(values: values, in: call.zone)
  }

  private func who() async throws -> String {
    try await included() + (draft.audience?.exclusionWords ?? "")
  }

  private func included() async throws -> String {
    guard let audience = draft.audience?.included else { return "Nobody: its original ids have been deleted" }
    switch audience {
    case .list(let list):
      let name = try await call.read(ListOperations.list, PageRequest(after: ListID(list.rawValue - 1), limit: 1)).items
        .first { $0.listId == list }?.name
      return name.map { "The list \($0) (\(list))" } ?? "The list \(list)"
    case .originalIds(let ids):
      let rest = ids.count - Self.shownIDs
      return ids.prefix(Self.shownIDs).joined(separator: ", ")
        + (rest > 0 ? " and \(ComposerForm.grouped(rest)) more" : "")
    case .segment(let segment):
      let found = try await call.read(
        SegmentOperations.list, PageRequest(after: SegmentID(segment.rawValue - 1), limit: 1)
      ).items.first { $0.segmentId == segment }
      guard let found else { return "The segment \(segment)" }
      return "The segment \(found.name) (\(segment))" + (found.text.map { ": \($0)" } ?? "")
    case .all, .lists, .filter, .excluding: return audience.words().beginningUpper
    }
  }

  private static func problems(_ told: PreflightReply) -> [String] {
    guard told.devices > 0 else {
      return ["Nobody would get it: no contact of the audience who is left has a device in these apps."]
    }
    return told.apps.filter { $0.devices == 0 }.map { "\($0.appType.platform), \($0.appId): no device." }
  }

  /// What does the same elsewhere.
  private var link: ConsoleLink {
    let link = call.parts.link(to: SendoutOperations.schedule, draft.sendoutId, of: call.customer)
    let digest = draft.digest ?? ""
    let seconds = draft.campaign.hasTime ? nil : Self.secondsToUndo
    let json = #"{"digest":"\#(digest)"\#(seconds.map { #","inSeconds":\#($0)"# } ?? "")}"#
    return ConsoleLink(
      api: "\(link.api) -H 'Content-Type: application/json' -d '\(json)'",
      command: link.command.map { "\($0) --digest \(digest)" + (seconds.map { " --in-seconds \($0)" } ?? "") })
  }

  // MARK: Sending

  private static let path = "/console/sendouts/{id}/check"
  private static let testPath = "/console/sendouts/{id}/check/test"

  private func sendForm(_ told: PreflightReply) -> [String: Any] {
    var fields = [
      SendoutStart.form.field(
        "maximumContacts", label: "At most so many contacts",
        hint: "With more left once its audience is fixed, it pauses for a person. Empty for no limit.")
    ]
    if isTyped(told.devices) {
      fields.insert(
        FormField(
          "devices", label: "Number of devices",
          hint: "Type \(Self.typed(told.devices)) to send to \(ComposerForm.grouped(told.devices)) devices.",
          isRequired: true), at: 0)
    }
    // Each time of a series has its own audience.
    let most = draft.campaign.repeat == nil && told.left > 0 ? "\(told.left + told.left / 10 + 10)" : nil
    return call.formView(fields, ["maximumContacts": most], of: Self.path)
  }

  /// Starts the sendout in some seconds, or schedules it at its time, if it still says what the page showed. The number of devices that the page
  /// showed has to be typed where that is wanted.
  func start() async throws {
    let devices = try await shownDevices()
    if isTyped(devices) {
      guard Int((call.form.text("devices") ?? "").filter(\.isNumber)) == devices else {
        throw HTTPErrorResponse.badRequest(
          "devices must be \(Self.typed(devices)): the sendout goes to \(ComposerForm.grouped(devices)) devices.")
      }
    }
    let most: Int? = try call.form.number("maximumContacts")
    guard most.map({ (1...Int(Int32.max)).contains($0) }) ?? true else {
      throw HTTPErrorResponse.badRequest("maximumContacts must be at least 1, and at most \(Int32.max).")
    }
    // A form without what it has shown is one of before: it is refused like one that shows another draft.
    let conditions = SendoutStart(
      digest: call.form.text("seen") ?? "", maximumContacts: most,
      inSeconds: draft.campaign.hasTime ? nil : Self.secondsToUndo)
    _ = try await call.change(SendoutOperations.schedule, draft.sendoutId, conditions)
  }

  private static func typed(_ devices: Int) -> String { ComposerForm.grouped(devices) }

  /// How many devices the page showed. They are not counted once more, which takes seconds for a large audience: the digest holds what the sendout
  /// says, and `maximumContacts` how many it may reach.
  private func shownDevices() async throws -> Int {
    if let shown = call.form.text("counted").flatMap({ Int($0) }), shown >= 0 { return shown }
    return try await call.read(CampaignOperations.preflight, draft.sendoutId).devices
  }

  // MARK: Testing

  private var testFields: [FormField] {
    let variants = (draft.campaign.variants ?? []).map { FormField.Choice($0.name) }
    let languages = (draft.message?.translations ?? [:]).keys.sorted().map { FormField.Choice($0.text) }
    let request = SendoutTestRequest.form
    return [
      request.field(
        "originalIds", label: "To", kind: .area(rows: 2), hint: "Original ids, one a line, 20 at most.")
    ]
      + (variants.isEmpty
        ? []
        : [
          request.field(
            "variant", label: "Variant", kind: .choice(variants), hint: "The message itself if none is chosen.")
        ])
      + (languages.isEmpty
        ? []
        : [
          request.field(
            "language", label: "Language", kind: .choice(languages), hint: "Each contact's own if none is chosen.")
        ])
  }

  /// Sends it to the contacts that the form names.
  func test() async throws -> SendoutTestReply {
    var members: [UTF8String: JSONValue] = [
      "originalIds": .array(call.form.lines("originalIds").map { .string($0) })
    ]
    for name in ["variant", "language"] { members[UTF8String(name)] = call.form.text(name).map { .string($0) } }
    let request: SendoutTestRequest = try SendoutTestRequest.schema.decode(from: JSONValue.object(members).json)
    return try await call.change(CampaignOperations.test, draft.sendoutId, request)
  }

  private func tests(_ tested: SendoutTestReply?) -> [String: Any] {
    let typed = ["originalIds", "variant", "language"].map { ($0, tested == nil ? nil : call.form.text($0)) }
    var initial = Dictionary(uniqueKeysWithValues: typed)
    if tested == nil { initial["originalIds"] = call.user.email }
    var values: [String: Any] = ["fields": call.formView(testFields, initial, of: Self.testPath)["fields"] ?? ""]
    if let tested {
      values["tested"] = [
        "messages": tested.messageIds.map { ["id": "\($0)"] }, "hasMessages": !tested.messageIds.isEmpty,
        "others": [
          ("Nobody has this original id", tested.unknownOriginalIds),
          ("Suppressed, so nothing was sent", tested.suppressedOriginalIds),
          ("Without a device of these apps", tested.withoutDevice),
        ].flatMap { text, ids in ids.map { ["text": text, "originalId": $0] } },
      ]
    }
    return values
  }
}

extension PreflightReply {
  /// That would get a push.
  var devices: Int { apps.reduce(0) { $0 + $1.devices } }
}
