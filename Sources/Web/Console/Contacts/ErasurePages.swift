import HTTPTypes
import Operations
import Registry
import Wire

/// What a person can ask for: all that is stored of them, and that it is erased.
enum ErasurePages {
  static let pages = [data, form]
  static let actions = [erase]

  private static let path = "/console/contacts/{id}/erase"

  static func isOpen(to call: ConsoleCall) -> Bool { call.user.seesPersonal && call.allows(ContactOperations.erase) }

  private static let data = ConsolePage(
    path: "/console/contacts/{id}/data", title: "A person's data", section: .contacts,
    reads: [AnyOperation(ContactOperations.data)]
  ) { call in
    let reply = try await call.read(ContactOperations.data, try await ContactPages.originalID(call))
    return ConsoleView(
      download: ConsoleDownload(
        name: "contact-\(reply.contactId).json", type: "application/json", bytes: try JSONValue(encoding: reply).json))
  }

  private static let confirmation = FormField(
    "originalId", label: "Original id", hint: "Type it as it stands above, to confirm.", isRequired: true,
    autocomplete: "off")

  private static let form = ConsolePage(
    path: path, title: "Erase a contact", section: .contacts,
    reads: [AnyOperation(ContactOperations.show), AnyOperation(ContactOperations.erase)]
  ) { call in
    guard isOpen(to: call) else { throw HTTPErrorResponse.personalRefused }
    let contact = try await call.read(ContactOperations.show, try await ContactPages.originalID(call))
    return ConsoleView(
      title: "Erase a contact", template: "contact-erase",
      values: [
        "id": contact.contactId, "originalId": contact.originalId, "name": contact.fullName ?? "",
        "devices": contact.devices?.count ?? 0, "isOneDevice": contact.devices?.count == 1,
        "form": call.formView([confirmation]),
      ], calls: [call.parts.link(to: ContactOperations.erase, contact.originalId, of: call.customer)])
  }

  private static let erase = ConsoleAction(
    path: path, operation: AnyOperation(ContactOperations.erase), fields: [confirmation], form: path
  ) { call in
    guard isOpen(to: call) else { throw HTTPErrorResponse.personalRefused }
    let originalID = try await ContactPages.originalID(call)
    guard call.form.text(confirmation.name)?.hasSameBytes(as: originalID) == true else {
      throw HTTPErrorResponse.badRequest("\(confirmation.name) is another one. Nothing was erased.")
    }
    let reply = try await call.change(ContactOperations.erase, originalID, ())
    return .see("/console/contacts", notice: notice(of: reply))
  }

  /// Most filters that one sentence names.
  private static let mostNamed = 5

  private static func notice(of reply: ErasureReply) -> String {
    let done = "Contact \(reply.contactId) is erased. What else is stored follows within moments."
    guard !reply.filters.isEmpty else { return done }
    let others = reply.filters.count - mostNamed
    let named = reply.filters.prefix(mostNamed).joined(separator: ", ") + (others > 0 ? " and \(others) more" : "")
    return "\(done) Filters still name the person, and stay until you change them: \(named)."
  }
}
