import Operations
import Registry
import Wire

/// The provider of SMS.
enum SMSPages {
  static let pages = [show, form]
  static let actions = [save, check, rotate, allow]

  private static let show = ConsolePage(
    path: "/console/sms", title: "SMS", section: .channels,
    reads: [AnyOperation(SMSOperations.show), AnyOperation(AppOperations.show)]
  ) { call in
    var values: [String: Any] = [
      "tabs": ChannelTabs.tabs(call, "/console/sms"), "mayChange": call.allows(SMSOperations.save),
      "command": "pushcart sms set --customer \(call.customer) --provider cm --product-token-file FILE --sender NAME",
      "optOut": call.formView(optOutFields), "errors": call.refusals,
    ]
    do {
      let sms = try await call.read(SMSOperations.show, ())
      let app = try await call.read(AppOperations.show, .number(sms.pushAppId))
      values["provider"] = [
        "kind": sms.provider.label, "sender": sms.sender, "account": sms.account, "url": "\(sms.url)",
        "voiceUrl": sms.voiceUrl.map { "\($0)" } ?? "", "statusUrl": sms.statusUrl, "state": app.state,
        "changed": call.zone.time(sms.updatedAt), "app": app.path,
      ]
      values["alarms"] = app.alarms(call.zone)
      if let last = app.lastCheck { values["check"] = last.view(call.zone) }
    } catch let error as HTTPErrorResponse where error == .noSMS {
      values["isEmpty"] = true
    }
    return ConsoleView(
      title: "SMS", template: "sms", values: values,
      sql: """
        SELECT * FROM report.devices WHERE customer_id = \(call.customer) AND app_type = \(AppType.sms.rawValue);
        """)
  }

  // MARK: - The provider

  private static let fields = [
    SMSSettingsRequest.form.field(
      "provider", label: "Provider",
      kind: .choice(SMSProviderKind.allCases.map { FormField.Choice($0.rawValue, $0.label) }), hint: ""),
    SMSSettingsRequest.form.field("sender", label: "Sender"),
    SMSSettingsRequest.form.field(
      "productToken", label: "Product token (CM)", kind: .password, hint: "cm.com, Channels, Gateway, Product token."),
    SMSSettingsRequest.form.field(
      "accountSid", label: "Account SID (Twilio)", hint: "console.twilio.com, Account Info."),
    SMSSettingsRequest.form.field(
      "authToken", label: "Auth Token (Twilio)", kind: .password, hint: "console.twilio.com, Account Info."),
    SMSSettingsRequest.form.field("url", label: "Address for messages", kind: .text),
    SMSSettingsRequest.form.field("voiceUrl", label: "Address for calls", kind: .text),
    SMSSettingsRequest.form.field("template", label: "Request of another provider, as JSON", kind: .file(["json"])),
  ]

  private static let form = ConsolePage(
    path: "/console/new-sms", title: "Provider of SMS", section: .channels, reads: [AnyOperation(SMSOperations.save)]
  ) { call in
    ConsoleView(
      title: "Set the provider of SMS", template: "form",
      values: [
        "intro": "All fields are set anew: give the sign-in again, since it is never shown.",
        "form": call.formView(fields), "action": "/console/sms", "button": "Save and check", "back": "/console/sms",
        "backText": "SMS",
        "command": "pushcart sms set --customer \(call.customer) --provider cm --product-token-file FILE --sender NAME",
      ])
  }

  private static let save = ConsoleAction(
    path: "/console/sms", operation: AnyOperation(SMSOperations.save), fields: fields, form: "/console/new-sms"
  ) { call in
    let form = call.form
    guard let provider: SMSProviderKind = try form.choice("provider") else {
      throw HTTPErrorResponse.badRequest("provider is missing: choose one.")
    }
    let request = SMSSettingsRequest(
      provider: provider, sender: form.text("sender") ?? "", url: form.text("url"), voiceUrl: form.text("voiceUrl"),
      productToken: form.text("productToken").map { String($0.trimmed) },
      accountSid: form.text("accountSid").map { String($0.trimmed) },
      authToken: form.text("authToken").map { String($0.trimmed) },
      template: try form.text("template").map { text in
        do { return try JSONValue(json: Array(text.utf8)) } catch {
          throw HTTPErrorResponse.badRequest("template is no JSON: check its quotes and commas.")
        }
      })
    _ = try await call.change(SMSOperations.save, (), request)
    let answer = try? await call.change(SMSOperations.check, (), ())
    return .see("/console/sms", notice: "The provider is saved. \(answer?.notice(AppType.sms.service) ?? "")")
  }

  private static let check = ConsoleAction(
    path: "/console/sms/check", operation: AnyOperation(SMSOperations.check), form: "/console/sms"
  ) { call in
    let reply = try await call.change(SMSOperations.check, (), ())
    return .see("/console/sms", notice: reply.notice(AppType.sms.service))
  }

  private static let rotate = ConsoleAction(
    path: "/console/sms/status-address", operation: AnyOperation(SMSOperations.rotate),
    confirms: Confirmation(
      title: "Renew the address for status reports?", button: "Renew it",
      text: """
        The address before is refused from now on. Until you have entered the new one at the provider, its reports are lost, as are \
        Twilio's of messages that left before.
        """), form: "/console/sms"
  ) { call in
    _ = try await call.change(SMSOperations.rotate, (), ())
    return .see("/console/sms", notice: "The address is renewed. Enter it at the provider.")
  }

  // MARK: - Opt-outs

  private static let optOutFields = [
    FormField(
      "number", label: "Telephone number",
      hint: "Write it \(PhoneNumber.form). Only do this when its owner asks for it.",
      isRequired: true, autocomplete: "off")
  ]

  private static let allow = ConsoleAction(
    path: "/console/sms/optouts", operation: AnyOperation(SMSOperations.allow), fields: optOutFields,
    form: "/console/sms"
  ) { call in
    guard let number = call.form.text("number").flatMap({ PhoneNumber(String($0.trimmed)) }) else {
      throw HTTPErrorResponse.noNumber
    }
    let reply = try await call.change(SMSOperations.allow, number, ())
    return .see(
      "/console/sms", notice: "\(reply.number) gets SMS again. It had opted out: \(reply.reason ?? "no reason").")
  }
}

extension SMSProviderKind {
  var label: String {
    switch self {
    case .cm: "CM Business Messaging"
    case .twilio: "Twilio"
    case .http: "another provider"
    }
  }
}

/// The pages of channels, as tabs.
enum ChannelTabs {
  static func tabs(_ call: ConsoleCall, _ current: String) -> [[String: Any]] {
    call.tabs([SMSPages.pages, SoftphonePages.pages, HybridPages.pages, DataTreePages.pages], current)
  }
}
