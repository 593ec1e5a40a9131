import Content
import HTTPTypes
import Operations
import Registry
import Wire

/// The composer: who gets a sendout and what it says, on one page.
struct Composer: Sendable {
  let call: ConsoleCall
  /// `nil` for a new sendout.
  let draft: SendoutReply?
  let apps: [PushAppReply]
  let lists: [ListReply]
  let segments: [SegmentReply]
  let templates: [String]
  let form: ComposerForm

  /// Devices of an app that are counted while one writes.
  private static let counted = AudienceRequest.usualLimit
  /// Apps whose devices are counted before they are chosen.
  private static let mostCounted = 20

  /// - Parameter sendout: the draft that is changed; `nil` for a new one.
  init(_ call: ConsoleCall, _ sendout: SendoutID? = nil) async throws {
    self.call = call
    if let sendout {
      let draft = try await call.read(SendoutOperations.show, sendout)
      guard draft.state == .draft else {
        let way = draft.state == .scheduled ? "unschedule it first" : "make a new sendout"
        throw HTTPErrorResponse.conflict(
          "Sendout \(sendout) is \(draft.state.rawValue). Only a draft can be changed: \(way).")
      }
      self.draft = draft
    } else {
      draft = nil
    }
    let apps = try await call.read(
      AppOperations.list, PageRequest(limit: PageRequest<PushAppID>.limits.upperBound)
    ).items
    self.apps = apps
    lists = try await call.read(ListOperations.list, PageRequest(limit: ComposerForm.mostChoices + 1)).items
    segments = try await call.read(SegmentOperations.list, PageRequest(limit: ComposerForm.mostChoices + 1)).items
    templates = try await call.read(TemplateOperations.list, PageRequest(limit: ComposerForm.mostChoices + 1)).items
      .map(\.name)
    let initial = draft.map { ComposerForm.values(of: $0, apps: apps, in: call.zone) } ?? Self.first(apps, call)
    form = ComposerForm(
      values: call.form.isEmpty
        ? FormValues(initial.flatMap { name, values in values.map { (name: name, value: $0) } }) : call.form,
      in: call.zone)
  }

  /// A new sendout goes to every app of the customer but SMS, which costs money.
  private static func first(_ apps: [PushAppReply], _ call: ConsoleCall) -> [String: [String]] {
    var values = ["audience": ["all"], "appIds": ComposerForm.appIDs(apps.filter { $0.appType != .sms })]
    // A page with a set of contacts leads here.
    for (name, field) in [("filter", "audience.filter"), ("segment", "audience.segmentId")] {
      if let given = call.given(name) { (values["audience"], values[field]) = ([name], [given]) }
    }
    return values
  }

  /// Where its form goes.
  private var path: String { draft.map { "/console/sendouts/\($0.sendoutId)/edit" } ?? "/console/new-sendout" }

  // MARK: The page

