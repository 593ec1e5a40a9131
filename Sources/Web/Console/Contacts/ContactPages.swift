import DataInOut
import HTTPTypes
import Operations
import Registry
import Sendouts
import Wire

/// Contacts: the search, one contact with its timeline, its changes and its suppressions.
enum ContactPages {
  static let pages = [search, contact, edit]
  static let actions = [change, retire, suppress, lift]

  private static let path = "/console/contacts"
  /// Most events of a timeline at first, and at all.
  private static let events = (few: 50, most: 1000)

  private static let search = ConsolePage(
    path: path, title: "Contacts", section: .contacts, reads: [AnyOperation(ContactOperations.list)],
    query: ["query", "filter", "after"] + ContactFilter.row
  ) { call in
    let (query, after) = (call.given("query"), call.query.value("after"))
    let asked = ContactFilter(call)
    var (rows, next, problem): ([[String: Any]], String?, String) = ([], nil, "")
    if asked.isReadable {
      do {
        let page = try await call.read(
          ContactOperations.list, (((query, nil), asked.filter), PageRequest(after: after, limit: 50)))
        (rows, next) = (page.items.map { row($0, call) }, page.next)
      } catch {
        // A filter that cannot be answered stays on the page, to be changed.
        guard asked.filter != nil, let refusal = ErrorReplies.response(for: error) else { throw error }
        problem = refusal.sentence
      }
    }
    let isEmpty = rows.isEmpty && next == nil && problem.isEmpty && asked.isReadable
    let isFiltered = asked.filter != nil
    let kept: KeyValuePairs<String, String?> = ["query": query, "filter": asked.given]
    var values = asked.values(query)
    values.merge([
      "tabs": ContactTabs.tabs(call, path), "query": query ?? "", "rows": rows, "hasRows": !rows.isEmpty,
      "pager": ConsolePath.pager(path, kept, after: after, next), "hidesPersonal": !call.user.seesPersonal,
      "problem": problem, "noneMeets": isEmpty && isFiltered, "nobody": isEmpty && !isFiltered && query != nil,
      "first": isEmpty && !isFiltered && query == nil && after == nil ? [firstSteps(call)] : [],
      "save": isFiltered && call.allows(SegmentOperations.add)
        ? ConsolePath.path("/console/segments/new", ["filter": asked.given]) : "",
      "send": isFiltered && call.allows(SendoutOperations.add)
        ? ConsolePath.path("/console/new-sendout", ["filter": asked.given]) : "",
      "export": asked.isReadable ? DownloadPages.link(call, .contacts, filter: asked.given) : "",
    ]) { $1 }
    return ConsoleView(
      title: "Contacts", template: "contacts", values: values,
      sql: """
        SELECT contact_id, original_id, first_name, last_name, email_address, mobile_number, created_at
          FROM contact WHERE customer_id = \(call.customer) ORDER BY contact_id DESC LIMIT 50;
        """)
  }

  /// Says how contacts come in.
  private static func firstSteps(_ call: ConsoleCall) -> [String: Any] {
    [
      "title": "There are no contacts yet",
      "text": "An app registers its user with a token of the push service. A back end can do so, too, as here.",
      "command": """
      curl -X PUT \(call.parts.publicURL)/rest/\(call.customer)/apps/APP_ID/pushdevices \\
        -H "X-Carma-Authentication-Token: $KEY" -H "Content-Type: application/json" \\
        -d '{"originalId":"lars@example.com","firstName":"Lars","deviceInfo":[{"devicetoken":"TOKEN","appType":1}]}'
      """,
      "link": call.allows(AppOperations.list) ? [["href": "/console/apps", "label": "Look at the apps"]] : [],
    ]
  }

  /// A contact in a table.
  static func row(_ contact: ContactDetails, _ call: ConsoleCall) -> [String: Any] {
    [
      "href": "/console/contacts/\(contact.contactId)", "originalId": contact.originalId,
      "name": contact.fullName ?? "", "email": contact.texts[.emailAddress] ?? "",
      "number": contact.texts[.mobileNumber] ?? "", "lists": contact.listIds.map { ["id": $0] },
      "since": call.zone.time(contact.createdAt), "remove": PercentEncoding.encode(contact.originalId),
    ]
  }

  // MARK: One contact

  /// Addresses of pages have numbers of contacts, as their originalIds stand in no log. The API names contacts by those.
  static func originalID(_ call: ConsoleCall) async throws -> String {
    try await ContactStore(call.parts.operations.database).originalID(call.customer, of: try call.number())
  }

