public import Registry
public import Wire

extension CustomerReply {
  public init(_ customer: Customer) {
    self.init(
      customerId: customer.id, name: customer.name, linkMaxAgeDays: customer.settings.linkMaximumAgeDays,
      devicesPerContact: customer.settings.devicesPerContact, retentionDays: customer.settings.retentionDays,
      reporterFields: customer.settings.reporterFields.isEmpty
        ? nil
        : Dictionary(uniqueKeysWithValues: customer.settings.reporterFields.map { ($0.key.rawValue, $0.value) }),
      timeZone: customer.settings.timeZone, approval: customer.settings.approval,
      sendThreshold: customer.settings.sendThreshold, quietHours: customer.settings.quietHours,
      caps: customer.settings.caps,
      createdAt: Timestamp(customer.createdAt))
  }
}

extension PushAppReply {
  init(_ app: PushApp) {
    self.init(
      pushAppId: app.id, appId: app.appID, appType: app.type, kind: app.kind, name: app.name, teamId: app.teamID,
      keyId: app.keyID,
      vapidPublicKey: app.vapidPublicKey, contact: app.contact, identity: app.identityRequired ? .required : .off,
      deviceFields: app.deviceFields?.names,
      credentials: app.credentials.map { Credential($0) },
      alarm: app.alarm.map { Alarm(reason: $0.reason, since: Timestamp($0.since)) },
      sandboxAlarm: app.sandboxAlarm.map { Alarm(reason: $0.reason, since: Timestamp($0.since)) },
      lastCheck: app.lastCheck, warnings: app.warnings,
      createdAt: Timestamp(app.createdAt), updatedAt: Timestamp(app.updatedAt))
  }
}

extension HTTPErrorResponse {
  /// The app has nothing to be checked or sent with.
  static func noCredentials(of app: PushApp) -> HTTPErrorResponse {
    noCredentials(app.customer, app.id, appID: app.appID, app.type, field: app.missingCredential ?? "credentials")
  }
}

extension PushAppReply.Credential {
  init(_ credential: PushCredential) {
    self.init(
      kind: credential.kind, account: credential.account, fingerprint: credential.fingerprint,
      notAfter: credential.notAfter.map { Timestamp($0) }, updatedAt: Timestamp(credential.updatedAt))
  }
}

extension NewPushApp {
  /// - Throws: `RegistryError.invalid`.
  init(_ request: PushAppRequest) throws(RegistryError) {
    guard let type = request.appType else { throw .invalid(field: "appType", problem: "is missing") }
    self.init(
      appID: request.appId ?? "", type: type, kind: request.kind ?? (request.voipAppId == nil ? .app : .softphone),
      name: request.name ?? "", service: PushServiceFields(request.fields),
      identityRequired: request.fields.identity == .required, deviceFields: request.fields.deviceFields)
  }
}

extension PushAppUpdate {
  init(_ request: PushAppRequest) {
    self.init(
      name: request.name, service: PushServiceFields(request.fields),
      identityRequired: request.fields.identity.map { $0 == .required }, deviceFields: request.fields.deviceFields)
  }
}

extension PushServiceFields {
  init(_ fields: PushAppFields) { self.init(fields.credentials.mapValues { Secret(bytes: $0) }) }
}

extension AppIdentityReply {
  init(_ identity: AppIdentity) {
    self.init(
      pushAppId: identity.app.id, appId: identity.app.appID, identitySecret: identity.secret,
      previousAccepted: identity.hasPrevious)
  }
}

extension SMSSettingsReply {
  /// - Parameter statusURL: where its status reports go.
  init(_ app: PushApp, _ account: SMSAccount, statusURL: String) {
    self.init(
      pushAppId: app.id, provider: account.provider.kind, sender: account.sender, url: ShownURL(account.url),
      voiceUrl: account.voiceURL.map { ShownURL($0) }, account: account.description, statusUrl: statusURL,
      alarm: app.alarm.map { PushAppReply.Alarm(reason: $0.reason, since: Timestamp($0.since)) },
      updatedAt: Timestamp(app.updatedAt))
  }
}
