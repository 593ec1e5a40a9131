import Content
import HTTPTypes

/// What a phone fetches: `/c/{token}` and `/r/{token}`.
enum PageOperations {
  static let all: [Operation] = [page, pageHead, read, readHead]

  static let page = Operation(
    method: .get, path: "/c/{token}", id: "showPage", topic: .pages, door: .open,
    summary: "Open a push's rich page",
    about: """
      The page that the push's `url` leads to, rendered for that device and user with the template version the sendout \
      was made with. It counts as an open, the first one by a person as the push's.
      """,
    parameters: [token],
    replies: [
      Reply(
        status: .ok, about: "The page, of the template's media type, under a strict Content-Security-Policy.",
        content: .other(
          TemplateFormat.allCases.map(\.rawValue), example: "<h1>Hi Lars</h1>"))
    ],
    errors: [unknown, away])

  static let pageHead = Operation(
    method: .head, path: "/c/{token}", id: "probePage", topic: .pages, door: .open,
    summary: "Probe a push's rich page", about: "The headers alone. It never counts as an open by a person.",
    parameters: [token],
    replies: [Reply(status: .ok, about: "There is a page.", content: .nothing)],
    errors: [
      Reply(status: .notFound, about: "There is nothing.", content: .nothing),
      Reply(status: .serviceUnavailable, about: "Try again in a moment.", content: .nothing),
    ])

  static let read = Operation(
    method: .get, path: "/r/{token}", id: "markRead", topic: .pages, door: .open,
    summary: "Mark a push as read",
    about: """
      The push's `pushreadurl`, for apps that show no rich page. It counts as an open, as fetching the page does.
      """,
    parameters: [token],
    replies: [Reply(status: .noContent, about: "Counted, and committed.", content: .nothing)],
    errors: [unknown, away])

  static let readHead = Operation(
    method: .head, path: "/r/{token}", id: "probeRead", topic: .pages, door: .open,
    summary: "Probe a pushreadurl", about: "It never counts as an open by a person.",
    parameters: [token],
    replies: [Reply(status: .noContent, about: "The link is good.", content: .nothing)],
    errors: [
      Reply(status: .notFound, about: "There is nothing.", content: .nothing),
      Reply(status: .serviceUnavailable, about: "Try again in a moment.", content: .nothing),
    ])

  static let token = Parameter.path(
    "token", .text("From the push; signed, unguessable, and carrying no personal data."),
    example: "AQcMk0v9aPqT3ZsW8xYbR2Lc5g")

  private static let unknown = Reply(
    status: .notFound, about: "The token is not one of the hub's.",
    content: .other(["text/html"], example: "<h1>There is nothing here</h1>"))

  private static let away = Reply(
    status: .serviceUnavailable, about: "The database is away; `Retry-After` says when to try again.",
    content: .other(["text/html"], example: "<h1>Try again in a moment</h1>"))
}
