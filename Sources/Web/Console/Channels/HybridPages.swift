import Operations
import Registry
import Sendouts
import Wire

/// Apps of CM Hybrid Messaging, and their phones.
enum HybridPages {
  static let pages = [list, new, one, phones, figures]
  static let actions = [enable, change, rotate]

  private static let list = ConsolePage(
    path: "/console/hybrid", title: "CM Hybrid", section: .channels, reads: [AnyOperation(HybridAppOperations.list)],
    query: ["after"]
  ) { call in
    let page = try await call.read(HybridAppOperations.list, try call.query.namedPage())
    return ConsoleView(
      title: "CM Hybrid Messaging", template: "hybrid",
      values: [
        "tabs": ChannelTabs.tabs(call, "/console/hybrid"), "apps": page.items.map { $0.row(call.zone) },
        "isEmpty": page.items.isEmpty, "hasApps": !page.items.isEmpty,
        "pager": call.pager("/console/hybrid", page.next),
        "mayAdd": call.allows(HybridAppOperations.enable), "mayRead": call.allows(ReportOperations.show),
        "command": "pushcart hybrid enable --customer \(call.customer) --app com.acme.app",
      ],
      sql: "SELECT * FROM report.hybrid_share WHERE customer_id = \(call.customer) ORDER BY day DESC LIMIT 30;")
  }

  // MARK: - Its settings

  private static func settings(_ form: BodyForm<HybridAppRequest>) -> [FormField] {
    [
      form.field("messageType", label: "When an SMS stands in"), form.field("sender", label: "Sender of PINs"),
      form.field("pinText", label: "Text of the SMS with a PIN", kind: .text),
      form.field("voiceText", label: "What a call says", kind: .text),
      form.field("movedText", label: "Push to a phone that lost its number", kind: .area(rows: 2)),
      form.field("pinDigits", label: "Digits of a PIN"), form.field("clockZone", label: "Time zone of the phones"),
      form.field("pinsPerHour", label: "Most PINs an hour"),
      form.field("registrationsPerHour", label: "Most registrations an hour"),
      form.field("statusUrl", label: "Address for status reports", kind: .text),
    ]
  }

  private static let newFields =
    [HybridAppRequest.form.field("appId", label: "App ID")] + settings(HybridAppRequest.form)
  private static let changeFields = settings(HybridAppRequest.change)

  private static func request(_ call: ConsoleCall, isChange: Bool) throws -> HybridAppRequest {
    let form = call.form
    // What is empty is removed by a change, and left to the hub in a new app.
    let empty: String? = isChange ? "" : nil
    return HybridAppRequest(
      appId: isChange ? nil : form.text("appId").map { String($0.trimmed) } ?? "",
      messageType: try form.choice("messageType"), sender: form.text("sender") ?? empty,
      pinText: form.text("pinText") ?? empty, voiceText: form.text("voiceText") ?? empty,
      movedText: form.text("movedText") ?? empty, pinDigits: try form.number("pinDigits"),
      clockZone: form.text("clockZone"), pinsPerHour: try form.number("pinsPerHour"),
      registrationsPerHour: try form.number("registrationsPerHour"),
      // It is shown without its query, so that it is changed only if something is given.
      statusUrl: form.text("statusUrl"))
  }

  private static let new = ConsolePage(
    path: "/console/new-hybrid", title: "Enable Hybrid Messaging", section: .channels,
    reads: [AnyOperation(HybridAppOperations.enable)]
  ) { call in
    ConsoleView(
      title: "Enable Hybrid Messaging for an app", template: "form",
      values: [
        "intro": """
        The app needs its push credentials first. App key and app secret, which the app is built with, are shown once, on the next page.
        """, "form": call.formView(newFields), "action": "/console/hybrid", "button": "Enable it",
        "back": "/console/hybrid", "backText": "CM Hybrid Messaging",
        "command": "pushcart hybrid enable --customer \(call.customer) --app com.acme.app",
      ])
  }

  private static let enable = ConsoleAction(
    path: "/console/hybrid", operation: AnyOperation(HybridAppOperations.enable), fields: newFields,
    form: "/console/new-hybrid"
  ) { call in
    issued(try await call.change(HybridAppOperations.enable, (), try request(call, isChange: false)), nil)
  }

  private static func issued(_ app: IssuedHybridApp, _ note: String?) -> ConsoleDone {
    .show(
      .secret(
        "What \(app.appId) signs with", label: "App secret", app.appSecret, use: "appKey: \(app.appKey)", note: note,
        back: "/console/hybrid/\(PercentEncoding.encode(app.appId))", "Back to the app"))
  }

