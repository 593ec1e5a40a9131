import Delivery
import HTTPTypes
import Hybrid
import Registry
import Sendouts
package import Wire

extension APIOperation.Tag {
  package static let apps = Self(
    "Apps", "The apps that receive pushes, and the credentials of their push services.",
    readers: [.marketer, .operator], editors: [.operator])
}

/// `/api/v1/apps`.
package enum AppOperations: ManagedOperations {
  package static let all = [
    AnyOperation(list), AnyOperation(add), AnyOperation(devices), AnyOperation(show), AnyOperation(change),
    AnyOperation(check), AnyOperation(remove),
    AnyOperation(rotateIdentity), AnyOperation(revokePreviousIdentity),
  ]

  package static let list = Operation(
    get: "/api/v1/apps", id: "listApps", .apps, "List the apps", "Lists every app of the customer, the oldest first.",
    at: .page(of: "app", by: PushAppID.self), replies: .ok("A page of apps.", Page<PushAppReply, PushAppID>.form)
  ) { call, page, _ in
    page.slice(of: try await PushApps(call.database).list(call.customer).map { PushAppReply($0) }, by: \.pushAppId)
  }

  package static let add = Operation(
    .post, "/api/v1/apps", id: "addApp", .apps, "Add an app",
    """
    The same `appId` may be added once per platform. \
    \(PushService.all.map(\.guide).filter { !$0.isEmpty }.joined(separator: " ")) All may also be added later, by PATCH.

    A key or certificate is checked and encrypted, and never shown again. A wrong file is refused with a sentence that says \
    what it is.
    """,
    at: .none, body: .json(PushAppRequest.form), replies: .created("The app.", PushAppReply.added),
    errors: [
      .error(
        "The customer already has this appId on this platform.",
        RegistryError.appTaken(appID: "com.acme.app", type: .ios))
    ], audit: .addApp, outdates: .pushApps
  ) { call, _, request in
    let apps = PushApps(call.database, vault: call.vault)
    var app = try NewPushApp(request)
    var added = PushAppReply(try await apps.add(call.customer, app))
    var lines = [Changed<PushAppReply>.Line("app \(added.pushAppId)", after: added)]
    if let voipAppID = request.voipAppId {
      guard app.type == .ios, app.kind == .softphone else {
        throw RegistryError.invalid(field: "voipAppId", problem: "is for softphones on iOS alone")
      }
      (app.appID, app.kind) = (voipAppID, .pushkit)
      let second = PushAppReply(try await apps.add(call.customer, app))
      lines.append(.init("app \(second.pushAppId)", after: second))
    }
    added.warnings += PushApp.identityWarnings(of: added.pushAppId, among: try await apps.list(call.customer))
    return Changed(added, lines)
  }

  /// The number names one app; all without it.
  package static let devices = Operation(
    get: "/api/v1/device-counts", id: "countDevices", .apps, "Count the devices of apps",
    """
    Counts the valid devices of each app. Few are counted at once, up to \(DeviceCountReply.maximum). Many are counted once a day, \
    soon after midnight UTC.
    """,
    at: Parameters.page(of: "app", by: PushAppID.self).and(
      .number("pushAppId", PushAppID.self, "Only this app.", example: 1)),
    replies: .ok("A page of apps with their devices.", Page<DeviceCountReply, PushAppID>.form)
  ) { call, target, _ in
    let (page, app) = target
    let apps = try await PushApps(call.database).list(call.customer).map(\.id).filter { app == nil || $0 == app }
    return page.slice(of: try await DeviceCounts(call.database).of(call.customer, apps), by: \.pushAppId)
  }

  package static let show = Operation(
    get: "/api/v1/apps/{id}", id: "showApp", .apps, "Show an app", "Credentials are shown only by their fingerprints.",
    at: name, replies: .ok("The app.", PushAppReply.form), errors: [unknown]
  ) { call, name, _ in PushAppReply(try await call.app(name)) }

  package static let change = Operation(
    .patch, "/api/v1/apps/{id}", id: "changeApp", .apps, "Change an app",
    """
    A field that is absent or null stays as it is. `appId` and `appType` cannot change: the tokens registered under \
    them belong to that app.
    """,
    at: name, body: .json(PushAppRequest.change), replies: .ok("The changed app.", PushAppReply.form),
    errors: [unknown], audit: .changeApp, outdates: .pushApps
  ) { call, name, request in
    let (apps, before) = try await call.lockedApp(name)
    var after = PushAppReply(try await apps.update(call.customer, before.pushAppId, PushAppUpdate(request)))
    let line = Changed<PushAppReply>.Line("app \(after.pushAppId)", before: before, after: after)
    after.warnings += PushApp.identityWarnings(of: after.pushAppId, among: try await apps.list(call.customer))
    return Changed(after, line)
  }

  package static let check = Operation(
    asking: "/api/v1/apps/{id}/check", id: "checkApp", .apps, "Check an app's credentials",
    """
    Asks the push service whether it accepts the app's credentials in each environment. Nothing is sent to a phone. \
    An environment that does not answer within 15 seconds is `unreachable`. Of Windows' push service, its sign-in is asked.
    """,
    at: name, replies: .ok("The push service's answers.", PushAppCheckReply.form),
    errors: [
      unknown,
      .error(
        "The app has no credentials to check, or they cannot be decrypted.",
        HTTPErrorResponse.noCredentials(CustomerID(1), PushAppID(1), appID: "com.acme.app", .ios, field: "signingKey"),
        RegistryError.sealed(what: "push_credential/1/1/apns_signing_key")),
    ]
  ) { call, name, _ in
    let app = try await call.app(name)
    guard let reply = try await call.parts.checkCredentials(app) else { throw HTTPErrorResponse.noCredentials(of: app) }
    return reply
  }

  package static let remove = Operation(
    .delete, "/api/v1/apps/{id}", id: "removeApp", .apps, "Remove an app",
    """
    Removes an app with its credentials and its devices; the contacts stay. An app that sendouts or messages name cannot be \
    removed, since their reports need it; nor can one that a trigger goes to, unless its `appId` has another platform, or one of \
    Hybrid Messaging.
    """,
    at: name, body: .none, replies: .ok("The app as it was.", PushAppReply.form),
    errors: [unknown, .error("Something names the app.", AppUser.examples.map { HTTPErrorResponse.appInUse(by: $0) })],
    audit: "app.remove", outdates: .pushApps, statementLimit: Ledger.wholeSendoutLimit
  ) { call, name, _ in
    let app = try await call.app(name)
    // What begins to name the app meanwhile finds no device of it.
    if let user = try await call.user(of: app) { throw HTTPErrorResponse.appInUse(by: user) }
    let before = PushAppReply(try await PushApps(call.database).remove(call.customer, app.id))
    return Changed(before, .init("app \(app.id)", before: before, after: nil))
  }

  package static let rotateIdentity = Operation(
    .post, "/api/v1/apps/{id}/identity", id: "rotateAppIdentity", .apps, "Make an app's identity secret",
    """
    The customer's back end computes `X-Pushcart-Identity` with it: the HMAC-SHA256 of `originalId`, in hexadecimal or \
    base64url, with the secret's text as the key. The reply shows the secret once.

    The secret before it is accepted for 30 days, or until the next one is made. As soon as one app has `identity` \
    `required`, every request with a device key to any app of the customer needs the header: all apps share the \
    customer's contacts. An identity made with the secret of any of these apps counts.
    """,
    at: name, body: .none, replies: .created("The secret.", AppIdentityReply.form), errors: [unknown],
    audit: "app.rotate_identity", outdates: .pushApps
  ) { call, name, _ in
    let (apps, before) = try await call.lockedApp(name)
    let identity = try await apps.rotateIdentity(call.customer, before.pushAppId)
    return Changed(
      AppIdentityReply(identity), .init("app \(before.pushAppId)", before: before, after: PushAppReply(identity.app)))
  }

  package static let revokePreviousIdentity = Operation(
    .delete, "/api/v1/apps/{id}/identity/previous", id: "revokePreviousAppIdentity", .apps,
    "Revoke an app's previous identity secret",
    """
    Identities of the secret before the current one are refused from now on. After a leak, make a new secret, then call \
    this. Without a previous secret nothing changes.
    """,
    at: name, body: .none, replies: .ok("The app.", PushAppReply.form), errors: [unknown],
    audit: "app.revoke_previous_identity", outdates: .pushApps
  ) { call, name, _ in
    let (apps, before) = try await call.lockedApp(name)
    let after = PushAppReply(try await apps.revokePreviousIdentity(call.customer, before.pushAppId))
    return Changed(after, "app \(after.pushAppId)", before: before)
  }

  private static let name = Parameters.id(PushAppID.self, "The app's `pushAppId`.", example: 1)
    .map {
      PushAppName.number($0)
    } back: {
      if case .number(let id) = $0 { id } else { nil }
    }
  private static let unknown = APIResponse.error(
    "The customer has no app of this number.", RegistryError.numberUnknown("push app"))
}

