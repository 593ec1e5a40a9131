import FoundationEssentials
import Operations
import Wire

/// New sendouts and drafts: written, tried, checked and sent.
enum ComposerPages {
  static let pages = [
    ConsolePage(
      path: new, title: "New sendout", section: .sendouts, reads: reads, query: ["filter", "segment"]
    ) { call in try await Composer(call).view() },
    ConsolePage(path: edit, title: "Draft", section: .sendouts, reads: reads) { call in
      try await Composer(call, try call.number()).view()
    },
    ConsolePage(
      path: check, title: "Check and send", section: .sendouts, reads: reads,
      query: ComposerForm.Own.shown + [ComposerCheck.waiting]
    ) { call in try await ComposerCheck(call, try call.number()).view() },
    ConsolePage(
      path: undo, title: "Starting", section: .sendouts,
      reads: [AnyOperation(SendoutOperations.show), AnyOperation(SendoutOperations.unschedule)]
    ) { call in try await started(call) },
  ]

  static let actions = [
    ConsoleAction(path: new, operation: AnyOperation(SendoutOperations.add), form: new) { call in
      let request = try ComposerForm(values: call.form, in: call.zone).request(isNew: true)
      return next(try await call.change(SendoutOperations.add, (), request), call)
    },
    ConsoleAction(path: edit, operation: AnyOperation(SendoutOperations.change), form: edit) { call in
      let request = try ComposerForm(values: call.form, in: call.zone).request()
      return next(try await call.change(SendoutOperations.change, try call.number(), request), call)
    },
    ConsoleAction(path: "\(new)/preview", operation: AnyOperation(SendoutOperations.add), form: new) { call in
      .show(try await shown(try await Composer(acted(call)), call))
    },
    ConsoleAction(path: "\(edit)/preview", operation: AnyOperation(SendoutOperations.change), form: edit) { call in
      .show(try await shown(try await Composer(acted(call), try call.number()), call))
    },
    ConsoleAction(path: "\(new)/test", operation: AnyOperation(MessageOperations.send), form: new) { call in
      let composer = try await Composer(call)
      return .show(try await composer.view(tried: try await composer.tryIt()))
    },
    ConsoleAction(path: "\(edit)/test", operation: AnyOperation(MessageOperations.send), form: edit) { call in
      let composer = try await Composer(call, try call.number())
      return .show(try await composer.view(tried: try await composer.tryIt()))
    },
    ConsoleAction(path: check, operation: AnyOperation(SendoutOperations.schedule), form: check) { call in
      let check = try await ComposerCheck(call, try call.number())
      try await check.start()
      let page = "/console/sendouts/\(check.draft.sendoutId)"
      return check.draft.campaign.hasTime
        ? .see(page, notice: "The sendout is scheduled. Until it starts, it can be made a draft again.")
        : .see("\(page)/undo")
    },
    ConsoleAction(path: "\(check)/test", operation: AnyOperation(CampaignOperations.test), form: check) { call in
      let check = try await ComposerCheck(call, try call.number())
      return .show(try await check.view(tested: try await check.test()))
    },
    ConsoleAction(path: undo, operation: AnyOperation(SendoutOperations.unschedule), form: undo) { call in
      let id: SendoutID = try call.number()
      _ = try await call.change(SendoutOperations.unschedule, id, ())
      return .see("/console/sendouts/\(id)/edit", notice: "Nothing was sent. It is a draft again.")
    },
  ]

  private static let new = "/console/new-sendout"
  private static let edit = "/console/sendouts/{id}/edit"
  private static let check = "/console/sendouts/{id}/check"
  private static let undo = "/console/sendouts/{id}/undo"
  /// Roles that write sendouts.
  private static let reads = [AnyOperation(SendoutOperations.add)]

  private static func next(_ sendout: SendoutReply, _ call: ConsoleCall) -> ConsoleDone {
    let page = call.form.text(ComposerForm.Own.then) == "check" ? "check" : "edit"
    return .see("/console/sendouts/\(sendout.sendoutId)/\(page)", notice: page == "edit" ? "The draft is saved." : nil)
  }

  /// The call with the contact whose button was pressed, or with one fieldset more or less.
  private static func acted(_ call: ConsoleCall) -> ConsoleCall {
    var call = call
    if let contact = call.form.text("pick") { call.form = call.form.with(ComposerForm.Own.contact, contact) }
    if let act = call.form.text(ComposerForm.Own.act) {
      call.form = MessageVersion.values(call.form, after: act) ?? call.form
    }
    return call
  }

  private static func shown(_ composer: Composer, _ call: ConsoleCall) async throws -> ConsoleView {
    let asksForZones = call.form.text(ComposerForm.Own.act) == "zones"
    return try await composer.view(zones: asksForZones ? try await composer.zones() : nil)
  }

  /// What has just been started, with a button that takes it back as long as that is possible.
  private static func started(_ call: ConsoleCall) async throws -> ConsoleView {
    let sendout = try await call.read(SendoutOperations.show, try call.number())
    var values: [String: Any] = [
      "id": "\(sendout.sendoutId)", "name": sendout.name, "state": sendout.state.badge,
      "isDraft": sendout.state == .draft, "isWaiting": sendout.state == .scheduled, "errors": call.refusals,
      "seconds": "",
    ]
    if sendout.state == .scheduled, let moment = sendout.campaign.startAt {
      values["at"] = call.zone.time(moment)
      let seconds = Int(moment.date.timeIntervalSinceNow.rounded(.up))
      if (1...60).contains(seconds) { values["seconds"] = "\(seconds)" }
    }
    return ConsoleView(
      title: "Starting: \(sendout.name)", template: "compose-undo", values: values,
      sql: """
        SELECT state, start_at, next_at FROM sendout WHERE customer_id = \(call.customer) AND sendout_id = \(sendout.sendoutId);
        """,
      calls: [call.parts.link(to: SendoutOperations.unschedule, sendout.sendoutId, of: call.customer)],
      isLive: sendout.state == .scheduled || sendout.state.isActive)
  }
}
