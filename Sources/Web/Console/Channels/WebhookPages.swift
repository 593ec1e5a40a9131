import Operations
import Wire

/// Webhooks of apps' data trees.
enum WebhookPages {
  static let pages = [list, one]
  static let actions = [add, change, remove]

  private static let settings = [
    WebhookRequest.form.field(
      "uris", label: "Addresses", kind: .area(rows: 3),
      hint: "One a line, up to 8: https addresses of the internet. Each attempt takes the next of them.",
      isRequired: true),
    WebhookRequest.form.field(
      "token", label: "Token", kind: .password,
      hint: "Sent with each notification as \(WebhookDestination.tokenHeader). What is empty stays as it is."),
    WebhookRequest.form.field("subscribeDurationSeconds", label: "Seconds that subscriptions last"),
    WebhookRequest.form.field("enabled", label: "Send to it"),
  ]
  private static let newFields =
    [FormField("name", label: "Name", hint: "By which subscriptions name it.", isRequired: true, limits: 1...100)]
    + settings
  private static let changeFields =
    settings + [FormField("withoutToken", label: "Send no token any more", kind: .flag)]

  private static func request(_ form: FormValues) throws -> WebhookRequest {
    WebhookRequest(
      uris: form.lines("uris"), enabled: form.flag("enabled"),
      subscribeDurationSeconds: try form.number("subscribeDurationSeconds"),
      token: form.flag("withoutToken") ? "" : form.text("token"))
  }

  private static func path(_ appID: String, _ name: String? = nil) -> String {
    let list = "/console/data-trees/\(PercentEncoding.encode(appID))/webhooks"
    return name.map { "\(list)/\(PercentEncoding.encode($0))" } ?? list
  }

  private static let list = ConsolePage(
    path: "/console/data-trees/{appId}/webhooks", title: "Webhooks of a data tree", section: .channels,
    reads: [AnyOperation(DataTreeAppOperations.listWebhooks)], query: ["after"]
  ) { call in
    let appID = call.path["appId"] ?? ""
    let page = try await call.read(DataTreeAppOperations.listWebhooks, (appID, try call.query.namedPage()))
    return ConsoleView(
      title: "Webhooks of \(appID)", template: "webhooks",
      values: [
        "appId": appID, "action": path(appID), "isEmpty": page.items.isEmpty, "hasWebhooks": !page.items.isEmpty,
        "webhooks": page.items.map { webhook in
          [
            "name": webhook.name, "href": path(appID, webhook.name), "addresses": webhook.uris.joined(separator: " "),
            "state": webhook.enabled ? ["text": "On", "tone": "ok"] : ["text": "Off", "tone": ""],
            "token": webhook.hasToken ? "yes" : "no",
          ] as [String: Any]
        }, "pager": call.pager(path(appID), page.next), "mayChange": call.allows(DataTreeAppOperations.saveWebhook),
        "form": call.formView(
          newFields, ["enabled": "true", "subscribeDurationSeconds": "\(WebhookRequest.usualDuration)"]),
        "command":
          "pushcart datasync webhook set \(call.parts.quoted(appID)) orders --customer \(call.customer) --uri https://hooks.example.com/changes",
      ],
      sql: "SELECT * FROM report.subscriptions WHERE customer_id = \(call.customer);")
  }

  private static let add = ConsoleAction(
    path: "/console/data-trees/{appId}/webhooks", operation: AnyOperation(DataTreeAppOperations.saveWebhook),
    fields: newFields, form: "/console/data-trees/{appId}/webhooks"
  ) { call in
    let appID = call.path["appId"] ?? ""
    let name = call.form.text("name").map { String($0.trimmed) } ?? ""
    // Saving would change the one that has the name.
    let before = PageRequest<String>(limit: PageRequest<String>.limits.upperBound)
    let known = try await call.read(DataTreeAppOperations.listWebhooks, (appID, before)).items
    guard !known.contains(where: { $0.name.hasSameBytes(as: name) }) else {
      throw HTTPErrorResponse.badRequest("name is that of another webhook. Open it to change it.")
    }
    _ = try await call.change(DataTreeAppOperations.saveWebhook, (appID, name), try request(call.form))
    return .see(path(appID), notice: "Webhook \(name) is added.")
  }

  private static let one = ConsolePage(
    path: "/console/data-trees/{appId}/webhooks/{name}", title: "Webhook", section: .channels,
    reads: [AnyOperation(DataTreeAppOperations.listWebhooks)]
  ) { call in
    let (appID, name) = (call.path["appId"] ?? "", call.path["name"] ?? "")
    let whole = PageRequest<String>(limit: PageRequest<String>.limits.upperBound)
    let webhooks = try await call.read(DataTreeAppOperations.listWebhooks, (appID, whole)).items
    guard let webhook = webhooks.first(where: { $0.name.hasSameBytes(as: name) }) else {
      throw HTTPErrorResponse.notFound("The app has no webhook of this name.")
    }
    return ConsoleView(
      title: webhook.name, template: "webhook",
      values: [
        "back": path(appID), "backText": "Webhooks of \(appID)", "action": path(appID, webhook.name),
        "addresses": webhook.uris.map { ["uri": $0] },
        "token": webhook.hasToken ? "A token is sent." : "No token is sent.",
        "state": webhook.enabled ? ["text": "On", "tone": "ok"] : ["text": "Off", "tone": ""],
        "mayChange": call.allows(DataTreeAppOperations.saveWebhook),
        "form": call.formView(
          changeFields,
          [
            "uris": webhook.uris.joined(separator: "\n"), "enabled": "\(webhook.enabled)",
            "subscribeDurationSeconds": "\(webhook.subscribeDurationSeconds)",
          ]),
      ])
  }

  private static let change = ConsoleAction(
    path: "/console/data-trees/{appId}/webhooks/{name}", operation: AnyOperation(DataTreeAppOperations.saveWebhook),
    fields: changeFields, form: "/console/data-trees/{appId}/webhooks/{name}"
  ) { call in
    let (appID, name) = (call.path["appId"] ?? "", call.path["name"] ?? "")
    _ = try await call.change(DataTreeAppOperations.saveWebhook, (appID, name), try request(call.form))
    return .see(path(appID, name), notice: "Webhook \(name) is changed.")
  }

  private static let remove = ConsoleAction(
    path: "/console/data-trees/{appId}/webhooks/{name}/remove",
    operation: AnyOperation(DataTreeAppOperations.removeWebhook),
    confirms: Confirmation(title: "Remove the webhook?", button: "Remove it") { call in
      "All subscriptions to \(call.path["name"] ?? "") end, and what is due to it is dropped. This cannot be undone."
    }, form: "/console/data-trees/{appId}/webhooks/{name}"
  ) { call in
    let (appID, name) = (call.path["appId"] ?? "", call.path["name"] ?? "")
    _ = try await call.change(DataTreeAppOperations.removeWebhook, (appID, name), ())
    return .see(path(appID), notice: "Webhook \(name) is removed.")
  }
}
