import Operations
import Wire

/// Whom a sendout went to, and what became of it for one of them.
enum RecipientPages {
  static let pages = [recipients, why]

  private static let pageSize = 50

  private static let recipients = ConsolePage(
    path: "/console/sendouts/{id}/recipients", title: "Recipients", section: .sendouts,
    reads: [AnyOperation(SendoutOperations.show), AnyOperation(SendoutOperations.recipients)],
    query: ["query", "state", "opened", "after"]
  ) { call in
    let id: SendoutID = try call.number()
    let sendout = try await call.read(SendoutOperations.show, id)
    let search = call.given("query")
    // "opened" stands among the states of the form.
    let isOpened = call.given("state") == "opened"
    let state = isOpened ? nil : try call.given("state", PushState.self)
    let page = try call.page(PushNumber.self, limit: pageSize)
    let found = try await call.read(SendoutOperations.recipients, ((((id, search), state), isOpened), page))
    return ConsoleView(
      title: "Recipients of \(sendout.name)", template: "recipients",
      values: [
        "id": id.description, "name": sendout.name, "search": search ?? "", "isEmpty": found.items.isEmpty,
        "isFiltered": search != nil || state != nil || isOpened,
        "states": [("opened", "Opened")].map { choice($0, isOpened) }
          + PushState.allCases.map { choice(($0.rawValue, $0.rawValue.inWords), $0 == state) },
        "rows": found.items.map { row($0, of: id, call) }, "customer": call.customer.description,
        "pager": call.pager(
          "/console/sendouts/\(id)/recipients", found.next?.description, keeping: ["query", "state"]),
      ],
      sql: """
        SELECT p.push_no, c.original_id, p.state, p.reason, p.sent_at, p.opened_at
          FROM push p LEFT JOIN contact c ON c.customer_id = p.customer_id AND c.contact_id = p.contact_id
         WHERE p.customer_id = \(call.customer) AND p.sendout_id = \(id)\
        \(state.map { " AND p.state = \(call.sqlText($0.rawValue))" } ?? "")\(isOpened ? " AND p.opened_at IS NOT NULL" : "")\
        \(search.map { " AND starts_with(c.original_id, \(call.sqlText($0)))" } ?? "")
         ORDER BY p.push_no LIMIT \(pageSize);
        """)
  }

  private static func choice(_ choice: (value: String, label: String), _ isSelected: Bool) -> [String: Any] {
    ["value": choice.value, "label": choice.label, "isSelected": isSelected]
  }

  private static func row(_ recipient: RecipientReply, of sendout: SendoutID, _ call: ConsoleCall) -> [String: Any] {
    var row: [String: Any] = [
      "push": recipient.pushNo.description, "contact": recipient.contactId.description,
      "originalId": recipient.originalId ?? "", "device": recipient.deviceId.description,
      "state": recipient.state.badge, "reason": recipient.reason ?? "",
    ]
    if let id = recipient.originalId {
      row["why"] = ConsolePath.path("/console/sendouts/\(sendout)/why", ["to": id])
    }
    if let sent = recipient.sentAt { row["sent"] = call.zone.time(sent) }
    if let opened = recipient.openedAt { row["opened"] = call.zone.time(opened) }
    return row
  }

  private static let why = ConsolePage(
    path: "/console/sendouts/{id}/why", title: "Why", section: .sendouts,
    reads: [AnyOperation(SendoutOperations.show), AnyOperation(SendoutOperations.why)], query: ["to"]
  ) { call in
    let id: SendoutID = try call.number()
    let sendout = try await call.read(SendoutOperations.show, id)
    var lines: [WhyLine] = []
    if let to = call.given("to") {
      let command = "pushcart why --customer \(call.customer) --sendout \(id) --to \(call.parts.quoted(to))"
      lines = try await call.read(SendoutOperations.why, (id, to), command: command).lines
    }
    return ConsoleView(
      title: call.given("to") == nil ? "Why" : "What became of it", template: "why",
      values: [
        "id": id.description, "name": sendout.name, "to": call.given("to") ?? "",
        "lines": lines.map { line in
          var values: [String: Any] = [
            "text": line.text, "push": line.pushNo?.description ?? "", "device": line.deviceId?.description ?? "",
          ]
          if let at = line.at { values["at"] = call.zone.time(at) }
          return values
        },
      ],
      sql: call.given("to").map { to in
        """
        SELECT at, event, detail, device_id FROM report.contact_timeline
         WHERE customer_id = \(call.customer) AND original_id = \(call.sqlText(to)) AND sendout_id = \(id) ORDER BY at;
        """
      })
  }
}
