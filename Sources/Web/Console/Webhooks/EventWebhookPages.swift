import Operations
import Wire

/// Webhooks of events: the list, a new one, and one with its deliveries.
enum EventWebhookPages {
  static let pages = [list, new, one]
  static let actions = [add, change, enable, disable, rotate, test, remove]

  private static let root = "/console/webhooks"

  static func path(_ webhook: EventWebhookID) -> String { "\(root)/\(webhook)" }

  private static func addCommand(_ call: ConsoleCall) -> String {
    """
    pushcart webhook add --customer \(call.customer) --url https://hooks.example.com/pushcart --event sendout.finished push.failed
    """
  }

  // MARK: All of them

  private static let list = ConsolePage(
    path: root, title: "Webhooks", section: .settings,
    reads: [AnyOperation(EventWebhookOperations.list), AnyOperation(EventWebhookOperations.deliveries)],
    query: ["after"]
  ) { call in
    let page = try await call.read(
      EventWebhookOperations.list, try call.page(EventWebhookID.self, limit: 20))
    var rows: [[String: Any]] = []
    for webhook in page.items {
      let last = try await call.read(
        EventWebhookOperations.deliveries, (webhook.webhookId, PageRequest(limit: 1)), isNoted: false
      ).items.first
      var row = webhook.row(call)
      if let last { row["last"] = [last.row(call, isEnabled: webhook.enabled)] }
      rows.append(row)
    }
    return ConsoleView(
      title: "Webhooks", template: "event-webhooks",
      values: [
        "tabs": SettingsTabs.tabs(call, root), "webhooks": rows, "hasWebhooks": !rows.isEmpty,
        "isEmpty": rows.isEmpty && call.given("after") == nil,
        "problems": page.items.compactMap { $0.problem(call) },
        "mayAdd": call.allows(EventWebhookOperations.add), "command": addCommand(call),
        "pager": call.pager(root, page.next.map { "\($0)" }),
      ],
      sql: """
        SELECT webhook_id, events, form, enabled, disabled_reason, first_failed_at FROM webhook
         WHERE customer_id = \(call.customer) ORDER BY webhook_id;
        """)
  }

  // MARK: Another one

  private static let new = ConsolePage(
    path: "/console/new-webhook", title: "New webhook", section: .settings,
    reads: [AnyOperation(EventWebhookOperations.add)]
  ) { call in
    ConsoleView(
      title: "Add a webhook", template: "form",
      values: [
        "intro": """
        What happens from then on is posted to the address, signed, within a second, until it is taken. The secret that signs is shown once, \
        on the next page.
        """, "form": call.formView(EventWebhookFields.added, ["form": EventWebhookForm.standard.rawValue]),
        "action": root, "button": "Add the webhook", "back": root, "backText": "Webhooks", "command": addCommand(call),
      ])
  }

  private static let add = ConsoleAction(
    path: root, operation: AnyOperation(EventWebhookOperations.add), fields: EventWebhookFields.added,
    form: "/console/new-webhook"
  ) { call in
    let webhook = try await call.change(
      EventWebhookOperations.add, (),
      EventWebhookRequest(
        url: call.form.text("url").map { String($0.trimmed) }, events: try EventWebhookFields.events(call.form),
        description: call.form.text("description"), form: try call.form.choice("form")))
    return .show(secret(of: webhook, "Webhook \(webhook.webhookId) is added", note: ""))
  }

  // MARK: One of them

