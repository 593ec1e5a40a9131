import HTTPTypes
import Wire

/// `/api/v1/lists`.
enum ListOperations {
  static let all: [Operation] = [list, add]

  static let list = Operation(
    method: .get, path: "/api/v1/lists", id: "listLists", topic: .lists, door: .key(.admin),
    summary: "List the lists", about: "Every list of the customer, in the order they were added.",
    parameters: [.after("list"), .limit],
    replies: [.page("A page of lists.", of: "List", example: one)])

  static let add = Operation(
    method: .post, path: "/api/v1/lists", id: "addList", topic: .lists, door: .key(.admin),
    summary: "Add a list", about: "The name is unique among the customer's lists.",
    parameters: [.idempotencyKey],
    body: Body(schema: .named("ListRequest"), example: #"{ "name": "newsletter" }"#),
    replies: [.created("The list.", .named("List"), example: one)],
    errors: [.error(.conflict, "There is a list of that name already.", "name: there is a list of that name already.")])

  private static let one = #"{ "listId": 1, "name": "newsletter", "createdAt": "2026-11-20T09:00:00.000Z" }"#
}
