import FoundationEssentials
import Operations
import Wire

/// The customer's settings.
enum CustomerPages {
  static let pages = [show]
  static let actions = [change]

  private static let form = CustomerChangeRequest.form
  private static let fields = [
    form.field("name", label: "Name", isRequired: true),
    form.field("timeZone", label: "Time zone"),
    form.field("approval", label: "A second person starts what one wrote"),
    form.field("sendThreshold", label: "Type the number of devices above"),
    form.field("linkMaxAgeDays", label: "Days that page links open"),
    form.field("retentionDays", label: "Days that pushes and opens are kept"),
    form.field("devicesPerContact", label: "Most devices of a contact"),
  ]

  private static let path = "/console/settings"

  private static let show = ConsolePage(
    path: path, title: "Settings", section: .settings,
    reads: [AnyOperation(CustomerOperations.show), AnyOperation(CustomerOperations.change)]
  ) { call in
    let customer = try await call.read(CustomerOperations.show, ())
    let form = call.formView(
      fields + LimitForm.fields,
      [
        "name": customer.name, "timeZone": customer.timeZone, "approval": customer.approval ? "true" : nil,
        "sendThreshold": "\(customer.sendThreshold)", "linkMaxAgeDays": "\(customer.linkMaxAgeDays ?? 0)",
        "retentionDays": "\(customer.retentionDays ?? 0)", "devicesPerContact": "\(customer.devicesPerContact)",
      ].merging(LimitForm.values(customer)) { $1 })
    func shown(_ fields: [FormField]) -> [[String: Any]] { fields.compactMap { form[$0.name] as? [String: Any] } }
    // What was refused is drawn as it was typed, as far as it can be read.
    let hours = call.form.isEmpty ? customer.quietHours : try? LimitForm.quietHours(call.form)
    let sentence = LimitForm.sentence(hours)
    let rows = LimitForm.rows(form) { row in
      guard call.form.isEmpty else { return LimitForm.typed(call.form, row) }
      return row < customer.caps.count ? customer.caps[row] : nil
    }
    return ConsoleView(
      title: "Settings", template: "settings",
      values: [
        "name": customer.name, "number": "\(customer.customerId)", "created": call.zone.time(customer.createdAt),
        "errors": form["errors"] ?? [String](), "fields": shown(fields), "quiet": shown(LimitForm.quietFields),
        "day": QuietDay.markup(hours, sentence), "sentence": sentence, "rules": rows.shown,
        "more": rows.more.isEmpty ? [] : [["rules": rows.more]], "now": call.zone.text(Date()), "zone": call.zone.name,
        "tabs": SettingsTabs.tabs(call, path), "command": command(customer, call),
      ],
      sql: "SELECT * FROM customer WHERE customer_id = \(call.customer);")
  }

  /// With what is set, and else a sample of it.
  private static func command(_ customer: CustomerReply, _ call: ConsoleCall) -> String {
    let hours = customer.quietHours ?? .example
    let caps = customer.caps.isEmpty ? [Cap.example] : customer.caps
    let quiet = "\(hours.start)-\(hours.end)" + (hours.policy == .skip ? "/skip" : "")
    let rules = caps.map { cap in " --cap \(cap.count)/\(cap.per)" + (cap.purpose.map { "/\($0.rawValue)" } ?? "") }
    return """
      pushcart customer update --customer \(call.customer) --time-zone \(call.parts.quoted(customer.timeZone)) --quiet-hours \(quiet)\
      \(rules.joined())
      """
  }

  private static let change = ConsoleAction(
    path: path, operation: AnyOperation(CustomerOperations.change), fields: fields + LimitForm.fields, form: path
  ) { call in
    let form = call.form
    let hours = try LimitForm.quietHours(form)
    let request = CustomerChangeRequest(
      name: form.text("name"), linkMaxAgeDays: try form.number("linkMaxAgeDays"),
      devicesPerContact: try form.number("devicesPerContact"),
      retentionDays: try form.number("retentionDays"), timeZone: form.text("timeZone").map { String($0.trimmed) },
      approval: form.flag("approval"), sendThreshold: try form.number("sendThreshold"),
      quietHours: hours.map { .set($0) } ?? .clear, caps: try LimitForm.caps(form))
    _ = try await call.change(CustomerOperations.change, (), request)
    return .see(path, notice: "The settings are saved.")
  }
}

/// The pages of settings, as tabs.
enum SettingsTabs {
  static func tabs(_ call: ConsoleCall, _ current: String) -> [[String: Any]] {
    call.tabs(
      [CustomerPages.pages, KeyPages.pages, EventWebhookPages.pages, UserPages.pages, AuditPages.pages], current)
  }
}