  private static let one = ConsolePage(
    path: "\(root)/{id}", title: "Webhook", section: .settings,
    reads: [AnyOperation(EventWebhookOperations.show), AnyOperation(EventWebhookOperations.deliveries)],
    query: ["after"]
  ) { call in
    let id: EventWebhookID = try call.number()
    let webhook = try await call.read(EventWebhookOperations.show, id)
    let page = try await call.read(
      EventWebhookOperations.deliveries, (id, try call.page(EventDeliveryID.self, limit: 20)))
    let path = path(id)
    var values = webhook.row(call)
    values.merge([
      "path": path, "form": webhook.form == .carma ? "Carma's own events and names" : "Standard Webhooks",
      "events": webhook.events.map { ["name": $0.rawValue, "meaning": $0.meaning] },
      "added": call.zone.time(webhook.createdAt), "problems": webhook.problem(call).map { [$0] } ?? [],
      "formerUntil": webhook.formerSecretUntil.map { [call.zone.time($0)] } ?? [],
      "isEnabled": webhook.enabled, "mayChange": call.allows(EventWebhookOperations.change),
      "deliveries": page.items.map { $0.row(call, isEnabled: webhook.enabled) }, "hasDeliveries": !page.items.isEmpty,
      "pager": call.pager(path, page.next.map { "\($0)" }),
      "errors": call.refused == "\(root)/{id}" ? [] : call.refusals,
      "change": form(webhook, call),
    ]) { $1 }
    return ConsoleView(
      title: "Webhook \(id)", template: "event-webhook", values: values,
      sql: """
        SELECT delivery_id, event, items, state, attempts, status, problem, created_at, tried_at FROM webhook_delivery
         WHERE customer_id = \(call.customer) AND webhook_id = \(id) ORDER BY delivery_id DESC LIMIT 20;
        """,
      isLive: webhook.enabled && page.items.contains { $0.state == .waiting })
  }

  private static func form(_ webhook: EventWebhookReply, _ call: ConsoleCall) -> [String: Any] {
    let form = call.formView(
      EventWebhookFields.changed(webhook.form),
      all: [
        "url": [webhook.url.text], "events": webhook.events.map(\.rawValue),
        "description": webhook.description.map { [$0] } ?? [],
      ], of: "\(root)/{id}")
    // Else the template finds those of the other acts, which stand above.
    return form.merging(["errors": []]) { own, _ in own }
  }

  private static let change = ConsoleAction(
    path: "\(root)/{id}", operation: AnyOperation(EventWebhookOperations.change),
    fields: EventWebhookFields.anyChanged, form: "\(root)/{id}"
  ) { call in
    let id: EventWebhookID = try call.number()
    let before = try await call.read(EventWebhookOperations.show, id)
    _ = try await call.change(
      EventWebhookOperations.change, id,
      EventWebhookRequest(
        url: try EventWebhookFields.url(call.form, of: before), events: try EventWebhookFields.events(call.form),
        description: call.form.text("description") ?? ""))
    return .see(path(id), notice: "Webhook \(id) is changed.")
  }

  private static let enable = ConsoleAction(
    path: "\(root)/{id}/enable", operation: AnyOperation(EventWebhookOperations.change), form: "\(root)/{id}"
  ) { call in
    let id: EventWebhookID = try call.number()
    _ = try await call.change(EventWebhookOperations.change, id, EventWebhookRequest(enabled: true))
    return .see(path(id), notice: "Webhook \(id) is enabled. What waits for it is posted now.")
  }

  private static let disable = ConsoleAction(
    path: "\(root)/{id}/disable", operation: AnyOperation(EventWebhookOperations.change),
    confirms: Confirmation(
      title: "Disable the webhook?", button: "Disable it",
      text: """
        What happens while it is disabled is not told later. What has happened already waits until it is enabled, for 30 days.
        """),
    form: "\(root)/{id}"
  ) { call in
    let id: EventWebhookID = try call.number()
    _ = try await call.change(EventWebhookOperations.change, id, EventWebhookRequest(enabled: false))
    return .see(path(id), notice: "Webhook \(id) is disabled.")
  }

  private static let test = ConsoleAction(
    path: "\(root)/{id}/test", operation: AnyOperation(EventWebhookOperations.test), form: "\(root)/{id}"
  ) { call in
    let id: EventWebhookID = try call.number()
    let delivery = try await call.change(EventWebhookOperations.test, id, ())
    return .see(
      EventDeliveryPages.path(id, delivery.deliveryId),
      notice: "A test is posted within a second. This page says what comes of it.")
  }

