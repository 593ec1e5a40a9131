import Operations
import Registry
import Wire

/// What one looks at before a draft is sent: who gets it, what it looks like, and what is wrong with it.
struct ComposerCheck: Sendable {
  let call: ConsoleCall
  let draft: SendoutReply
  let count: AudienceReply

  /// Devices of an app that are counted before it is sent.
  private static let counted = 100_000
  /// Original ids that the page shows.
  private static let shownIDs = 5

  init(_ call: ConsoleCall, _ sendout: SendoutID) async throws {
    self.call = call
    draft = try await call.read(SendoutOperations.show, sendout)
    guard draft.state == .draft else {
      throw HTTPErrorResponse.conflict("Sendout \(sendout) is \(draft.state.rawValue): it was started already.")
    }
    let types = Set(draft.apps.map(\.appType))
    let all = try await call.change(
      SendoutOperations.audience, (),
      AudienceRequest(
        appIds: draft.apps.map(\.appId).reduce(into: []) { if !$0.contains($1) { $0.append($1) } },
        appType: types.count == 1 ? types.first : nil, audience: draft.audience ?? .all, limit: Self.counted))
    let meant = Set(draft.apps.map(\.pushAppId))
    count = AudienceReply(
      apps: all.apps.filter { meant.contains($0.pushAppId) }, unknownOriginalIds: all.unknownOriginalIds)
  }

  /// Whether the number of devices has to be typed.
  private var isTyped: Bool { count.isMore || count.devices > Int(call.settings.sendThreshold) }

  /// Whether somebody else has to start it.
  private var isOwn: Bool { call.settings.approval && draft.writtenBy == call.user.user }

  // MARK: The page

  func view() async throws -> ConsoleView {
    let apps = try await call.read(
      AppOperations.list, PageRequest(limit: PageRequest<PushAppID>.limits.upperBound)
    ).items
    let initial = ComposerForm.values(of: draft, apps: apps)
    var values = FormValues(initial.flatMap { name, values in values.map { (name: name, value: $0) } })
    if let contact = call.query.value(ComposerForm.Own.contact) {
      values = values.with(ComposerForm.Own.contact, contact)
    }
    let preview = try await ComposerPreview(ComposerForm(values: values), among: apps, call)
    let problems = problems(preview)
    let field = FormField(
      "devices", label: "Number of devices", hint: "Type \(typed) to send to \(count.written) devices.",
      isRequired: true)
    let form = call.formView([field])
    return ConsoleView(
      title: "Check and send", template: "compose-check",
      values: [
        "id": "\(draft.sendoutId)", "seen": draft.digest ?? "", "name": draft.name, "who": try await who(),
        "devices": count.written, "counted": "\(count.devices)", "isTyped": isTyped, "isOwn": isOwn,
        "isOne": count.devices == 1,
        "isSendable": !isOwn && count.devices > 0,
        "fields": form["fields"] ?? [[String: Any]](), "errors": form["errors"] ?? [[String: Any]](),
        "apps": count.apps.map {
          ["appId": $0.appId, "platform": $0.appType.platform, "devices": $0.written]
        }, "problems": problems.map { ["text": $0] }, "hasProblems": !problems.isEmpty,
        "template": draft.template.map { "\($0), version \(draft.templateVersion ?? 1)" } ?? "",
        "preview": preview.values, "isToAll": draft.audience == .all,
      ],
      calls: [call.parts.link(to: SendoutOperations.start, draft.sendoutId, of: call.customer)])
  }

  private func who() async throws -> String {
    let excluded = draft.audience?.exclude.map { ", but not who meets \($0.text)" } ?? ""
    return try await included() + excluded
  }

  private func included() async throws -> String {
    switch draft.audience?.included {
    case .all, .excluding: return "Every contact"
    case .list(let list):
      let name = try await call.read(ListOperations.list, PageRequest(after: ListID(list.rawValue - 1), limit: 1)).items
        .first { $0.listId == list }?.name
      return name.map { "The list \($0) (\(list))" } ?? "The list \(list)"
    case .lists(let lists): return "The lists \(lists.map(\.description).joined(separator: ", ")), each contact once"
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
    case .filter(let filter): return "Contacts who meet \(filter.text)"
    case nil: return "Nobody: its original ids have been deleted"
    }
  }

  private func problems(_ preview: ComposerPreview) -> [String] {
    var problems: [String] = []
    if count.devices == 0 {
      problems.append("Nobody would get it: no contact of the audience has a device in these apps.")
    }
    for app in count.apps where app.devices == 0 && count.devices > 0 {
      problems.append("\(app.appType.platform), \(app.appId): no device.")
    }
    if let unknown = count.unknownOriginalIds, unknown > 0 {
      problems.append("\(ComposerForm.grouped(unknown)) of the original ids belong to nobody. They are skipped.")
    }
    return problems + (preview.problem.map { [$0] } ?? []) + preview.warnings
  }

  // MARK: Sending

  /// Starts the sendout, once the number of its devices was typed where that is wanted, if it still says what the page showed.
  func start() async throws {
    if isTyped {
      let number = Int((call.form.text("devices") ?? "").filter(\.isNumber))
      guard let number, number == count.devices || number == confirmed else {
        throw HTTPErrorResponse.badRequest("devices must be \(typed): the sendout goes to \(count.written) devices.")
      }
    }
    // A form without it is one of before: it is refused like one that shows another draft.
    let seen = SendoutStart(digest: call.form.text("seen") ?? "")
    _ = try await call.change(SendoutOperations.start, draft.sendoutId, seen)
  }

  private var typed: String { ComposerForm.grouped(count.devices) }

  /// The number that the page showed, if not many devices have come or gone since.
  private var confirmed: Int? {
    guard let shown = call.form.text("counted").flatMap({ Int32($0) }).map(Int.init), shown >= 0,
      abs(count.devices - shown) <= count.devices / 20 + 5
    else { return nil }
    return shown
  }
}
