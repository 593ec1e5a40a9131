public import Registry
public import Subscriptions
public import Wire

/// Changes that are no `Operation` yet. API and command line both make them by these alone: each changes something and adds the line to
/// the audit log, in one transaction.
extension ManagementChange {
  /// - Parameter voipAppID: the PushKit AppId that is added too, with the same credentials; `nil` for none.
  public func addApp(_ app: NewPushApp, voipAppID: String? = nil, vault: Vault) async throws -> PushAppReply {
    let apps = PushApps(transaction, vault: vault)
    var added = PushAppReply(try await apps.add(customer, app))
    try await record(.addApp, "app \(added.pushAppId)", after: added)
    if let voipAppID {
      guard app.type == .ios, app.kind == .softphone else {
        throw RegistryError.invalid(field: "voipAppId", problem: "is for softphones on iOS alone")
      }
      var calls = app
      (calls.appID, calls.kind) = (voipAppID, .pushkit)
      let second = PushAppReply(try await apps.add(customer, calls))
      try await record(.addApp, "app \(second.pushAppId)", after: second)
    }
    added.warnings += PushApp.identityWarnings(of: added.pushAppId, among: try await apps.list(customer))
    return added
  }

  public func changeApp(_ id: PushAppID, _ update: PushAppUpdate, vault: Vault) async throws -> PushAppReply {
    let apps = PushApps(transaction, vault: vault)
    let before = try await apps.lock(customer, id).map { PushAppReply($0) }
    var after = PushAppReply(try await apps.update(customer, id, update))
    try await record(.changeApp, "app \(id)", before: before, after: after)
    after.warnings += PushApp.identityWarnings(of: id, among: try await apps.list(customer))
    return after
  }

  /// Makes or changes the app that stands for the customer's provider of SMS.
  public func setSMS(_ account: SMSAccount, vault: Vault) async throws -> PushApp {
    let apps = PushApps(transaction, vault: vault)
    let service = PushServiceFields(sms: account)
    guard let known = try await apps.list(customer).first(where: { $0.type == .sms }) else {
      let added = try await apps.add(
        customer, NewPushApp(appID: PushApp.smsAppID, type: .sms, name: "SMS", service: service))
      try await record(.addApp, "app \(added.id)", after: PushAppReply(added))
      return added
    }
    let before = try await apps.lock(customer, known.id).map { PushAppReply($0) }
    let changed = try await apps.update(customer, known.id, PushAppUpdate(service: service))
    try await record(.changeApp, "app \(known.id)", before: before, after: PushAppReply(changed))
    return changed
  }

  /// Renews the address where the customer's provider of SMS posts status reports.
  /// - Returns: the serial of the new one, which `SMSStatusAddresses.note` takes once this is committed.
  public func rotateSMS(_ addresses: SMSStatusAddresses) async throws -> Int32 {
    let serial = try await addresses.renew(customer, in: transaction)
    try await record(.rotateSMS, "sms", before: ["renewals": serial - 1], after: ["renewals": serial])
    return serial
  }

  /// Lets a telephone number get SMS again that has opted out.
  /// - Parameter app: that of SMS.
  /// - Throws: `HTTPErrorResponse`, if it has not.
  public func allowSMS(_ number: PhoneNumber, app: PushAppID) async throws -> SMSOptOutReply {
    guard let undone = try await Devices(transaction).allow(customer, number, in: app, by: key) else {
      throw HTTPErrorResponse.noOptOut
    }
    let reply = SMSOptOutReply(
      number: number.international, optedOutAt: Timestamp(undone.optedOutAt), reason: undone.reason)
    try await record(.allowSMS, "number \(number.international)", before: reply)
    return reply
  }

  public func rotateIdentity(of id: PushAppID, vault: Vault) async throws -> AppIdentityReply {
    let apps = PushApps(transaction, vault: vault)
    let before = try await apps.lock(customer, id).map { PushAppReply($0) }
    let identity = try await apps.rotateIdentity(customer, id)
    try await record(.rotateIdentity, "app \(id)", before: before, after: PushAppReply(identity.app))
    return AppIdentityReply(identity)
  }

  /// Identities of the secret before the current one are refused from now on.
  public func revokePreviousIdentity(of id: PushAppID, vault: Vault) async throws -> PushAppReply {
    let apps = PushApps(transaction, vault: vault)
    let before = try await apps.lock(customer, id).map { PushAppReply($0) }
    let after = PushAppReply(try await apps.revokePreviousIdentity(customer, id))
    try await record(.revokeIdentity, "app \(id)", before: before, after: after)
    return after
  }

  /// Replaces the webhooks of a data tree.
  public func saveWebhooks(
    _ settings: WebhookSettings, app: String, in store: WebhookStore, rule: EndpointRule
  ) async throws -> DataTreeSettings {
    let store = store.within(transaction)
    // What no master key opens can be replaced, too.
    let before = try? await store.settings(customer, app: app)
    let settings = settings.restored(from: before)
    try await store.save(settings, customer, app: app, rule: rule)
    try await record(
      .changeWebhooks, "datasync \(app)", before: before?.audited(), after: settings.audited(since: before))
    return DataTreeSettings(webhooks: settings.shown)
  }
}