  /// - Parameters:
  ///   - tried: the message that was sent to try it.
  ///   - zones: which zones come when, if somebody asked for them.
  func view(tried: MessageReply? = nil, zones: PreflightReply? = nil) async throws -> ConsoleView {
    let preview = try await ComposerPreview(form, among: apps, call)
    let audience = try await count()
    let versions = MessageVersion.allCases.map { version in
      version.places(in: form.values).map { form.fields(of: version, at: $0, templates: templates) }
    }
    let fields =
      ComposerForm.fields(apps: apps, lists: lists, segments: segments, templates: templates)
      + ComposerForm.campaignFields(call.settings) + ComposerForm.winnerFields + form.shownFields
    let initial = [ComposerForm.Own.me: call.user.email]
    let typed = call.form.isEmpty ? initial.reduce(form.values) { $0.with($1.key, $1.value) } : form.values
    let filled = FormView(
      fields + versions.flatMap { $0.flatMap(\.self) }, [:], typed, call.refusal.map { form.placed($0) }
    ).values
    func some(_ names: [String]) -> [[String: Any]] { names.compactMap { filled[$0] as? [String: Any] } }
    func hasError(_ names: [String]) -> Bool {
      some(names).contains { ($0["error"] as? String)?.isEmpty == false }
    }
    /// Languages or variants, each with its fields and what its buttons do.
    func fieldsets(_ version: MessageVersion) -> [[String: Any]] {
      let places = version.places(in: form.values)
      let all = versions[version == .translation ? 0 : 1]
      return zip(places, all).enumerated().map { number, one in
        let (place, fields) = one
        return [
          "title": form.title(of: version, at: place) ?? "", "number": number + 1, "id": "\(version.rawValue)-\(place)",
          "fields": some(fields.map(\.name)), "hasMore": !form.isWhole(version, at: place),
          "place": "\(version.rawValue).\(place)",
        ]
      }
    }
    var values: [String: Any] = [
      "path": path, "isDraft": draft != nil, "errors": filled["errors"] ?? [[String: Any]](),
      "whoFields": some(
        ["", ".listId", ".segmentId", ".filter", ".originalIds", ".exclude"].map { "audience\($0)" }),
      "wrong": wrongLines,
      "textFields": some(ComposerForm.texts + ["template"]), "options": some(ComposerForm.options),
      "nameFields": some(["name"]), "contactFields": some([ComposerForm.Own.contact]),
      "meFields": some([ComposerForm.Own.me]), "apps": appValues, "hasApps": !apps.isEmpty,
      "variables": PageContext.variables.map { ["name": $0, "tag": "{{\($0)}}"] },
      "preview": preview.values.merging(["hasOthers": !preview.others.isEmpty]) { $1 },
      "audience": values(of: audience), "hasOptionError": hasError(ComposerForm.options),
      "timeFields": some(ComposerForm.times), "repeatFields": some(ComposerForm.repetitions),
      "paceFields": some(ComposerForm.paces), "limitFields": some(ComposerForm.limits),
      "translations": fieldsets(.translation), "variants": fieldsets(.variant),
      "winnerFields": some(ComposerForm.winnerFields.map(\.name)), "shownFields": some(form.shownFields.map(\.name)),
    ]
    values["shares"] = form.shares
    for (version, name) in [(MessageVersion.translation, "Translation"), (.variant, "Variant")] {
      let count = version.places(in: form.values).count
      values["has\(name)s"] = count > 0
      values["mayAdd\(name)"] = count < version.most
    }
    if let appIDs = some(["appIds"]).first { values["appIds"] = appIDs }
    if let draft { values["id"] = "\(draft.sendoutId)" }
    if let tried { values["tried"] = Self.values(of: tried) }
    if let zones { values["strip"] = ZoneStrip(zones, in: call.zone, hasLocalTime: (try? form.when) == .local).markup }
    return ConsoleView(
      title: draft.map { "Draft: \($0.name)" } ?? "New sendout", template: "compose", values: values,
      sql: draft.map { "SELECT * FROM sendout WHERE customer_id = \(call.customer) AND sendout_id = \($0.sendoutId);" },
      calls: link.map { [$0] } ?? [])
  }

  /// Which zones come when, without anything being stored.
  func zones() async throws -> PreflightReply {
    var request = try form.request()
    request.draft = nil
    return try await call.change(CampaignOperations.preflightUnsaved, (), request)
  }

  /// The form's request as a curl line and a command; `nil` while the form cannot be sent. Of many ids it names three.
  private var link: ConsoleLink? {
    guard var request = try? form.request(isNew: draft == nil) else { return nil }
    if case .originalIds(let ids) = request.audience, ids.count > 3 {
      request.audience = .originalIds(Array(ids.prefix(3)))
    }
    guard let json = try? JSONCoding.encode(request) else { return nil }
    let options = options(request)
    let method = draft == nil ? "POST" : "PUT"
    let url = call.parts.consoleURL + "/api/v1/sendouts" + (draft.map { "/\($0.sendoutId)" } ?? "")
    let body = call.parts.quoted(String(decoding: json, as: UTF8.self))
    return ConsoleLink(
      api: """
        curl -X \(method) -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \(url) -d \(body)
        """,
      command: draft.map { "pushcart sendout change \($0.sendoutId) --customer \(call.customer) \(options)" }
        ?? "pushcart send --draft --customer \(call.customer) \(options)")
  }

