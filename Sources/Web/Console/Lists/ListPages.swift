import Operations
import Registry
import Wire

/// Lists of contacts, and who is on one.
enum ListPages {
  static let pages = [lists, list]
  static let actions = [add, join, leave]

  private static let lists = ConsolePage(
    path: "/console/lists", title: "Lists", section: .lists, reads: [AnyOperation(ListOperations.list)],
    query: ["after"]
  ) { call in
    let after: ListID? = try call.query.page().after
    let page = try await call.read(ListOperations.list, PageRequest(after: after, limit: 100))
    return ConsoleView(
      title: "Lists", template: "lists",
      values: [
        "rows": page.items.map { list -> [String: Any] in
          [
            "href": "/console/lists/\(list.listId)", "id": list.listId, "name": list.name,
            "since": call.zone.time(list.createdAt),
          ]
        },
        "hasRows": !page.items.isEmpty,
        "pager": ConsolePath.pager("/console/lists", after: after?.description, page.next?.description),
        "mayAdd": call.allows(ListOperations.add), "form": call.formView(fields),
        "first": page.items.isEmpty && after == nil
          ? [
            [
              "title": "There are no lists yet",
              "text": "A list is a set of contacts that a sendout can go to. Apps name one by its number.",
              "command": "pushcart list add --customer \(call.customer) --name newsletter", "link": [],
            ]
          ] : [],
      ], sql: "SELECT * FROM list WHERE customer_id = \(call.customer) ORDER BY list_id LIMIT 100;")
  }

  private static let fields = [
    ListRequest.form.field("name", label: "Name"),
    FormField(
      "listId", label: "Number", kind: .number,
      hint: "Only if apps send a number for it already. Otherwise it gets the next free one."),
  ]

  private static let add = ConsoleAction(
    path: "/console/lists", operation: AnyOperation(ListOperations.add), fields: fields, form: "/console/lists"
  ) { call in
    let request = ListRequest(name: call.form.text("name") ?? "", listId: try call.form.number("listId"))
    let list = try await call.change(ListOperations.add, (), request)
    return .see("/console/lists/\(list.listId)", notice: "The list is added.")
  }

  // MARK: One list

  private static let list = ConsolePage(
    path: "/console/lists/{id}", title: "List", section: .lists,
    reads: [AnyOperation(ListOperations.show), AnyOperation(ListOperations.members)], query: ["after"]
  ) { call in
    let id: ListID = try call.number()
    let list = try await call.read(ListOperations.show, id)
    let after: ContactID? = try call.query.page().after
    let members = try await call.read(ListOperations.members, (id, PageRequest(after: after, limit: 50)))
    let count = list.members ?? 0
    return ConsoleView(
      title: list.name, template: "list",
      values: [
        "id": id, "name": list.name, "since": call.zone.time(list.createdAt),
        "count": count == ListReply.mostCounted ? "10,000+" : "\(count)", "isOne": count == 1,
        "rows": members.items.map { ContactPages.row($0, call) }, "hasRows": !members.items.isEmpty,
        "hidesPersonal": !call.user.seesPersonal, "mayChange": call.allows(ListOperations.changeMembers),
        "mayImport": call.allows(ImportOperations.add) && call.allows(ImportOperations.show),
        "form": call.formView([originalIDs]),
        "pager": ConsolePath.pager(
          "/console/lists/\(id)", after: after?.description, members.next?.description),
        "empty": members.items.isEmpty && after == nil
          ? [
            [
              "title": "Nobody is on this list",
              "text": "Contacts join it by the listId of their registration, or here by their original ids.",
              "command": "pushcart list change \(id) --customer \(call.customer) --add lars@example.com", "link": [],
            ]
          ] : [],
      ],
      sql: """
        SELECT contact_id, original_id
          FROM list_member JOIN contact USING (customer_id, contact_id)
         WHERE customer_id = \(call.customer) AND list_id = \(id) ORDER BY contact_id LIMIT 50;
        """)
  }

  private static let originalIDs = FormField(
    "add", label: "Original ids", kind: .area(rows: 5),
    hint: "A line for each, \(ListMembersRequest.maximumCount) at most. They stay on their other lists.",
    isRequired: true)

  private static let join = ConsoleAction(
    path: "/console/lists/{id}/add", operation: AnyOperation(ListOperations.changeMembers), fields: [originalIDs],
    form: "/console/lists/{id}"
  ) { call in
    let id: ListID = try call.number()
    let ids = (call.form.text("add") ?? "").split(separator: "\n").map { String($0.trimmed) }.filter { !$0.isEmpty }
    let done = try await call.change(ListOperations.changeMembers, id, ListMembersRequest(add: ids))
    return .see("/console/lists/\(id)", notice: told(done))
  }

  private static let leave = ConsoleAction(
    path: "/console/lists/{id}/remove", operation: AnyOperation(ListOperations.changeMembers),
    confirms: Confirmation(title: "Take the contact off the list?", button: "Take it off") { call in
      "\(call.form.text("remove") ?? "The contact") gets nothing any more that is sent to this list. The contact stays."
    }, fields: [FormField("remove", label: "Original id", isRequired: true)], form: "/console/lists/{id}"
  ) { call in
    let id: ListID = try call.number()
    let done = try await call.change(
      ListOperations.changeMembers, id, ListMembersRequest(remove: call.form.all("remove")))
    return .see("/console/lists/\(id)", notice: told(done))
  }

  /// What a change did, in a sentence or three.
  private static func told(_ done: ListMembersReply) -> String {
    var sentences: [String] = []
    if done.added > 0 {
      sentences.append("\(done.added) \(done.added == 1 ? "contact" : "contacts") joined.")
    }
    if done.removed > 0 { sentences.append("\(done.removed) left.") }
    if let first = done.unknownOriginalIds.first {
      let others = done.unknownOriginalIds.count - 1
      sentences.append(
        "No contact has the original id \(first.prefix(80))\(others > 0 ? ", nor \(others) others of these" : "").")
    }
    return sentences.isEmpty ? "Nothing has changed: that is so already." : sentences.joined(separator: " ")
  }
}
