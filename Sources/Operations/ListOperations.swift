import HTTPTypes
import Registry
package import Wire

extension APIOperation.Tag {
  package static let lists = Self(
    "Lists",
    "Named sets of contacts. A contact joins a list by the `listId` of its registration, or here, and can be on several.",
    readers: [.marketer, .analyst], editors: [.marketer])
}

/// `/api/v1/lists`.
package enum ListOperations: ManagedOperations {
  package static let all = [
    AnyOperation(list), AnyOperation(add), AnyOperation(show), AnyOperation(members), AnyOperation(changeMembers),
  ]

  package static let list = Operation(
    get: "/api/v1/lists", id: "listLists", .lists, "List the lists", "Lists every list of the customer by number.",
    at: .page(of: "list", by: ListID.self), replies: .ok("A page of lists.", Page<ListReply, ListID>.form)
  ) { call, page, _ in try await ContactLists(call.database).list(call.customer, page) }

  package static let add = Operation(
    .post, "/api/v1/lists", id: "addList", .lists, "Add a list",
    """
    The name is unique among the customer's lists. If apps already send a number for the list, give it as `listId`. \
    Without one the list gets the next free number.
    """,
    at: .none, body: .json(ListRequest.form), replies: .created("The list.", ListReply.form),
    errors: [
      .error(
        "The customer already has a list of this name or number.", RegistryError.nameTaken("list"),
        RegistryError.numberTaken("list"))
    ], audit: "list.add"
  ) { call, _, request in
    let list = try await ContactLists(call.database).add(call.customer, name: request.name, id: request.listId)
    return Changed(list, "list \(list.listId)")
  }
  package static let show = Operation(
    get: "/api/v1/lists/{id}", id: "showList", .lists, "Show a list", "With the count of its members.", at: id,
    replies: .ok("The list.", ListReply.countedExample), errors: [unknown]
  ) { call, id, _ in try await ContactLists(call.database).show(call.customer, id) }

  package static let members = Operation(
    get: "/api/v1/lists/{id}/members", id: "listMembers", .lists, "List a list's members",
    "The contacts on the list by number, without properties and devices.",
    at: id.and(.page(of: "contact", by: ContactID.self)),
    replies: .ok("A page of contacts.", Page<ContactDetails, ContactID>(items: [.listedExample])), errors: [unknown]
  ) { call, target, _ in
    let (id, page) = target
    return try await ContactLists(call.database).members(call.customer, id, page).shown(to: call)
  }

  package static let changeMembers = Operation(
    .patch, "/api/v1/lists/{id}/members", id: "changeListMembers", .lists, "Change a list's members",
    """
    Puts contacts on the list, or takes them off it, by their original ids: \(MembersRequest.maximumCount) at most in each of \
    `add` and `remove`. Nobody joins or leaves another list by it. Original ids that no contact has change nothing, and the reply names them.
    """, at: id, body: .members,
    replies: .ok("What it did.", MembersReply.form), errors: [unknown], audit: "list.change_members"
  ) { call, id, request in
    Changed(try await ContactLists(call.database).change(call.customer, id, request), of: "list \(id)")
  }

  private static let id = Parameters.id(ListID.self, "The list's `listId`.", example: 1_000_000_005)
  package static let unknown = APIResponse.error(
    "The customer has no list of this number.", RegistryError.numberUnknown("list"))
}

extension RequestBody<MembersRequest> {
  /// There is room for the most and longest original ids.
  static var members: Self { .json(MembersRequest.form, upTo: 4 * 1024 * 1024) }
}

extension Changed<MembersReply> {
  /// Contacts were put in and taken out; the audit log has their numbers.
  /// - Parameter target: as in `list 7`.
  init(_ change: MembersChange, of target: String) {
    self.init(
      change.reply, Line(target, before: ["contactIds": change.left], after: ["contactIds": change.joined]))
  }
}
