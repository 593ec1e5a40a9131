import DataInOut
import Delivery
import FoundationEssentials
import Operations
import Wire

/// The list of sendouts, and one with its figures.
enum SendoutPages {
  static let pages = [list, one] + RecipientPages.pages
  static let actions = [pause, resume, cancel, unschedule] + CampaignActions.all

  /// Where a sendout is written.
  static let composer = "/console/new-sendout"
  private static let path = "/console/sendouts/{id}"
  private static let pageSize = 25

  // MARK: The list

  private static let list = ConsolePage(
    path: "/console/sendouts", title: "Sendouts", section: .sendouts, reads: [AnyOperation(SendoutOperations.list)],
    query: ["name", "state", "kind", "after"]
  ) { call in
    let name = call.given("name")
    let state = try call.given("state", SendoutState.self)
    // Single messages of a day are rows of their own, which marketers rarely look for.
    let kind = try call.given("kind") == "all" ? nil : call.given("kind", SendoutKind.self) ?? .broadcast
    let page = try call.page(SendoutID.self, limit: pageSize)
    let found = try await call.read(SendoutOperations.list, ((((state, kind), name), true), page))
    let isFiltered = name != nil || state != nil || call.given("kind") != nil
    return ConsoleView(
      title: "Sendouts", template: "sendouts",
      values: [
        "rows": found.items.map { call.row($0) }, "isEmpty": found.items.isEmpty, "isFiltered": isFiltered,
        "isFresh": !isFiltered && page.after == nil, "name": name ?? "",
        "states": choices(SendoutState.allCases.map { ($0.rawValue, $0.word) }, state?.rawValue),
        "kinds": choices(
          [("broadcast", "To an audience"), ("stream", "Single messages of a day"), ("all", "All")],
          call.given("kind") ?? SendoutKind.broadcast.rawValue),
        "maySend": call.allows(SendoutOperations.add), "compose": composer, "customer": call.customer.description,
        "pager": call.pager("/console/sendouts", found.next?.description, keeping: ["name", "state", "kind"]),
      ],
      sql: """
        SELECT * FROM report.sendout_totals WHERE customer_id = \(call.customer)\
        \(state.map { " AND state = \(call.sqlText($0.rawValue))" } ?? "")\
        \(name.map { " AND starts_with(lower(name), lower(\(call.sqlText($0))))" } ?? "")
         ORDER BY sendout_id DESC LIMIT \(pageSize);
        """,
      isLive: found.items.contains { $0.state.isActive })
  }

  private static func choices(_ all: [(value: String, label: String)], _ chosen: String?) -> [[String: Any]] {
    all.map { ["value": $0.value, "label": $0.label, "isSelected": $0.value == chosen] }
  }

  // MARK: One

  private static let one = ConsolePage(
    path: path, title: "Sendout", section: .sendouts,
    reads: [
      AnyOperation(SendoutOperations.show), AnyOperation(SendoutOperations.figures),
      AnyOperation(CampaignOperations.figures),
    ], query: ["exact"]
  ) { call in
    let id: SendoutID = try call.number()
    let sendout = try await call.read(SendoutOperations.show, id)
    let figures = try await call.read(SendoutOperations.figures, id)
    var values = call.row(sendout)
    values.merge(call.figures(figures, of: sendout)) { $1 }
    // The part that is read again and again has none of it.
    if call.query.value("part") != "live" {
      let campaign = try await call.read(CampaignOperations.figures, (id, try call.query.flag("exact") ?? false))
      values.merge(call.campaign(campaign, of: sendout)) { $1 }
    }
    values["due"] = call.due(sendout)
    values["halt"] = call.halt(sendout)
    values["undo"] = call.secondsToUndo(sendout).map { [["seconds": $0]] } ?? []
    values["copies"] =
      sendout.kind == .broadcast && call.allows(CampaignOperations.copy)
      ? [["audiences": CampaignActions.audiences(sendout)]] : []
    values["message"] = sendout.message.map { message($0) } ?? []
    let audience = sendout.audience?.words(counting: ChartText.grouped) ?? "original ids, which retention has deleted"
    values["audienceText"] = audience.beginningUpper + "."
    if case .segment(let segment) = sendout.audience?.included, call.allows(SegmentOperations.show) {
      values["segment"] = "\(segment)"
    }
    values["page"] = sendout.template.map { "\($0), version \(sendout.templateVersion ?? 0)" } ?? ""
    values["policy"] =
      sendout.onUncertain == .resend
      ? "Pushes that may have left are sent again: nobody is missed."
      : "Pushes that may have left are not sent again: nobody gets two."
    values["moments"] = [
      ("Created", sendout.createdAt), ("Started", sendout.startedAt), ("Audience written", sendout.frozenAt),
      ("Ended", sendout.finishedAt), ("Deleted by retention", sendout.expiredAt),
    ].compactMap { label, at -> [String: Any]? in at.map { ["label": label, "at": call.zone.time($0)] } }
    values["unknown"] = sendout.unknownOriginalIds.map { $0 > 0 ? ChartText.grouped($0) : "" } ?? ""
    values["verbs"] = verbs(sendout, call)
    let isBegun = sendout.state != .draft && sendout.state != .scheduled
    values["isBegun"] = isBegun
    values["export"] =
      !isBegun ? "" : DownloadPages.link(call, .pushes, sendout: sendout.sendoutId)
    // A verb that its state does not allow any more.
    values["form"] = call.formView([])
    values["hasRecipients"] =
      figures.counts.audience > 0 && sendout.expiredAt == nil && call.allows(SendoutOperations.recipients)
    values["isDraft"] = sendout.state == .draft
    values["isScheduled"] = sendout.state == .scheduled
    return ConsoleView(
      title: sendout.name, template: "sendout", values: values,
      sql: """
        SELECT * FROM report.funnel WHERE customer_id = \(call.customer) AND sendout_id = \(id) ORDER BY step;
        SELECT * FROM report.failures WHERE customer_id = \(call.customer) AND sendout_id = \(id) ORDER BY pushes DESC;
        SELECT * FROM report.opens_by_hour WHERE customer_id = \(call.customer) AND sendout_id = \(id) ORDER BY hour;
        SELECT * FROM report.variants WHERE customer_id = \(call.customer) AND sendout_id = \(id);
        SELECT * FROM report.local_times WHERE customer_id = \(call.customer) AND sendout_id = \(id) ORDER BY planned_at;
        SELECT * FROM report.left_out WHERE customer_id = \(call.customer) AND sendout_id = \(id) ORDER BY contacts DESC;
        """,
      isLive: sendout.state.isActive || call.startsSoon(sendout))
  }

