import Operations
import Registry
import Wire

/// Who gets no marketing, or nothing at all.
enum SuppressionPages {
  static let pages = [list, new]
  static let actions = [ask, add, remove]

  private static let path = "/console/suppressions"

  private static let list = ConsolePage(
    path: path, title: "Suppressions", section: .contacts, reads: [AnyOperation(SuppressionOperations.list)],
    query: ["after"]
  ) { call in
    let page = try call.page(SuppressionID.self, limit: 50)
    let found = try await call.read(SuppressionOperations.list, (SuppressionRequest(), page))
    var shown = view(found.items, call)
    shown.values["pager"] = ConsolePath.pager(path, after: page.after?.description, found.next?.description)
    shown.values["first"] =
      found.items.isEmpty && page.after == nil
      ? [
        [
          "title": "Nobody is suppressed",
          "text": """
          People end their marketing by the link {{unsubscribeUrl}} of a page or an e-mail. Here, and by an import, you do it for them.
          """,
          "command": "pushcart suppression add --customer \(call.customer) --original-id lars@example.com", "link": [],
        ]
      ] : []
    return shown
  }

  private static func view(_ items: [SuppressionReply], _ call: ConsoleCall) -> ConsoleView {
    ConsoleView(
      title: "Suppressions", template: "suppressions",
      values: [
        "tabs": ContactTabs.tabs(call, path), "mayChange": call.allows(SuppressionOperations.add),
        "rows": items.map { row($0, call) }, "hasRows": !items.isEmpty,
        "ask": call.formView(asked, of: "\(path)/ask"),
        "refusals": call.refused.map { $0.hasSuffix("/remove") } == true ? call.refusals : [],
      ],
      sql: """
        SELECT suppression_id, kind, scope, reason, at, until FROM suppression
         WHERE customer_id = \(call.customer) ORDER BY suppression_id LIMIT 50;
        """)
  }

  /// Also on the page of a contact.
  static func row(_ item: SuppressionReply, _ call: ConsoleCall) -> [String: Any] {
    [
      "id": item.suppressionId, "kind": item.kind.rawValue.inWords, "scope": label(of: item.scope),
      "reason": item.reason ?? "", "byPage": item.byPage, "at": call.zone.time(item.at),
      "until": item.until.map { [call.zone.time($0)] } ?? [],
    ]
  }

  static func label(of scope: SuppressionScope) -> String { scope == .all ? "Everything" : "Marketing" }

  // MARK: Asking

  private static let asked = [
    SuppressionRequest.form.field("originalId", label: "Original id", hint: "As the contact has it."),
    SuppressionRequest.form.field("number", label: "Telephone number", hint: "Such as +31 6 12345678."),
    FormField("deviceToken", label: "Device token", hint: "With the app below."),
    FormField("appId", label: "App id of the token"),
  ]

  /// A POST, as no address of a page has original ids, numbers and tokens.
  private static let ask = ConsoleAction(
    path: "\(path)/ask", operation: AnyOperation(SuppressionOperations.list), fields: asked, form: path
  ) { call in
    let whose = SuppressionRequest(
      originalId: call.form.text("originalId"), number: call.form.text("number"),
      deviceToken: call.form.text("deviceToken"), appId: call.form.text("appId"))
    guard whose != SuppressionRequest() else {
      throw HTTPErrorResponse.badRequest("originalId is empty, and so are number and device token: give one.")
    }
    let found = try await call.read(SuppressionOperations.list, (whose, PageRequest()))
    var asking = call
    asking.refused = "\(path)/ask"
    var shown = view(found.items, asking)
    shown.values["answer"] = [
      [
        "text": found.items.isEmpty
          ? "Nothing suppresses this." : "These suppress it, and so does nothing else."
      ]
    ]
    return .show(shown)
  }

  // MARK: Adding and lifting

  static let scope = FormField(
    "scope", label: "What is stopped",
    kind: .choice([
      FormField.Choice(SuppressionScope.marketing.rawValue, "Marketing"),
      FormField.Choice(SuppressionScope.all.rawValue, "Everything, PINs and calls too"),
    ]), isRequired: true)
  static let reason = SuppressionRequest.form.field("reason", label: "Reason")
  static let until = FormField("until", label: "Until", kind: .moment, hint: "For ever if it is empty.")

  private static let added = [
    SuppressionRequest.form.field(
      "originalId", label: "Original id", hint: "On all devices. The contact need not be there yet."),
    SuppressionRequest.form.field(
      "number", label: "Or a telephone number", hint: "The contact of this number, and SMS to it."),
    scope, reason, until,
  ]

  private static let new = ConsolePage(
    path: "\(path)/new", title: "Suppress somebody", section: .contacts,
    reads: [AnyOperation(SuppressionOperations.list), AnyOperation(SuppressionOperations.add)]
  ) { call in
    ConsoleView(
      title: "Suppress somebody", template: "form",
      values: [
        "back": path, "backText": "Suppressions", "action": "\(path)/new", "button": "Suppress",
        "intro": "Give an original id or a number. Nothing is sent to it from then on.", "form": call.formView(added),
        "command": "pushcart suppression add --customer \(call.customer) --original-id lars@example.com",
      ])
  }

  private static let add = ConsoleAction(
    path: "\(path)/new", operation: AnyOperation(SuppressionOperations.add), fields: added, form: "\(path)/new"
  ) { call in
    let done = try await call.change(SuppressionOperations.add, (), try request(call))
    return .see(path, notice: "\(label(of: done.scope)) is stopped: suppression \(done.suppressionId).")
  }

  /// What a form of these fields asks for.
  static func request(_ call: ConsoleCall, originalID: String? = nil) throws -> SuppressionRequest {
    SuppressionRequest(
      originalId: originalID ?? call.form.text("originalId"),
      number: originalID == nil ? call.form.text("number") : nil,
      scope: try call.form.choice("scope"), reason: call.form.text("reason"),
      until: try call.form.moment("until", in: call.zone))
  }

  private static let remove = ConsoleAction(
    path: "\(path)/{id}/remove", operation: AnyOperation(SuppressionOperations.remove),
    confirms: Confirmation(
      title: "Lift the suppression?", button: "Lift it",
      text: "Whom it names is sent to again. Do this only when that person asks for it."),
    form: path
  ) { call in
    let id: SuppressionID = try call.number()
    let lifted = try await call.change(SuppressionOperations.remove, id, ())
    return .see(path, notice: "Suppression \(lifted.suppressionId) is lifted.")
  }
}