  private static let contact = ConsolePage(
    path: "/console/contacts/{id}", title: "Contact", section: .contacts, reads: [AnyOperation(ContactOperations.show)],
    query: ["events"]
  ) { call in
    let contact = try await call.read(ContactOperations.show, try await originalID(call))
    let mayChange = call.user.seesPersonal && call.allows(ContactOperations.change)
    var values: [String: Any] = [
      "id": contact.contactId, "originalId": contact.originalId, "name": contact.fullName ?? "",
      "fields": fields(of: contact), "since": call.zone.time(contact.createdAt),
      "changed": call.zone.time(contact.updatedAt), "hidesPersonal": !call.user.seesPersonal,
      "mayErase": ErasurePages.isOpen(to: call), "seesData": call.allows(ContactOperations.data),
      "mayChange": mayChange, "maySend": mayChange && contact.devices?.contains { $0.invalidatedAt == nil } == true,
      "apps": apps(of: contact, call), "lists": try await lists(of: contact, call),
      "segments": (contact.segments ?? []).map { ["href": "/console/segments/\($0.segmentId)", "name": $0.name] },
      "seesTimeline": call.user.seesPersonal,
    ]
    if call.allows(SuppressionOperations.list) {
      let whose = SuppressionRequest(originalId: contact.originalId)
      let found = try await call.read(SuppressionOperations.list, (whose, PageRequest()))
      values["suppression"] = [suppression(found.items, call)]
    }
    if call.user.seesPersonal, call.allows(ReportOperations.show) {
      let limit = try call.query.integer("events", in: 1...events.most) ?? events.few
      let report = try await call.read(
        ReportOperations.show, (((Report.timeline.rawValue, nil), contact.originalId), limit))
      values["events"] = report.rows.map { event($0, call) }
      values["more"] =
        report.rows.count == limit && limit < events.most
        ? "/console/contacts/\(contact.contactId)?events=\(events.most)#timeline" : ""
    }
    return ConsoleView(
      title: contact.fullName ?? contact.originalId, template: "contact", values: values,
      sql: """
        SELECT * FROM contact WHERE customer_id = \(call.customer) AND contact_id = \(contact.contactId);
        SELECT * FROM device WHERE customer_id = \(call.customer) AND contact_id = \(contact.contactId);
        """)
  }

  /// The lists that the contact is on, by their names where the user sees lists.
  private static func lists(of contact: ContactDetails, _ call: ConsoleCall) async throws -> [[String: Any]] {
    var names: [ListID: String] = [:]
    if call.allows(ListOperations.list) {
      for list in contact.listIds where names[list] == nil {
        // Whoever is on many lists is often on neighbours.
        let page = PageRequest(after: ListID(list.rawValue - 1), limit: 100)
        for found in try await call.read(ListOperations.list, page).items { names[found.listId] = found.name }
      }
    }
    return contact.listIds.map { ["href": "/console/lists/\($0)", "name": names[$0] ?? "List \($0)"] }
  }

  /// What is known, in the order of the API's fields.
  private static func fields(of contact: ContactDetails) -> [[String: Any]] {
    var fields: [(String, String)] = ContactField.allCases.compactMap { field in
      contact.texts[field].map { (label(of: field), $0) }
    }
    if let birth = contact.dateOfBirth { fields.append(("Date of birth", birth)) }
    for (name, value) in (contact.properties ?? [:]).sorted(by: { $0.key < $1.key }) {
      fields.append((name.text, ContactForm.shown(value)))
    }
    return fields.map { ["label": $0.0, "text": $0.1] }
  }

  static func label(of field: ContactField) -> String {
    switch field {
    case .country: "Country"
    case .firstName: "First name"
    case .lastName: "Last name"
    case .middleName: "Middle name"
    case .emailAddress: "E-mail address"
    case .title: "Title"
    case .city: "City"
    case .zipcode: "Zip code"
    case .sex: "Sex"
    case .mobileNumber: "Mobile number"
    case .timeZone: "Time zone"
    case .language: "Language"
    }
  }

  /// The devices, app by app.
  private static func apps(of contact: ContactDetails, _ call: ConsoleCall) -> [[String: Any]] {
    let devices = contact.devices ?? []
    let mayRetire = call.allows(ContactOperations.retire)
    var names: [UTF8String] = []
    for device in devices where !names.contains(UTF8String(device.appId)) { names.append(UTF8String(device.appId)) }
    return names.map { name in
      [
        "appId": name.text,
        "devices": devices.filter { UTF8String($0.appId) == name }.map { device -> [String: Any] in
          let model = [device.manufacturer, device.model, device.osVersion].compactMap { $0 }.joined(separator: " ")
          return [
            "id": device.deviceId, "platform": device.appType.platform, "sandbox": device.sandbox,
            "model": model, "registered": call.zone.time(device.registeredAt),
            "isValid": device.invalidatedAt == nil,
            "invalid": device.invalidatedAt.map { [call.zone.time($0)] } ?? [],
            "reason": device.invalidationReason ?? "",
            "retire": mayRetire && device.invalidatedAt == nil
              ? "/console/contacts/\(contact.contactId)/devices/\(device.deviceId)/retire" : "",
          ]
        },
      ]
    }
  }