  /// The options of a command that says the same, but for those of the message that are seldom set.
  private func options(_ request: SendoutRequest) -> String {
    let audience =
      switch request.audience.included {
      case .all, .excluding: "--all"
      case .list(let list): "--list \(list)"
      case .lists(let lists): "--list " + lists.map(\.description).joined(separator: " ")
      case .originalIds(let ids): "--to " + ids.map(call.parts.quoted).joined(separator: " ")
      case .segment(let segment): "--segment \(segment)"
      case .filter(let filter): "--filter \(call.parts.quoted(filter.text))"
      }
    let exclude = request.audience.exclude.map { ["--exclude \(call.parts.quoted($0.text))"] } ?? []
    let apps = (request.appIds ?? []).map(call.parts.quoted).joined(separator: " ")
    let texts = [
      ("alert", request.message.alert), ("info", request.message.info), ("url", request.message.url),
      ("template", request.template),
    ].compactMap { name, text in text.map { "--\(name) \(call.parts.quoted($0))" } }
    let files = [
      request.message.translations.map { _ in "--translations translations.json" },
      request.campaign.variants.map { _ in "--variants variants.json" },
    ].compactMap(\.self)
    return (["--app \(apps)", audience] + exclude + texts + request.campaign.options + files).joined(separator: " ")
  }

  // MARK: Who

  /// What the audience has, or why it is not known.
  private enum Counted {
    case known(AudienceReply)
    case unknown(String)
  }

  /// Filters that cannot be read, each with its wrong word.
  private var wrongLines: [[String: Any]] {
    let names = (form.values.text("audience") == "filter" ? ["audience.filter"] : []) + ["audience.exclude"]
    return names.flatMap { FilterLine(form.values.text($0)).wrong }
  }

  private func count() async throws -> Counted {
    let appIDs = ComposerForm.appIDs(apps)
    let meant = appIDs.count > Self.mostCounted ? form.appIDs : appIDs
    guard !meant.isEmpty else { return .unknown("Choose an app to see how many devices it has.") }
    guard wrongLines.isEmpty else { return .unknown("The devices are counted once the filter is right.") }
    do {
      return .known(
        try await call.change(
          SendoutOperations.audience, (),
          AudienceRequest(
            appIds: Array(meant.prefix(Self.mostCounted)), audience: try form.audienceRequest(), limit: Self.counted)))
    } catch {
      guard let refusal = ErrorReplies.response(for: error) else { throw error }
      return .unknown(refusal.status.code < 500 ? refusal.sentence : "The devices could not be counted in time.")
    }
  }

  private func values(of count: Counted) -> [String: Any] {
    switch count {
    case .unknown(let problem): return ["isKnown": false, "problem": problem]
    case .known(let reply):
      let total = AudienceReply(apps: reply.apps.filter(isChosen), unknownOriginalIds: reply.unknownOriginalIds)
      let hasApp = !form.appIDs.isEmpty
      return [
        "isKnown": hasApp, "problem": hasApp ? "" : "Choose an app.", "devices": total.written,
        "isNobody": total.devices == 0, "isOne": total.devices == 1,
        "hasCounts": !reply.apps.isEmpty,
        "counts": reply.apps.map { ["appId": $0.appId, "platform": $0.appType.platform, "devices": $0.written] },
        "unknown": total.unknownOriginalIds.flatMap { $0 > 0 ? ComposerForm.grouped($0) : nil } ?? "",
      ]
    }
  }

  private func isChosen(_ app: AudienceReply.App) -> Bool {
    let type = try? form.appType
    return form.appIDs.contains(app.appId) && (type == nil || type == app.appType)
  }

