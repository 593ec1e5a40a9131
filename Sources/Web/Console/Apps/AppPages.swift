import Operations
import Registry
import Wire

/// Apps: the list, one app, a new one, and what is done to them.
enum AppPages {
  static let pages = [list, choice] + AppType.ofApps.map(newApp) + [one, change]
  static let actions = AppType.ofApps.map(add) + [save, check, remove, rotateIdentity, revokeIdentity]

  private static let list = ConsolePage(
    path: "/console/apps", title: "Apps", section: .apps,
    reads: [AnyOperation(AppOperations.list), AnyOperation(AppOperations.devices)], query: ["after"]
  ) { call in
    let request: PageRequest<PushAppID> = try call.query.page()
    let page = try await call.read(AppOperations.list, request)
    let counts = try await call.read(AppOperations.devices, (request, nil)).items
    return ConsoleView(
      title: "Apps", template: "apps",
      values: [
        "apps": page.items.map { app in app.summary(call.zone, counts.first { $0.pushAppId == app.pushAppId }) },
        "isEmpty": page.items.isEmpty && request.after == nil, "mayAdd": call.allows(AppOperations.add),
        "pager": call.pager("/console/apps", page.next.map { "\($0)" }),
        "command": "pushcart app add --customer \(call.customer) --type ios --app-id com.acme.app …",
      ],
      sql: "SELECT * FROM report.devices WHERE customer_id = \(call.customer);")
  }

  // MARK: - A new app

  private static let choice = ConsolePage(
    path: "/console/new-app", title: "New app", section: .apps, reads: [AnyOperation(AppOperations.add)]
  ) { call in
    ConsoleView(
      title: "Add an app", template: "new-app",
      values: [
        "platforms": AppType.ofApps.map { type in
          [
            "href": "/console/new-app/\(type.pathName)", "platform": type.platform, "service": type.service.title,
            "needs": AppForm.needs(type),
          ]
        }
      ])
  }

  private static func newApp(_ type: AppType) -> ConsolePage {
    ConsolePage(
      path: "/console/new-app/\(type.pathName)", title: "New app for \(type.platform)", section: .apps,
      reads: [AnyOperation(AppOperations.add)]
    ) { call in
      ConsoleView(
        title: "Add an app for \(type.platform)", template: "app-form",
        values: form(call, AppForm.new(type), type).merging([
          "action": "/console/new-app/\(type.pathName)", "back": "/console/new-app", "isNew": true,
          "button": "Add the app",
          "command": type.service.examples.first.map { "pushcart app add --customer \(call.customer) \($0)" } ?? "",
        ]) { $1 })
    }
  }

  /// The fields, those of a sign-in together.
  private static func form(
    _ call: ConsoleCall, _ fields: [FormField], _ type: AppType, _ initial: [String: String?] = [:]
  ) -> [String: Any] {
    let form = call.formView(fields, initial)
    let credentials = Set(type.service.fields.map(\.name))
    func groups(_ groups: [AppForm.Group]) -> [[String: Any]] {
      groups.map { group in
        ["title": group.title, "isOne": group.names.count == 1, "fields": group.names.compactMap { form[$0] }]
      }
    }
    let (ways, further) = AppForm.groups(type)
    return [
      "platform": type.platform, "service": type.service.title, "guide": type.service.guide.replacing("`", with: ""),
      "form": form, "general": fields.filter { !credentials.contains($0.name) }.compactMap { form[$0.name] },
      "ways": groups(ways), "further": groups(further), "areSeveral": ways.count > 1, "makesKey": type == .web,
    ]
  }

  private static func add(_ type: AppType) -> ConsoleAction {
    let path = "/console/new-app/\(type.pathName)"
    return ConsoleAction(
      path: path, operation: AnyOperation(AppOperations.add), fields: AppForm.new(type), form: path
    ) { call in
      let form = call.form
      let request = PushAppRequest(
        name: form.text("name"), appId: form.text("appId").map { String($0.trimmed) }, appType: type,
        kind: try form.choice("kind"), voipAppId: form.text("voipAppId").map { String($0.trimmed) },
        fields: AppForm.fields(form))
      let app = try await call.change(AppOperations.add, (), request)
      return await checked(call, app, "\(app.name) is added.")
    }
  }

