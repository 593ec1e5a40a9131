import HTTPTypes
import Registry
package import Wire

extension APIOperation.Tag {
  package static let sms = Self(
    "SMS", "The provider that sends a customer's SMS, and what it reports of them.", readers: [.operator],
    editors: [.operator])
}

/// `/api/v1/sms`: the provider of a customer's SMS.
package enum SMSOperations: ManagedOperations {
  package static let all = [
    AnyOperation(save), AnyOperation(show), AnyOperation(check), AnyOperation(rotate), AnyOperation(allow),
  ]

  /// Makes or changes the app that stands for the provider.
  package static let save = Operation(
    .put, "/api/v1/sms", id: "saveSMS", .sms, "Set the provider of SMS",
    """
    An SMS is a push to an app of the type SMS (10), whose `appId` is `sms`, and whose devices are telephone numbers. CM takes \
    `productToken`, Twilio `accountSid` and `authToken`. Any other provider takes a `template` of its request, and its `url`. \
    Addresses are https and of the internet, on the ports 443 and 8443. `PUSHCART_SMS_ALLOWED_HOSTS` names the only hosts, if it is \
    set; at localhost, 127.0.0.1 and [::1] these may be http. All fields are set anew.

    Enter the reply's `statusUrl` at the provider, so that it reports which messages were delivered. Twilio gets it with each \
    message.
    """,
    at: .none, body: .json(SMSSettingsRequest.form), replies: .ok("The provider.", SMSSettingsReply.form),
    audit: .addApp, outdates: .pushApps
  ) { call, _, request in
    let account = try SMSAccount(request, call.parts.smsRule)
    let service = PushServiceFields(sms: account)
    let apps = PushApps(call.database, vault: call.vault)
    guard let known = try await apps.list(call.customer).first(where: { $0.type == .sms }) else {
      let app = try await apps.add(
        call.customer, NewPushApp(appID: PushApp.smsAppID, type: .sms, name: "SMS", service: service))
      return Changed(try await call.settings(app, account), .init("app \(app.id)", after: PushAppReply(app)))
    }
    let before = try await apps.lock(call.customer, known.id).map { PushAppReply($0) }
    let app = try await apps.update(call.customer, known.id, PushAppUpdate(service: service))
    return Changed(
      try await call.settings(app, account),
      .init("app \(app.id)", before: before, after: PushAppReply(app), as: .changeApp))
  }

  package static let show = Operation(
    get: "/api/v1/sms", id: "showSMS", .sms, "Show the provider of SMS", "What signs in is never shown.", at: .none,
    replies: .ok("The provider.", SMSSettingsReply.form), errors: [missing]
  ) { call, _, _ in
    let app = try await call.smsApp
    return try await call.settings(app, try await call.account(of: app))
  }

  package static let check = Operation(
    asking: "/api/v1/sms/check", id: "checkSMS", .sms, "Check the sign-in to the provider of SMS",
    """
    Asks CM or Twilio whether it accepts the sign-in. Nobody gets a message. Other providers cannot be asked: the verdict is then \
    `unasked`.
    """,
    at: .none,
    replies: .ok(
      "The provider's answer.",
      PushAppCheckReply(
        pushAppId: PushAppID(9), appId: PushApp.smsAppID, checks: [.init(environment: .production, verdict: .accepted)])
    ), errors: [missing, sealed]
  ) { call, _, _ in
    guard let reply = try await call.parts.checkCredentials(try await call.smsApp) else {
      throw HTTPErrorResponse.noSMS
    }
    return reply
  }

  package static let rotate = Operation(
    .post, "/api/v1/sms/status-address", id: "rotateSMSStatusAddress", .sms, "Renew the address for status reports",
    """
    For an address that leaked. The one before is refused from now on, by other hubs within a moment. Enter the reply's `statusUrl` at \
    the provider; until then its reports are lost, as are Twilio's of messages that left before.
    """,
    at: .none, body: .none, replies: .created("The provider, with its new address.", SMSSettingsReply.form),
    errors: [missing, sealed], audit: "sms.rotate", outdates: .statusAddresses
  ) { call, _, _ in
    let app = try await call.smsApp
    let account = try await call.account(of: app)
    let addresses = try await call.parts.statusAddresses(call.database)
    let serial = try await addresses.renew(call.customer, in: call.database)
    return Changed(
      SMSSettingsReply(app, account, statusURL: addresses.url(of: call.customer, serial: serial)),
      .init("sms", before: ["renewals": serial - 1], after: ["renewals": serial]))
  }

  package static let allow = Operation(
    .delete, "/api/v1/sms/optouts/{number}", id: "allowSMS", .sms, "Undo the opt-out of a number",
    """
    A provider said that the number has opted out, and it gets no SMS since. From now on it does. Only do this when its owner asks for \
    it: the provider may have the opt-out in a list of its own, and then refuses the next SMS.
    """,
    at: Parameters.path(
      "number", .string(1...40), "The telephone number \(PhoneNumber.form).", example: "0031612345678"
    ).map(PhoneNumber.read) { $0.international }, body: .none,
    replies: .ok("The opt-out that was undone.", SMSOptOutReply.form),
    errors: [
      missing, .error("The number is none.", HTTPErrorResponse.noNumber),
      .error("It has not opted out.", HTTPErrorResponse.noOptOut),
    ], audit: "sms.allow"
  ) { call, number, _ in
    let app = try await call.smsApp
    guard let undone = try await Devices(call.database).allow(call.customer, number, in: app.id, by: call.key) else {
      throw HTTPErrorResponse.noOptOut
    }
    let reply = SMSOptOutReply(
      number: number.international, optedOutAt: Timestamp(undone.optedOutAt), reason: undone.reason)
    // The number names a person, and whoever reads the log may not see such fields.
    return Changed(
      reply,
      .init(
        "device \(undone.device)", before: UndoneOptOut(optedOutAt: reply.optedOutAt, reason: reply.reason), after: nil)
    )
  }

  private static let missing = APIResponse.error("The customer has no provider of SMS.", HTTPErrorResponse.noSMS)
  private static let sealed = APIResponse.error(
    "What signs in cannot be decrypted.", RegistryError.sealed(what: "push_credential/1/9/sms_account"))
}

/// An opt-out as the audit log has it.
private struct UndoneOptOut: Encodable, Sendable {
  let optedOutAt: Timestamp
  let reason: String?
}

extension OperationCall {
  /// The app that stands for the customer's provider of SMS.
  /// - Throws: `HTTPErrorResponse` (404) if there is none.
  fileprivate var smsApp: PushApp {
    get async throws {
      guard let app = try await PushApps(database).list(customer).first(where: { $0.type == .sms }) else {
        throw HTTPErrorResponse.noSMS
      }
      return app
    }
  }

  /// What signs in to the provider.
  fileprivate func account(of app: PushApp) async throws -> SMSAccount {
    guard case .sms(let account) = try await PushCredentialVault(database, vault: vault).credentials(for: app) else {
      throw HTTPErrorResponse.noSMS
    }
    return account
  }

  fileprivate func settings(_ app: PushApp, _ account: SMSAccount) async throws -> SMSSettingsReply {
    SMSSettingsReply(app, account, statusURL: try await parts.statusAddresses(database).url(of: customer))
  }
}
