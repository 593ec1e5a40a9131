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
      path: check, title: "Check and send", section: .sendouts, reads: reads, query: [ComposerForm.Own.contact]
    ) { call in try await ComposerCheck(call, try call.number()).view() },
  ]

  static let actions = [
    ConsoleAction(path: new, operation: AnyOperation(SendoutOperations.add), form: new) { call in
      let request = try ComposerForm(values: call.form).request()
      return next(try await call.change(SendoutOperations.add, (), request), call)
    },
    ConsoleAction(path: edit, operation: AnyOperation(SendoutOperations.change), form: edit) { call in
      let request = try ComposerForm(values: call.form).request()
      return next(try await call.change(SendoutOperations.change, try call.number(), request), call)
    },
    ConsoleAction(path: "\(new)/preview", operation: AnyOperation(SendoutOperations.add), form: new) { call in
      .show(try await Composer(picked(call)).view())
    },
    ConsoleAction(path: "\(edit)/preview", operation: AnyOperation(SendoutOperations.change), form: edit) { call in
      .show(try await Composer(picked(call), try call.number()).view())
    },
    ConsoleAction(path: "\(new)/test", operation: AnyOperation(MessageOperations.send), form: new) { call in
      let composer = try await Composer(call)
      return .show(try await composer.view(tried: try await composer.tryIt()))
    },
    ConsoleAction(path: "\(edit)/test", operation: AnyOperation(MessageOperations.send), form: edit) { call in
      let composer = try await Composer(call, try call.number())
      return .show(try await composer.view(tried: try await composer.tryIt()))
    },
    ConsoleAction(path: check, operation: AnyOperation(SendoutOperations.start), form: check) { call in
      let check = try await ComposerCheck(call, try call.number())
      try await check.start()
      return .see("/console/sendouts/\(check.draft.sendoutId)", notice: "The sendout is started.")
    },
  ]

  private static let new = "/console/new-sendout"
  private static let edit = "/console/sendouts/{id}/edit"
  private static let check = "/console/sendouts/{id}/check"
  /// Roles that write sendouts.
  private static let reads = [AnyOperation(SendoutOperations.add)]

  private static func next(_ sendout: SendoutReply, _ call: ConsoleCall) -> ConsoleDone {
    let page = call.form.text(ComposerForm.Own.then) == "check" ? "check" : "edit"
    return .see("/console/sendouts/\(sendout.sendoutId)/\(page)", notice: page == "edit" ? "The draft is saved." : nil)
  }

  /// The call with the contact whose button was pressed.
  private static func picked(_ call: ConsoleCall) -> ConsoleCall {
    guard let contact = call.form.text("pick") else { return call }
    var call = call
    call.form = call.form.with(ComposerForm.Own.contact, contact)
    return call
  }
}
