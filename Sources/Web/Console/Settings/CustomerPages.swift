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
    form.field("sendThreshold", label: "Type the number of devices from"),
    form.field("linkMaxAgeDays", label: "Days that page links open"),
    form.field("retentionDays", label: "Days that pushes and opens are kept"),
    form.field("devicesPerContact", label: "Most devices of a contact"),
  ]

  private static let show = ConsolePage(
    path: "/console/settings", title: "Settings", section: .settings,
    reads: [AnyOperation(CustomerOperations.show), AnyOperation(CustomerOperations.change)]
  ) { call in
    let customer = try await call.read(CustomerOperations.show, ())
    let form = call.formView(
      fields,
      [
        "name": customer.name, "timeZone": customer.timeZone, "approval": customer.approval ? "true" : nil,
        "sendThreshold": "\(customer.sendThreshold)", "linkMaxAgeDays": "\(customer.linkMaxAgeDays ?? 0)",
        "retentionDays": "\(customer.retentionDays ?? 0)", "devicesPerContact": "\(customer.devicesPerContact)",
      ])
    return ConsoleView(
      title: "Settings", template: "settings",
      values: [
        "name": customer.name, "number": "\(customer.customerId)", "created": call.zone.time(customer.createdAt),
        "form": form, "tabs": SettingsTabs.tabs(call, "/console/settings"),
        "command": "pushcart customer update --customer \(call.customer) --time-zone Europe/Amsterdam",
      ],
      sql: "SELECT * FROM customer WHERE customer_id = \(call.customer);")
  }

  private static let change = ConsoleAction(
    path: "/console/settings", operation: AnyOperation(CustomerOperations.change), fields: fields,
    form: "/console/settings"
  ) { call in
    let form = call.form
    let request = CustomerChangeRequest(
      name: form.text("name"), linkMaxAgeDays: try form.number("linkMaxAgeDays"),
      devicesPerContact: try form.number("devicesPerContact"),
      retentionDays: try form.number("retentionDays"), timeZone: form.text("timeZone").map { String($0.trimmed) },
      approval: form.flag("approval"), sendThreshold: try form.number("sendThreshold"))
    _ = try await call.change(CustomerOperations.change, (), request)
    return .see("/console/settings", notice: "The settings are saved.")
  }
}

/// The pages of settings, as tabs.
enum SettingsTabs {
  static func tabs(_ call: ConsoleCall, _ current: String) -> [[String: Any]] {
    call.tabs([CustomerPages.pages, KeyPages.pages, UserPages.pages, AuditPages.pages], current)
  }
}