  /// A row of the report.
  private static func event(_ row: ReportReply.Row, _ call: ConsoleCall) -> [String: Any] {
    let event = row["event"]?.text ?? ""
    let sendout = row["sendoutId"]?.integer
    return [
      "at": row["at"]?.text.flatMap { Timestamp($0) }.map { [call.zone.time($0)] } ?? [],
      "text": event.prefix(1).uppercased() + event.dropFirst(), "detail": row["detail"]?.text ?? "",
      "device": row["deviceId"]?.integer.map { "\($0)" } ?? "",
      "sendout": sendout.map { [["href": "/console/sendouts/\($0)", "id": "\($0)"]] } ?? [],
    ]
  }

  // MARK: Changes

  private static let edit = ConsolePage(
    path: "/console/contacts/{id}/edit", title: "Change a contact", section: .contacts,
    reads: [AnyOperation(ContactOperations.show), AnyOperation(ContactOperations.change)]
  ) { call in
    guard call.user.seesPersonal else { throw HTTPErrorResponse.personalRefused }
    let contact = try await call.read(ContactOperations.show, try await originalID(call))
    var call = call
    if call.refusal != nil { call.form = ContactForm.merged(call.form, contact) }
    return ConsoleView(
      title: "Change a contact", template: "contact-edit",
      values: [
        "id": contact.contactId, "originalId": contact.originalId,
        "form": call.formView(ContactForm.fields + ContactForm.hidden, ContactForm.initial(contact)),
      ])
  }

  private static let change = ConsoleAction(
    path: "/console/contacts/{id}/edit", operation: AnyOperation(ContactOperations.change), fields: ContactForm.fields,
    form: "/console/contacts/{id}/edit"
  ) { call in
    guard call.user.seesPersonal else { throw HTTPErrorResponse.personalRefused }
    let id: ContactID = try call.number()
    let known = try await call.read(ContactOperations.show, try await originalID(call))
    _ = try await call.change(ContactOperations.change, known.originalId, try ContactForm.request(call.form, known))
    return .see("/console/contacts/\(id)", notice: "The contact is changed.")
  }

  private static let retire = ConsoleAction(
    path: "/console/contacts/{id}/devices/{device}/retire", operation: AnyOperation(ContactOperations.retire),
    confirms: Confirmation(
      title: "Retire the device?", button: "Retire the device",
      text: "Nothing is sent to this one device until its app registers it again. This cannot be undone here."),
    form: "/console/contacts/{id}"
  ) { call in
    let device = try await call.change(ContactOperations.retire, try call.number("device"), ())
    return .see("/console/contacts/\(device.contactId)", notice: "Device \(device.deviceId) gets nothing any more.")
  }

  // MARK: Suppression

  /// What the contact does not get, and what can be done about it. A number's or a device's suppression is lifted on its own page.
  private static func suppression(_ items: [SuppressionReply], _ call: ConsoleCall) -> [String: Any] {
    let mayChange = call.allows(SuppressionOperations.add)
    return [
      "items": items.map { item in
        SuppressionPages.row(item, call).merging(["isOwn": item.kind == .contact, "mayLift": mayChange]) { $1 }
      },
      "isEmpty": items.isEmpty, "mayLift": mayChange && items.contains { $0.kind == .contact },
      "maySuppress": mayChange && !items.contains { $0.kind == .contact && $0.scope == .all },
      "form": call.formView(suppressionFields, of: suppressPath),
    ]
  }

  private static let suppressPath = "/console/contacts/{id}/suppress"
  private static let suppressionFields = [SuppressionPages.scope, SuppressionPages.reason, SuppressionPages.until]

  private static let suppress = ConsoleAction(
    path: suppressPath, operation: AnyOperation(SuppressionOperations.add), fields: suppressionFields,
    form: "/console/contacts/{id}"
  ) { call in
    let id: ContactID = try call.number()
    let request = try SuppressionPages.request(call, originalID: try await originalID(call))
    let done = try await call.change(SuppressionOperations.add, (), request)
    return .see("/console/contacts/\(id)", notice: "\(SuppressionPages.label(of: done.scope)) is stopped.")
  }

  private static let lift = ConsoleAction(
    path: "/console/contacts/{id}/lift", operation: AnyOperation(SuppressionOperations.lift),
    confirms: Confirmation(
      title: "Send to the contact again?", button: "Lift the suppression", isDestructive: false,
      text: """
        All that names the contact by its original id is lifted. What names its number or a device stays. Do this only when that \
        person asks for it.
        """),
    form: "/console/contacts/{id}"
  ) { call in
    let id: ContactID = try call.number()
    let whose = SuppressionRequest(originalId: try await originalID(call))
    let done = try await call.change(SuppressionOperations.lift, (), whose)
    return .see(
      "/console/contacts/\(id)",
      notice: done.lifted.isEmpty ? "Nothing named the contact by its original id." : "It is sent to again.")
  }
}
