import HTTPTypes
import Registry
package import Wire

extension APIOperation.Tag {
  package static let lists = Self(
    "Lists",
    "Named sets of contacts. A contact joins a list by the `listId` of its registration.",
    readers: [.marketer, .analyst], editors: [.marketer])
}

/// `/api/v1/lists`.
package enum ListOperations {
  package static let all = [AnyOperation(list), AnyOperation(add)]

  package static let list = Operation(
    get: "/api/v1/lists", id: "listLists", .lists, "List the lists", "Lists every list of the customer by number.",
    at: .page(of: "list", by: ListID.self), replies: .ok("A page of lists.", Page<ListReply, ListID>.form)
  ) { call, page, _ in page.slice(of: try await ContactLists(call.database).all(call.customer), by: \.listId) }

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
    ], audit: .addList
  ) { call, _, request in
    let list = try await ContactLists(call.database).add(call.customer, name: request.name, id: request.listId)
    return Changed(list, "list \(list.listId)")
  }
}