  /// Asks the push service about what was just stored, and leads to where its answer is shown.
  private static func checked(_ call: ConsoleCall, _ app: PushAppReply, _ notice: String) async -> ConsoleDone {
    guard app.hasCredentials,
      let reply = try? await call.change(AppOperations.check, .number(app.pushAppId), ())
    else { return .see(app.path, notice: notice) }
    let isRefused =
      reply.checks.contains { $0.verdict == .refused } && !reply.checks.contains { $0.verdict == .accepted }
    return .see(
      isRefused ? "\(app.path)/change" : app.path, notice: "\(notice) \(reply.notice(app.appType.service))")
  }

  // MARK: - One app

  private static let one = ConsolePage(
    path: "/console/apps/{id}", title: "App", section: .apps,
    reads: [AnyOperation(AppOperations.show), AnyOperation(AppOperations.devices)]
  ) { call in
    let id: PushAppID = try call.number()
    let app = try await call.read(AppOperations.show, .number(id))
    let count = try await call.read(AppOperations.devices, (PageRequest(), id)).items.first
    var values = app.summary(call.zone, count)
    values.merge([
      "service": app.appType.service.title, "errors": call.refusals, "alarms": app.alarms(call.zone),
      "warnings": app.warnings,
      "credentials": app.credentials(call.zone), "hasCredentials": app.hasCredentials,
      "created": call.zone.time(app.createdAt), "mayChange": call.allows(AppOperations.change),
      "identity": app.identity == .required ? "required" : "off",
      "hasPreviousIdentity": app.credentials.contains { $0.kind == .previousIdentitySecret },
      "deviceFields": app.deviceFields?.joined(separator: ", ") ?? "all",
      "changeHref": app.appType == .sms ? "/console/new-sms" : "\(app.path)/change",
    ]) { $1 }
    if let check = app.lastCheck { values["check"] = check.view(call.zone) }
    if let key = app.vapidPublicKey { values["vapidPublicKey"] = key }
    if let contact = app.contact { values["contact"] = contact }
    if let count { values.merge(count.charts()) { $1 } }
    return ConsoleView(
      title: app.name, template: "app", values: values,
      sql: """
        SELECT day, devices, sandbox_devices FROM device_day
        WHERE customer_id = \(call.customer) AND push_app_id = \(id) ORDER BY day DESC LIMIT 30;
        """)
  }

  private static let check = ConsoleAction(
    path: "/console/apps/{id}/check", operation: AnyOperation(AppOperations.check), form: "/console/apps/{id}"
  ) { call in
    let id: PushAppID = try call.number()
    let app = try await call.read(AppOperations.show, .number(id))
    let reply = try await call.change(AppOperations.check, .number(id), ())
    return .see(app.path, notice: reply.notice(app.appType.service))
  }

  private static let change = ConsolePage(
    path: "/console/apps/{id}/change", title: "Change an app", section: .apps,
    reads: [AnyOperation(AppOperations.show), AnyOperation(AppOperations.change)]
  ) { call in
    let id: PushAppID = try call.number()
    let app = try await call.read(AppOperations.show, .number(id))
    var call = call
    // What the push service refused stands at the field that it concerns.
    if call.form.isEmpty, call.refusal == nil { call.refusal = app.refusal }
    let initial = [
      "name": app.name, "identity": app.identity.rawValue,
      "deviceFields": app.deviceFields?.joined(separator: "\n") ?? DeviceKeyFields.all,
      CredentialField.teamID.name: app.teamId, CredentialField.keyID.name: app.keyId,
      CredentialField.contact.name: app.contact,
    ]
    return ConsoleView(
      title: "Change \(app.name)", template: "app-form",
      values: form(call, AppForm.change(app.appType), app.appType, initial).merging([
        "action": "\(app.path)/change", "back": app.path, "name": app.name, "isNew": false, "button": "Save and check",
        "command": "pushcart app update \(id) --customer \(call.customer) …",
      ]) { $1 })
  }

