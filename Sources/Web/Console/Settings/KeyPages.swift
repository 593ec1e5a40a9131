import FoundationEssentials
import Operations
import Registry
import Wire

/// Access keys: the list, a new one, and revoking one.
enum KeyPages {
  static let pages = [list, new]
  static let actions = [add, revoke]

  private static let list = ConsolePage(
    path: "/console/keys", title: "Access keys", section: .settings, reads: [AnyOperation(KeyOperations.list)],
    query: ["after"]
  ) { call in
    let request: PageRequest<AccessKeyID> = try call.query.page()
    let page = try await call.read(KeyOperations.list, request)
    return ConsoleView(
      title: "Access keys", template: "keys",
      values: [
        "keys": page.items.map { $0.row(call.zone) }, "isEmpty": page.items.isEmpty && request.after == nil,
        "mayAdd": call.allows(KeyOperations.add), "pager": call.pager("/console/keys", page.next.map { "\($0)" }),
        "errors": call.refusals,
        "tabs": SettingsTabs.tabs(call, "/console/keys"),
        "command": #"pushcart key add --customer \#(call.customer) --name "app push user" --scope backend"#,
      ],
      sql: """
        SELECT access_key_id, name, scope, app_id, created_at, expires_at, last_used_at, revoked_at FROM access_key
        WHERE customer_id = \(call.customer) ORDER BY access_key_id;
        """)
  }

  private static let fields = [
    AccessKeyRequest.form.field("name", label: "Name", hint: "What it is for, and where it is kept."),
    AccessKeyRequest.form.field(
      "scope", label: "What it opens",
      kind: .choice(AccessScope.allCases.map { FormField.Choice($0.rawValue, "\($0.rawValue): \($0.meaning)") }),
      hint: "Take the least that does. Each from device to admin includes the ones before it."),
    AccessKeyRequest.form.field(
      "appId", label: "Only for the app", hint: "Its app ID. Empty for all apps. A key of scope datasync needs it."),
    AccessKeyRequest.form.field("expiresAt", label: "Expires", hint: "Empty for never."),
  ]

  private static let new = ConsolePage(
    path: "/console/new-key", title: "New access key", section: .settings, reads: [AnyOperation(KeyOperations.add)]
  ) { call in
    ConsoleView(
      title: "Make an access key", template: "form",
      values: [
        "intro": "The key is shown once, on the next page. Only its hash is stored.", "form": call.formView(fields),
        "action": "/console/keys", "button": "Make the key", "back": "/console/keys", "backText": "Access keys",
        "command": "pushcart key add --customer \(call.customer) --name NAME --scope SCOPE",
      ])
  }

  private static let add = ConsoleAction(
    path: "/console/keys", operation: AnyOperation(KeyOperations.add), fields: fields, form: "/console/new-key"
  ) { call in
    let form = call.form
    guard let scope: AccessScope = try form.choice("scope") else {
      throw HTTPErrorResponse.badRequest("scope is missing: choose one.")
    }
    let request = AccessKeyRequest(
      name: form.text("name") ?? "", scope: scope, appId: form.text("appId").map { String($0.trimmed) },
      expiresAt: try form.moment("expiresAt", in: call.zone))
    let key = try await call.change(KeyOperations.add, (), request)
    let token = key.token ?? ""
    return .show(
      .secret(
        "Key \(key.keyId), \(key.name), is made", label: scope == .gateway ? "Product token" : "Access key", token,
        use: scope.use(of: token, app: key.appId, call), back: "/console/keys", "Back to the access keys"))
  }

