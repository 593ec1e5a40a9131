import HTTPTypes
import Registry
import Wire

/// `/api/v1/lists`.
enum ListOperations {
  static let all: [Operation] = [list, add]

  static let list = Operation(
    method: .get, path: "/api/v1/lists", id: "listLists", topic: .lists, door: .key(.admin),
    summary: "List the lists", about: "Every list of the customer, in the order of their numbers.",
    parameters: [.after("list"), .limit],
    replies: [.page("A page of lists.", of: "List", example: one)])

  static let add = Operation(
    method: .post, path: "/api/v1/lists", id: "addList", topic: .lists, door: .key(.admin),
    summary: "Add a list",
    about: """
      The name is unique among the customer's lists. Apps that ship the number their list had elsewhere go on using it: give \
      it as `listId`. Without one the list gets the next free number.
      """,
    parameters: [.idempotencyKey],
    body: Body(schema: .named("ListRequest"), example: #"{ "name": "newsletter", "listId": 1000000005 }"#),
    replies: [.created("The list.", .named("List"), example: one)],
    errors: [
      .refusal(
        "There is a list of that name or number already.", RegistryError.listNameTaken("newsletter"),
        RegistryError.listNumberTaken(ListID(1_000_000_005)))
    ])

  private static let one = #"{ "listId": 1000000005, "name": "newsletter", "createdAt": "2026-11-20T09:00:00.000Z" }"#
}