  private static let save = ConsoleAction(
    path: "/console/apps/{id}/change", operation: AnyOperation(AppOperations.change), fields: AppForm.anyChange,
    form: "/console/apps/{id}/change"
  ) { call in
    let id: PushAppID = try call.number()
    let before = try await call.read(AppOperations.show, .number(id))
    var fields = AppForm.fields(call.form)
    // What stands there already is no change: Ids come together with the key that they are for.
    for (field, text) in [(CredentialField.teamID, before.teamId), (.keyID, before.keyId), (.contact, before.contact)] {
      if let text, fields.credentials[field] == Array(text.utf8) { fields.credentials[field] = nil }
    }
    fields.identity = try call.form.choice("identity")
    fields.deviceFields = call.form.text("deviceFields")?.split(whereSeparator: { $0 == "\n" || $0 == "," })
      .map { String($0.trimmed) }.filter { !$0.isEmpty }
    let request = PushAppRequest(name: call.form.text("name"), fields: fields)
    let app = try await call.change(AppOperations.change, .number(id), request)
    guard !fields.credentials.isEmpty else { return .see(app.path, notice: "\(app.name) is changed.") }
    return await checked(call, app, "\(app.name) is changed.")
  }

  private static let remove = ConsoleAction(
    path: "/console/apps/{id}/remove", operation: AnyOperation(AppOperations.remove),
    confirms: Confirmation(title: "Remove the app?", button: "Remove the app and its devices") { call in
      let id: PushAppID = try call.number()
      let app = try await call.read(AppOperations.show, .number(id))
      let count = try await call.read(AppOperations.devices, (PageRequest(), id)).items.first
      let devices = count.map { $0.devices == 1 && !$0.areMore ? "its one device" : "its \($0.text) devices" }
      return """
        \(app.name) (\(app.appId), \(app.appType.platform)) is removed with its credentials and \(devices ?? "its devices"). Its \
        contacts stay. An app that something was sent to cannot be removed.
        """
    }, form: "/console/apps/{id}"
  ) { call in
    let app = try await call.change(AppOperations.remove, .number(try call.number()), ())
    return .see("/console/apps", notice: "\(app.name) is removed with its devices.")
  }

  // MARK: - Identity

  private static let rotateIdentity = ConsoleAction(
    path: "/console/apps/{id}/identity", operation: AnyOperation(AppOperations.rotateIdentity),
    confirms: Confirmation(
      title: "Make a new identity secret?", button: "Make it", isDestructive: false,
      text: """
        Your back end computes X-Pushcart-Identity with it. The secret before it is accepted for 30 days, or until the next one is \
        made.
        """), form: "/console/apps/{id}"
  ) { call in
    let id: PushAppID = try call.number()
    let identity = try await call.change(AppOperations.rotateIdentity, .number(id), ())
    return .show(
      .secret(
        "The identity secret of \(identity.appId)", label: "Identity secret", identity.identitySecret,
        use: #"printf %s "$ORIGINAL_ID" | openssl dgst -sha256 -hmac '\#(identity.identitySecret)'"#,
        note: identity.previousAccepted
          ? "The secret before it is accepted for 30 days, or until the next one is made." : nil,
        back: "/console/apps/\(id)", "Back to the app"))
  }

  private static let revokeIdentity = ConsoleAction(
    path: "/console/apps/{id}/identity/previous", operation: AnyOperation(AppOperations.revokePreviousIdentity),
    confirms: Confirmation(
      title: "Revoke the previous identity secret?", button: "Revoke it",
      text: "Identities that were made with the secret before the current one are refused from now on."),
    form: "/console/apps/{id}"
  ) { call in
    let app = try await call.change(AppOperations.revokePreviousIdentity, .number(try call.number()), ())
    return .see(app.path, notice: "The previous identity secret is revoked.")
  }
}