  /// The fields of a message as the API has them, those first that people see. Each of a translation says which language it has.
  static func message(_ message: MessageBody) -> [[String: Any]] {
    guard case .object(let members) = try? JSONValue(encoding: message) else { return [] }
    let first = ["title", "subtitle", "alert", "info"]
    func place(_ name: String) -> Int { first.firstIndex { $0.utf8.elementsEqual(name.utf8) } ?? first.count }
    func lines(_ members: [UTF8String: JSONValue], in language: String) -> [[String: Any]] {
      members.map { ($0.key.text, $0.value) }
        .sorted { (place($0.0), UTF8String($0.0)) < (place($1.0), UTF8String($1.0)) }
        .flatMap { name, value -> [[String: Any]] in
          if name == "translations", case .object(let languages) = value {
            return languages.sorted { $0.key < $1.key }.flatMap { language, translation -> [[String: Any]] in
              guard case .object(let members) = translation else { return [] }
              return lines(members, in: " (\(language.text))")
            }
          }
          if case .string(let text) = value { return [["name": name + language, "text": text]] }
          let json = String(decoding: (try? JSONCoding.encode(value)) ?? [], as: UTF8.self)
          return [["name": name + language, "json": json]]
        }
    }
    return lines(members, in: "")
  }

  // MARK: Verbs

  /// What can be done to the sendout in its state, each with its key.
  private static func verbs(_ sendout: SendoutReply, _ call: ConsoleCall) -> [[String: Any]] {
    // A draft is edited and checked by the composer. What stops a sendout asks first.
    let verbs: [(verb: String, label: String, key: String, tone: String)] =
      switch sendout.state {
      case .draft:
        [("check", "Check and send", "", "primary"), ("edit", "Edit", "", ""), ("cancel", "Cancel", "x", "danger")]
      case .scheduled: [("unschedule", "Unschedule", "u", ""), ("cancel", "Cancel", "x", "danger")]
      case .freezing, .running: [("pause", "Pause", "p", ""), ("cancel", "Cancel", "x", "danger")]
      case .paused: [("resume", "Resume", "p", "primary"), ("cancel", "Cancel", "x", "danger")]
      case .cancelled, .finished: []
      }
    guard call.allows(SendoutOperations.pause) else { return [] }
    return verbs.map { verb in
      [
        "href": "/console/sendouts/\(sendout.sendoutId)/\(verb.verb)", "label": verb.label, "key": verb.key,
        "tone": verb.tone, "asks": actions.contains { $0.path == "\(path)/\(verb.verb)" },
      ]
    }
  }

  private static let pause = action(
    SendoutOperations.pause, "pause", "Pause the sendout?", "Pause the sendout", isDestructive: false,
    "They wait until it is resumed. Pushes that a hub is sending at this moment still leave.", done: "is paused")
  private static let resume = action(
    SendoutOperations.resume, "resume", "Resume the sendout?", "Resume the sendout", isDestructive: false,
    "They are sent now.", done: "goes on")
  private static let cancel = action(
    SendoutOperations.cancel, "cancel", "Cancel the sendout?", "Cancel the sendout", isDestructive: true,
    "They never are. This cannot be undone. What was sent stays sent, and its opens still count.",
    done: "is cancelled")

  private static let unschedule = action(
    SendoutOperations.unschedule, "unschedule", "Bring the sendout back?", "Make it a draft", isDestructive: false,
    "It does not start by itself then.", done: "is a draft again")

