import Operations
import Registry
import Wire

/// The audit log, the newest first.
enum AuditPages {
  static let pages = [list]
  static let actions: [ConsoleAction] = []

  private static let fields = [
    FormField(
      "action", label: "What",
      kind: .choice(groups.map { .init("\($0).", $0) })),
    FormField("key", label: "Access key", kind: .number), FormField("user", label: "User", kind: .number),
    FormField("since", label: "Since", kind: .moment),
  ]

  /// The nouns of actions: `key`, `app` and so on.
  private static let groups =
    (ManagementOperations.all.compactMap(\.audit) + AuditAction.Other.allCases.map(AuditAction.other))
    .map(\.noun).reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }

  private static let list = ConsolePage(
    path: "/console/audit", title: "Audit log", section: .settings, reads: [AnyOperation(CustomerOperations.audit)],
    query: ["after", "action", "key", "user", "since"]
  ) { call in
    let typed = fields.compactMap { field in call.query.value(field.name).map { (name: field.name, value: $0) } }
    let (form, request) = (FormValues(typed), try call.query.page(AuditEntryID.self))
    let page = try await call.read(
      CustomerOperations.audit,
      (
        (
          ((PageRequest(after: request.after, limit: 50), try form.number("key")), try form.number("user")),
          form.text("action")
        ),
        try form.moment("since", in: call.zone)
      ))
    return ConsoleView(
      title: "Audit log", template: "audit",
      values: [
        "entries": page.items.map { $0.row(call.zone) }, "isEmpty": page.items.isEmpty,
        "isFiltered": !form.isEmpty, "form": FormView(fields, [:], form).values,
        "pager": call.pager(
          "/console/audit", page.next.map { "\($0)" }, keeping: fields.map(\.name)),
        "tabs": SettingsTabs.tabs(call, "/console/audit"), "command": "pushcart audit --customer \(call.customer)",
      ],
      sql: """
        SELECT * FROM report.audit_log WHERE customer_id = \(call.customer) ORDER BY audit_log_id DESC LIMIT 50;
        """)
  }
}

extension AuditEntryReply {
  fileprivate func row(_ zone: ConsoleZone) -> [String: Any] {
    var row: [String: Any] = ["id": "\(auditId)", "at": zone.time(at), "action": action, "target": target]
    if let keyId {
      (row["who"], row["of"]) = ("key \(keyId)", "/console/audit?key=\(keyId)")
    } else if let userId {
      (row["who"], row["of"]) = (userEmail ?? "user \(userId)", "/console/audit?user=\(userId)")
    } else {
      row["who"] = "\(osUser ?? "–"), command line"
    }
    if let address { row["address"] = address }
    let changes = AuditDifference.rows(before, after)
    row["changes"] = changes
    row["hasChanges"] = !changes.isEmpty
    return row
  }
}

/// What differs between a thing before a change and after it, a row for each field.
enum AuditDifference {
  /// - Returns: `field`, and `before` and `after` where they are there, in the order of the fields' names.
  static func rows(_ before: JSONValue?, _ after: JSONValue?) -> [[String: Any]] {
    let (old, new) = (members(before), members(after))
    let names = Set(old.keys).union(new.keys).sorted()
    return names.compactMap { name in
      guard old[name] != new[name] else { return nil }
      var row: [String: Any] = ["field": name.text]
      if let value = old[name] { row["before"] = text(value) }
      if let value = new[name] { row["after"] = text(value) }
      return row
    }
  }

  private static func members(_ value: JSONValue?) -> [UTF8String: JSONValue] {
    switch value {
    case nil, .null: [:]
    case .object(let members)?: members
    case let other?: ["": other]
    }
  }

  /// Texts as they are, others as JSON. Long ones are cut: the API shows all.
  private static func text(_ value: JSONValue) -> String {
    let text = value.text ?? String(decoding: value.json, as: UTF8.self)
    return text.count > 300 ? text.prefix(300) + "…" : text
  }
}