  private static let one = ConsolePage(
    path: "/console/hybrid/{appId}", title: "App of Hybrid Messaging", section: .channels,
    reads: [AnyOperation(HybridAppOperations.show)]
  ) { call in
    let app = try await call.read(HybridAppOperations.show, call.path["appId"] ?? "")
    let form = call.formView(
      changeFields,
      [
        "messageType": app.messageType.rawValue, "sender": app.sender, "pinText": app.pinText,
        "voiceText": app.voiceText, "movedText": app.movedText, "pinDigits": "\(app.pinDigits)",
        "clockZone": app.clockZone, "pinsPerHour": "\(app.pinsPerHour)",
        "registrationsPerHour": "\(app.registrationsPerHour)",
      ])
    var values = app.row(call.zone)
    values.merge([
      "appKey": app.appKey, "hasPreviousSecret": app.hasPreviousSecret, "form": form,
      "statusUrl": app.statusUrl.map { "\($0)" } ?? "", "created": call.zone.time(app.createdAt),
      "mayChange": call.allows(HybridAppOperations.change), "mayReadPhones": call.allows(HybridAppOperations.phones),
    ]) { $1 }
    return ConsoleView(title: app.appId, template: "hybrid-app", values: values)
  }

  private static let change = ConsoleAction(
    path: "/console/hybrid/{appId}", operation: AnyOperation(HybridAppOperations.change), fields: changeFields,
    form: "/console/hybrid/{appId}"
  ) { call in
    let app = try await call.change(
      HybridAppOperations.change, call.path["appId"] ?? "", try request(call, isChange: true))
    return .see(app.path, notice: "\(app.appId) is changed.")
  }

  private static let rotate = ConsoleAction(
    path: "/console/hybrid/{appId}/secret", operation: AnyOperation(HybridAppOperations.rotate),
    confirms: Confirmation(title: "Make a new app secret?", button: "Make it") { call in
      """
      The secret of \(call.path["appId"] ?? "") before the new one works until the next rotation. A secret that leaked is rotated \
      twice, which stops apps that are installed.
      """
    }, form: "/console/hybrid/{appId}"
  ) { call in
    issued(
      try await call.change(HybridAppOperations.rotate, call.path["appId"] ?? "", ()),
      "The secret before it works until the next rotation.")
  }

  // MARK: - Phones and figures

  private static let phones = ConsolePage(
    path: "/console/hybrid/{appId}/phones", title: "Phones of Hybrid Messaging", section: .channels,
    reads: [AnyOperation(HybridAppOperations.phones)], query: ["after", "number"]
  ) { call in
    let appID = call.path["appId"] ?? ""
    let number = try call.query.value("number").flatMap { $0.isEmpty ? nil : $0 }.map { text in
      guard let number = PhoneNumber(String(text.trimmed)) else { throw HTTPErrorResponse.noNumber }
      return number
    }
    let page = try await call.read(HybridAppOperations.phones, ((appID, try call.query.page()), number))
    return ConsoleView(
      title: "Phones of \(appID)", template: "hybrid-phones",
      values: [
        "appId": appID, "href": "/console/hybrid/\(PercentEncoding.encode(appID))",
        "number": call.query.value("number") ?? "", "phones": page.items.map { $0.row(call.zone) },
        "isEmpty": page.items.isEmpty,
        "pager": call.pager(
          "/console/hybrid/\(PercentEncoding.encode(appID))/phones", page.next.map { "\($0)" }, keeping: ["number"]),
      ])
  }

  private static let figures = ConsolePage(
    path: "/console/hybrid-figures", title: "Figures of Hybrid Messaging", reads: [AnyOperation(ReportOperations.show)]
  ) { call in
    let report = try await call.read(ReportOperations.show, ((("hybrid", nil), nil), 100))
    return ConsoleView(
      title: "Messages to telephone numbers", template: "figures",
      values: ReportTable.values(report.rows, .hybrid).merging([
        "back": "/console/hybrid", "backText": "CM Hybrid Messaging", "intro": "By day, app and type. Days are UTC.",
      ]) { $1 },
      sql: "SELECT * FROM report.hybrid_share WHERE customer_id = \(call.customer) ORDER BY day DESC LIMIT 100;")
  }
}

extension HybridAppReply {
  var path: String { "/console/hybrid/\(PercentEncoding.encode(appId))" }

  fileprivate func row(_ zone: ConsoleZone) -> [String: Any] {
    var row: [String: Any] = [
      "appId": appId, "href": path, "messageType": messageType.rawValue, "sender": sender ?? "the provider's own",
      "changed": zone.time(updatedAt),
      "state": alarm == nil ? ["text": "Ready", "tone": "ok"] : ["text": "Needs attention", "tone": "bad"],
    ]
    if let alarm { row["alarm"] = ["reason": alarm.reason, "since": zone.time(alarm.since)] }
    return row
  }
}

extension HybridPhoneReply {
  fileprivate func row(_ zone: ConsoleZone) -> [String: Any] {
    var row: [String: Any] = [
      "id": "\(registrationId)", "number": number ?? "–", "status": status, "platform": platform,
      "userAgent": userAgent, "pushes": getsPushes ? "yes" : "no", "changed": zone.time(changedAt),
    ]
    if let verifiedAt { row["verified"] = zone.time(verifiedAt) }
    if let tokenChangedAt { row["tokenChanged"] = zone.time(tokenChangedAt) }
    return row
  }
}