  /// Apps as boxes to tick, each with what is wrong with it.
  private var appValues: [[String: Any]] {
    ComposerForm.appIDs(apps).enumerated().map { number, appID in
      let ofApp = apps.filter { $0.appId == appID }
      return [
        "appId": appID, "id": "\(FormField.id("appIds"))-\(number)", "isSelected": form.appIDs.contains(appID),
        "name": ofApp.first?.name ?? "", "platforms": ofApp.map(\.appType.platform).joined(separator: ", "),
        "alarms": ofApp.compactMap(Self.alarm),
      ]
    }
  }

  private static func alarm(of app: PushAppReply) -> [String: Any]? {
    let problem: (tone: String, text: String)? =
      if app.alarm != nil {
        ("bad", "its credentials are refused")
      } else if app.credentials.isEmpty {
        ("warn", "it has no credentials")
      } else {
        nil
      }
    return problem.map {
      ["tone": $0.tone, "text": $0.text, "platform": app.appType.platform, "pushAppId": "\(app.pushAppId)"]
    }
  }

  // MARK: Trying it

  /// Sends the message to the user, and waits for a moment for the verdicts.
  func tryIt() async throws -> MessageReply {
    guard let me = form.values.text(ComposerForm.Own.me) else {
      throw HTTPErrorResponse.badRequest("me is missing: type the original id that your app has of you.")
    }
    let preview = try form.messageRequest(to: nil)
    guard let appIDs = preview.appIds else { throw HTTPErrorResponse.badRequest("appIds is missing: choose an app.") }
    return try await call.send(
      MessageRequest(
        appIds: appIDs, appType: preview.appType, to: MessageTarget(originalId: String(me.trimmed)),
        message: preview.message, template: preview.template, reference: "test", wait: 3))
  }

  private static func values(of message: MessageReply) -> [String: Any] {
    let sentence =
      switch message.state {
      case .noDevice: "This contact has no device in these apps. Register your phone first."
      case .accepted: "The push service took the test. Look at your phone."
      case .failed: "No push service took the test."
      default: "The test is on its way."
      }
    return [
      "sentence": sentence, "messageId": "\(message.messageId)", "isBad": [.failed, .noDevice].contains(message.state),
      "pushes": message.pushes.map {
        ["platform": $0.appType.platform, "state": $0.state.rawValue, "reason": $0.reason ?? ""]
      },
    ]
  }
}

extension AudienceReply.App {
  /// As in `12,345` or `10,000+`.
  var written: String { ComposerForm.grouped(devices) + (isMore ? "+" : "") }
}

extension AudienceReply {
  /// As in `12,345` or `10,000+`.
  var written: String { ComposerForm.grouped(devices) + (isMore ? "+" : "") }
}

extension CampaignFields {
  /// As the command line has them, but for variants, which stand in a file.
  fileprivate var options: [String] {
    let given: [(String, String?)] = [
      ("start-at", startAt?.description), ("local-time", localTime?.description), ("on-missed", onMissed?.rawValue),
      ("late-minutes", lateMinutes.map { "\($0)" }), ("end-at", endAt?.description),
      ("repeat-every", `repeat`?.every.rawValue), ("repeat-until", `repeat`?.until?.description),
      ("spread-minutes", spreadMinutes.map { "\($0)" }), ("rate-per-second", ratePerSecond.map { "\($0)" }),
      ("quiet-hours", quietHours?.hours.map { "\($0.start)-\($0.end)/\(($0.policy ?? .hold).rawValue)" }),
      ("winner-after-minutes", winner.map { "\($0.afterMinutes)" }),
      ("winner-undecided", winner?.undecided?.rawValue), ("holdout-percent", holdoutPercent.map { "\($0)" }),
      ("pause-at-failed", pauseAtFailed.map { "\($0)" }),
    ]
    var options = given.compactMap { name, value in value.map { "--\(name) \($0)" } }
    let weekdays = `repeat`?.isoDays?.map { Weekday.allCases[$0 - 1].rawValue } ?? []
    let days = weekdays + (`repeat`?.monthDays ?? []).map { "\($0)" }
    if !days.isEmpty { options.append("--repeat-on \(days.joined(separator: " "))") }
    if quietHours == .lifted { options.append("--no-quiet-hours") }
    if ignoreCaps == true { options.append("--ignore-caps") }
    return options
  }
}
