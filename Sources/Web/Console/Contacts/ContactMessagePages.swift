import Operations
import Registry
import Wire

/// A message to one contact.
enum ContactMessagePages {
  static let pages = [form]
  static let actions = [send]

  private static let path = "/console/contacts/{id}/message"

  private static let form = ConsolePage(
    path: path, title: "Send a message", section: .contacts,
    reads: [AnyOperation(ContactOperations.show), AnyOperation(ContactOperations.change)]
  ) { call in
    guard call.user.seesPersonal else { throw HTTPErrorResponse.personalRefused }
    let contact = try await call.read(ContactOperations.show, try await ContactPages.originalID(call))
    let apps = Set((contact.devices ?? []).filter { $0.invalidatedAt == nil }.map { UTF8String($0.appId) }).sorted()
    var fields = fields
    fields[0].kind = .choices(apps.map { FormField.Choice($0.text) })
    return ConsoleView(
      title: "Send a message", template: "contact-message",
      values: [
        "id": contact.contactId, "originalId": contact.originalId, "name": contact.fullName ?? "",
        "hasApps": !apps.isEmpty, "form": call.formView(fields, all: ["appIds": apps.count == 1 ? [apps[0].text] : []]),
      ])
  }

  private static let fields = [
    FormField(
      "appIds", label: "Apps", kind: .choices([]), hint: "The message goes to all valid devices in them.",
      isRequired: true),
    FormField(
      "alert", label: "Text", kind: .area(rows: 3), hint: "It can name fields, as in {{firstName}}.", isRequired: true),
    FormField("info", label: "Further text", kind: .area(rows: 2), hint: "Shown below the text, where there is room."),
    FormField("reference", label: "Your name for it", hint: "Shown in lists of messages.", limits: 1...200),
  ]

  private static let send = ConsoleAction(
    path: path, operation: AnyOperation(MessageOperations.send), fields: fields, form: path
  ) { call in
    guard call.user.seesPersonal else { throw HTTPErrorResponse.personalRefused }
    let contact = try await call.read(ContactOperations.show, try await ContactPages.originalID(call))
    let apps = call.form.all("appIds")
    guard !apps.isEmpty else { throw HTTPErrorResponse.badRequest("appIds is missing: tick an app.") }
    guard let alert = call.form.text("alert") else {
      throw HTTPErrorResponse.badRequest("alert is empty: write what the push says.")
    }
    let request = MessageRequest(
      appIds: apps, to: MessageTarget(originalId: contact.originalId),
      message: MessageBody(alert: alert, info: call.form.text("info")), reference: call.form.text("reference"))
    let sent = try await call.send(request)
    return .see("/console/messages/\(sent.messageId)", notice: "The message is on its way.")
  }
}