/// What names an app, so that it cannot be removed.
package enum AppUser: Sendable {
  case sendout(SendoutID)
  /// The single messages of a day.
  case messages
  /// A trigger that would be left without a platform of this app id.
  case trigger(TriggerID)
  case hybrid

  fileprivate static let examples: [AppUser] = [.sendout(SendoutID(7)), .messages, .trigger(TriggerID(1)), .hybrid]
}

/// How an app is named: by its number in requests, and at the command line by its app id, too.
package enum PushAppName: Sendable {
  case number(PushAppID)
  /// The type may be left out when the app id has one platform.
  case appID(String, AppType?)
}

extension OperationCall {
  /// What names the app; `nil` if nothing does.
  fileprivate func user(of app: PushApp) async throws -> AppUser? {
    if let (sendout, isStream) = try await SendoutStore(database).first(naming: app.id, of: customer) {
      return isStream ? .messages : .sendout(sendout)
    }
    if try await HybridApps(database).isEnabled(customer, appID: app.appID) { return .hybrid }
    let platforms = try await PushApps(database).resolveAll(customer, appIDs: [app.appID], type: nil)
    guard platforms.count == 1 else { return nil }
    return try await Triggers(database).first(naming: app.appID, of: customer).map { .trigger($0) }
  }

  /// The app as it is now.
  /// - Throws: `RegistryError.numberUnknown`, `.appUnknown`, `.appAmbiguous`.
  fileprivate func app(_ name: PushAppName) async throws -> PushApp {
    let apps = PushApps(database)
    switch name {
    case .number(let id):
      guard let app = try await apps.find(customer, id) else { throw RegistryError.numberUnknown("push app") }
      return app
    case .appID(let appID, let type): return try await apps.resolve(customer, appID: appID, type: type)
    }
  }

  /// The app, locked against other changes until the transaction ends, and the store to change it in.
  /// - Throws: as `app`.
  fileprivate func lockedApp(_ name: PushAppName) async throws -> (apps: PushApps, before: PushAppReply) {
    let apps = PushApps(database, vault: vault)
    let id = if case .number(let id) = name { id } else { try await self.app(name).id }
    guard let app = try await apps.lock(customer, id) else { throw RegistryError.numberUnknown("push app") }
    return (apps, PushAppReply(app))
  }
}