  private static let revoke = ConsoleAction(
    path: "/console/keys/{id}/revoke", operation: AnyOperation(KeyOperations.revoke),
    confirms: Confirmation(title: "Revoke the key?", button: "Revoke it") { call in
      let id: AccessKeyID = try call.number()
      let keys = try await call.allKeys()
      guard let key = keys.first(where: { $0.keyId == id }) else { throw RegistryError.numberUnknown("access key") }
      let made = AccessKeys.validDescendants(of: id, among: keys).map { "\($0.keyId) (\($0.name))" }
      let sentence = "Key \(id), \(key.name), opens nothing any more. This cannot be undone."
      guard !made.isEmpty else { return sentence }
      let names = made.prefix(20).joined(separator: ", ") + (made.count > 20 ? " and \(made.count - 20) more" : "")
      return call.form.flag("withCreated")
        ? "\(sentence) Revoked with it: \(names), which it had made."
        : "\(sentence) Keys that it had made stay valid: \(names)."
    }, fields: [FormField("withCreated", label: "With the keys that it made", kind: .hidden)], form: "/console/keys"
  ) { call in
    let target = (try call.number("id", AccessKeyID.self), call.form.flag("withCreated"))
    let key = try await call.change(KeyOperations.revoke, target, ())
    let more = key.alsoRevoked?.count ?? 0
    let left = key.validKeysCreated ?? 0
    let also = more == 0 ? "" : " \(more) that it had made \(more == 1 ? "is" : "are"), too."
    let still = left == 0 ? "" : " \(left) that it had made \(left == 1 ? "is" : "are") still valid."
    return .see("/console/keys", notice: "Key \(key.keyId), \(key.name), is revoked.\(also)\(still)")
  }
}

extension ConsoleCall {
  /// Every key of the customer.
  fileprivate func allKeys() async throws -> [AccessKeyReply] {
    var keys: [AccessKeyReply] = []
    var request = PageRequest<AccessKeyID>(limit: PageRequest<AccessKeyID>.limits.upperBound)
    repeat {
      let page = try await read(KeyOperations.list, request)
      keys += page.items
      request.after = page.next
    } while request.after != nil
    return keys
  }
}

extension AccessKeyReply {
  fileprivate func row(_ zone: ConsoleZone) -> [String: Any] {
    var row: [String: Any] = [
      "id": "\(keyId)", "name": name, "scope": scope.rawValue, "created": zone.time(createdAt), "state": state,
      "app": appId ?? "", "revoke": revokedAt == nil ? "/console/keys/\(keyId)/revoke" : "",
      "audit": "/console/audit?key=\(keyId)",
    ]
    if let createdBy { row["maker"] = "key \(createdBy)" }
    if let expiresAt { row["expires"] = zone.time(expiresAt) }
    if let lastUsedAt { row["used"] = zone.time(lastUsedAt) }
    return row
  }

  private var state: [String: Any] {
    if revokedAt != nil { return ["text": "Revoked", "tone": "idle"] }
    guard let end = expiresAt?.date else { return ["text": "Valid", "tone": "ok"] }
    if end <= Date() { return ["text": "Expired", "tone": "idle"] }
    return end < Date() + 14 * 86_400 ? ["text": "Expires soon", "tone": "warn"] : ["text": "Valid", "tone": "ok"]
  }
}

extension AccessScope {
  fileprivate var meaning: String {
    switch self {
    case .device: "ships inside an app; registers its devices, reads nothing"
    case .send: "sends messages to single contacts, too"
    case .backend: "all of Carma's API"
    case .admin: "the management API, too: all that this console does"
    case .gateway: "only the gateway of Hybrid Messaging"
    case .datasync: "only the data tree of its app"
    }
  }

  /// A line that uses the key.
  fileprivate func use(of token: String, app: String?, _ call: ConsoleCall) -> String {
    let (hub, console, app) = (call.parts.publicURL, call.parts.consoleURL, app ?? "com.acme.app")
    let json = "-H 'Content-Type: application/json'"
    switch self {
    case .device:
      return """
        curl -X PUT \(hub)/rest/\(call.customer)/apps/\(app)/pushdevices -H 'X-Carma-Authentication-Token: \(token)' \(json) \
        -d '[{"originalId":"me@example.com","deviceInfo":[{"devicetoken":"…"}]}]'
        """
    case .send:
      return """
        curl -X POST \(console)/api/v1/messages -H 'Authorization: Bearer \(token)' \(json) \
        -d '{"appId":"\(app)","to":{"originalId":"me@example.com"},"message":{"alert":"Hello"}}'
        """
    case .backend:
      return """
        curl \(hub)/rest/\(call.customer)/apps/\(app)/pushdevices/me@example.com -H 'X-Carma-Authentication-Token: \(token)'
        """
    case .admin: return "curl \(console)/api/v1/apps -H 'Authorization: Bearer \(token)'"
    case .gateway:
      return """
        curl "\(hub)/gateway.ashx?producttoken=\(token)&to=0031612345678&body=Hello&from=Acme"
        """
    case .datasync: return "curl \(hub)/datasync/v2/\(app)/data/ -H 'Authorization: Bearer \(token)'"
    }
  }
}