  private static let remove = ConsoleAction(
    path: "\(root)/{id}/remove", operation: AnyOperation(EventWebhookOperations.remove),
    confirms: Confirmation(title: "Delete the webhook?", button: "Delete it") { call in
      let webhook = try await call.read(EventWebhookOperations.show, try call.number())
      return """
        \(webhook.url) is told nothing any more. What waits for it is dropped, and its deliveries are forgotten. This cannot be undone.
        """
    }, form: "\(root)/{id}"
  ) { call in
    let id: EventWebhookID = try call.number()
    _ = try await call.change(EventWebhookOperations.remove, id, ())
    return .see(root, notice: "Webhook \(id) is deleted.")
  }

  // MARK: Its secret

  private static let rotate = ConsoleAction(
    path: "\(root)/{id}/rotate", operation: AnyOperation(EventWebhookOperations.rotate),
    confirms: Confirmation(title: "Make a new secret?", button: "Make it", isDestructive: false) { call in
      let webhook = try await call.read(EventWebhookOperations.show, try call.number())
      let both = "The new secret is shown once. For 24 hours both sign, so that you can store the new one."
      guard let until = webhook.formerSecretUntil else { return both }
      return "\(both) The one that was to sign until \(call.zone.text(until.date)) signs nothing any more."
    }, form: "\(root)/{id}"
  ) { call in
    let id: EventWebhookID = try call.number()
    let webhook = try await call.change(EventWebhookOperations.rotate, id, ())
    let until = webhook.formerSecretUntil.map { " The one before signs, too, until \(call.zone.text($0.date))." } ?? ""
    return .show(secret(of: webhook, "Webhook \(id) has a new secret", note: until))
  }

  private static func secret(of webhook: EventWebhookReply, _ title: String, note: String) -> ConsoleView {
    let secret = webhook.secret ?? ""
    return .secret(
      title, label: "Secret", secret,
      use: """
        printf '%s' "$ID.$TIMESTAMP.$BODY" | openssl dgst -sha256 -binary -mac HMAC \
        -macopt hexkey:$(printf '%s' '\(secret.dropFirst(6))' | base64 -d | od -An -v -tx1 | tr -d ' \\n') | base64
        """,
      note: """
        Give it to a library of Standard Webhooks (standardwebhooks.com): Webhook(secret).verify(body, headers). It refuses what was not \
        signed, and what is more than five minutes old. Verify the body's bytes as they came. By hand, the line below prints what stands \
        behind v1, in webhook-signature, from the headers webhook-id and webhook-timestamp and the body.\(note)
        """, back: path(webhook.webhookId), "Open the webhook")
  }
}

extension EventWebhookReply {
  /// What list and page show of it.
  func row(_ call: ConsoleCall) -> [String: Any] {
    [
      "id": "\(webhookId)", "href": EventWebhookPages.path(webhookId), "url": url.text,
      "description": description ?? "", "state": state, "told": events.map(\.rawValue).joined(separator: ", "),
    ]
  }

  private var state: [String: Any] {
    guard enabled else { return ["text": "Disabled", "tone": disabledReason == nil ? "idle" : "bad"] }
    return failingSince == nil ? ["text": "Enabled", "tone": "ok"] : ["text": "Takes nothing", "tone": "warn"]
  }

  /// Why it is told nothing, and what helps; `nil` while all is well, and for one that a person has disabled.
  func problem(_ call: ConsoleCall) -> [String: Any]? {
    var problem: [String: Any] = [
      "title": "Webhook \(webhookId) is disabled", "isDisabled": !enabled,
      "enable": !enabled && call.allows(EventWebhookOperations.change)
        ? "\(EventWebhookPages.path(webhookId))/enable" : "",
    ]
    if let disabledReason {
      problem["reason"] = disabledReason
      problem["fix"] = "Correct what its deliveries say, then enable it: what had happened until then is posted."
    } else if enabled, let failingSince {
      problem["title"] = "Webhook \(webhookId) takes nothing"
      problem["reason"] = "No post was taken of late. It is disabled a day after the first failure."
      problem["since"] = [call.zone.time(failingSince)]
      problem["fix"] = "Look at its deliveries. What waits is posted again by itself."
    } else {
      return nil
    }
    return problem
  }
}
