import Operations
import Registry
import Wire

/// Softphones: their apps, the addresses for PBXs and phones, and what the token reporter calls its fields.
enum SoftphonePages {
  static let pages = [show]
  static let actions = [save]

  private static let fields = ReporterField.allCases.map { field in
    FormField(
      "field.\(field.rawValue)", label: field.rawValue, hint: "", limits: 0...100, autocomplete: "off")
  }

  private static let show = ConsolePage(
    path: "/console/softphones", title: "Softphones", section: .channels,
    reads: [AnyOperation(AppOperations.list), AnyOperation(CustomerOperations.show), AnyOperation(KeyOperations.list)]
  ) { call in
    let all = PageRequest<PushAppID>(limit: PageRequest<PushAppID>.limits.upperBound)
    let apps = try await call.read(AppOperations.list, all).items.filter { $0.kind != .app }
    let customer = try await call.read(CustomerOperations.show, ())
    let initial = ReporterField.allCases.map { field in
      ("field.\(field.rawValue)", customer.reporterFields?[field.rawValue] ?? field.rawValue)
    }
    let base = "\(call.parts.publicURL)/k/KEY"
    return ConsoleView(
      title: "Softphones", template: "softphones",
      values: [
        "tabs": ChannelTabs.tabs(call, "/console/softphones"), "apps": apps.map { $0.summary(call.zone, nil) },
        "isEmpty": apps.isEmpty, "hasApps": !apps.isEmpty, "send": "\(base)/pnm2/send",
        "multisend": "\(base)/pnm2/multisend", "report": "\(base)/tokens/report", "removal": "\(base)/tokens/removal",
        "form": call.formView(fields, Dictionary(initial) { $1 }), "mayChange": call.allows(CustomerOperations.change),
        "command": """
        pushcart app add --customer \(call.customer) --type ios --app-id com.acme.phone --voip-app-id com.acme.phone.voip …
        """,
      ],
      sql: """
        SELECT app_id, app_type, kind, name FROM push_app WHERE customer_id = \(call.customer) AND kind <> 'app';
        """)
  }

  private static let save = ConsoleAction(
    path: "/console/softphones", operation: AnyOperation(CustomerOperations.change), fields: fields,
    form: "/console/softphones"
  ) { call in
    let pairs = ReporterField.allCases.compactMap { field in
      call.form.text("field.\(field.rawValue)").map { (field.rawValue, String($0.trimmed)) }
    }.filter { $0.0 != $0.1 }
    _ = try await call.change(
      CustomerOperations.change, (), CustomerChangeRequest(reporterFields: Dictionary(pairs) { $1 }))
    return .see("/console/softphones", notice: "The names of the reporter's fields are saved.")
  }
}