  private static func action(
    _ operation: Operation<SendoutID, Void, SendoutReply>, _ verb: String, _ title: String, _ button: String,
    isDestructive: Bool, _ consequence: String, done: String
  ) -> ConsoleAction {
    ConsoleAction(
      path: "\(path)/\(verb)", operation: AnyOperation(operation),
      confirms: Confirmation(title: title, button: button, isDestructive: isDestructive) { call in
        let sendout = try await call.read(SendoutOperations.show, try call.number("id", SendoutID.self))
        return "\(sendout.words) \(consequence)"
      }, form: path
    ) { call in
      let id: SendoutID = try call.number()
      let sendout = try await call.change(operation, id, ())
      return .see("/console/sendouts/\(id)", notice: "Sendout \(id), \(sendout.name), \(done).")
    }
  }
}

extension SendoutReply {
  /// What a confirmation says of it: its name, and how many pushes are concerned.
  fileprivate var words: String {
    guard let counts, counts.audience > 0 else { return "“\(name)” has not been written into the ledger yet." }
    return """
      “\(name)” went to \(ChartText.grouped(counts.sent)) of \(ChartText.grouped(counts.audience)) devices. \
      \(ChartText.grouped(counts.left)) pushes are not sent yet.
      """
  }
}

extension ConsoleCall {
  /// Funnel, pace, reasons and opens of a sendout.
  fileprivate func figures(_ figures: SendoutFigures, of sendout: SendoutReply) -> [String: Any] {
    let counts = figures.counts
    var values: [String: Any] = [
      "hasPushes": counts.audience > 0, "audience": ChartText.grouped(counts.audience), "progress": counts.progress,
      "done": ChartText.percent(counts.done, of: counts.audience),
      "funnel": Figures.funnel([
        Figures.Stage(name: "Audience", count: counts.audience), Figures.Stage(name: "Sent", count: counts.sent),
        Figures.Stage(name: "Accepted", count: counts.accepted), Figures.Stage(name: "Opened", count: counts.opened),
      ]),
      "openRate": counts.accepted > 0 ? ChartText.percent(counts.opened, of: counts.accepted) : "",
      "opens": ChartText.grouped(figures.opens),
      "opened": ChartText.grouped(counts.opened),
      "isRunning": figures.state == .running, "pace": ChartText.grouped(figures.settledLately),
      "left": ChartText.grouped(counts.left), "secondsLeft": figures.secondsLeft.map { Self.duration($0) } ?? "",
      "others": [
        ("Not sent yet", counts.queued), ("Being sent", counts.sending), ("Tried again later", counts.waiting),
        ("Failed", counts.failed), ("Uncertain", counts.uncertain), ("Skipped", counts.skipped),
        ("Cancelled", counts.cancelled),
      ].filter { $0.1 > 0 }.map { ["label": $0.0, "count": ChartText.grouped($0.1)] as [String: Any] },
      "reasons": figures.reasons.map { reason in
        [
          "state": reason.state.badge, "reason": reason.reason,
          "services": ReasonHelp(reason.reason, of: sendout.apps.map(\.appType)).services.asList(),
          "pushes": (reason.isEstimate ? "≈ " : "") + ChartText.grouped(reason.pushes),
          "meaning": reason.meaning ?? "", "advice": reason.advice ?? "",
        ] as [String: Any]
      },
      "hasReasons": !figures.reasons.isEmpty, "isEstimate": figures.reasons.contains(where: \.isEstimate),
    ]
    values["opensChart"] = opensChart(figures.hours).markup
    return values
  }

  /// First opens of the first days, hour by hour, hours without any included.
  private func opensChart(_ hours: [OpenHour]) -> Chart {
    var points: [Chart.Point] = []
    if let first = hours.first?.hour.date {
      let counts = Dictionary(hours.map { ($0.hour.date, $0.firstOpens) }, uniquingKeysWith: +)
      let end = first.addingTimeInterval(Double(SendoutPages.hoursShown - 1) * 3600)
      let last = min(hours.last?.hour.date ?? first, end)
      var hour = first
      while hour <= last {
        let text = zone.text(hour)
        points.append(Chart.Point(short: String(text.suffix(5)), label: text, value: counts[hour] ?? 0))
        hour.addTimeInterval(3600)
      }
    }
    var chart = Chart(
      id: "opens", title: "First opens by hour",
      description: """
        How many pushes were first opened in each hour, up to \(SendoutPages.hoursShown) hours, in \(zone.name).
        """,
      form: points.count > 1 ? .line : .bars, unit: "Hour", points: points)
    chart.series = "s2"
    return chart
  }

  /// As in `3 min`.
  static func duration(_ seconds: Int) -> String {
    switch seconds {
    case ..<60: "\(seconds) s"
    case ..<3600: "\((seconds + 59) / 60) min"
    default: "\(seconds / 3600) h \(seconds % 3600 / 60) min"
    }
  }
}

extension SendoutPages {
  /// How many hours of opens a page shows.
  static let hoursShown = 72
}
