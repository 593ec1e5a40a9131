import Content
import HTTPTypes
import Operations
import Wire

/// What a phone fetches: `/c/{token}`, `/r/{token}` and `/u/{token}`.
enum PageOperations {
  static let all: [APIOperation] = [page, pageHead, read, readHead, unsubscribe, endMarketing]

  private static let page = APIOperation(
    method: .get, path: "/c/{token}", id: "showPage", tag: .pages, security: .none,
    summary: "Open a push's rich page",
    description: """
      The page behind the push's `url`, rendered for this device and contact with the sendout's template version. It \
      counts as an open. The first open by a person is the push's open.
      """,
    parameters: [token],
    responses: [
      APIResponse(
        status: .ok, description: "The page in the template's media type, with a strict Content-Security-Policy.",
        content: .text(TemplateFormat.allCases.map(\.rawValue), example: "<h1>Hi Lars</h1>"))
    ],
    errors: [unknown, gone, tooManyRequests, unavailable])

  private static let pageHead = APIOperation(
    method: .head, path: "/c/{token}", id: "probePage", tag: .pages, security: .none,
    summary: "Probe a push's rich page", description: "Only the headers. It never counts as an open by a person.",
    parameters: [token],
    responses: [APIResponse(status: .ok, description: "There is a page.", content: .none)],
    errors: headErrors)

  private static let read = APIOperation(
    method: .get, path: "/r/{token}", id: "markRead", tag: .pages, security: .none,
    summary: "Mark a push as read",
    description: "The push's `pushreadurl`, for apps without rich pages. It counts as an open, as the page does.",
    parameters: [token],
    responses: [APIResponse(status: .noContent, description: "The open is committed.", content: .none)],
    errors: [unknown, gone, tooManyRequests, unavailable])

  private static let readHead = APIOperation(
    method: .head, path: "/r/{token}", id: "probeRead", tag: .pages, security: .none,
    summary: "Probe a pushreadurl", description: "It never counts as an open by a person.",
    parameters: [token],
    responses: [APIResponse(status: .noContent, description: "The link is valid.", content: .none)],
    errors: headErrors)

  private static let unsubscribe = APIOperation(
    method: .get, path: "/u/{token}", id: "showUnsubscribePage", tag: .pages, security: .none,
    summary: "Open the page of an unsubscribeUrl",
    description: """
      The page behind a message's `unsubscribeUrl`, with a button that ends marketing for its contact. Showing it changes nothing, so \
      scanners of messages do no harm. It works as long as the hub knows the contact, whatever `linkMaximumAgeDays` says.
      """,
    parameters: [contactToken], responses: [shown], errors: [unknown, gone, tooManyRequests, unavailable])

  private static let endMarketing = APIOperation(
    method: .post, path: "/u/{token}", id: "endMarketing", tag: .pages, security: .none,
    summary: "End marketing for a contact, or begin it again",
    description: """
      A form (`application/x-www-form-urlencoded`, or `multipart/form-data`): `List-Unsubscribe=One-Click` suppresses marketing for the \
      contact, be it the page's button or a program (RFC 8058). `subscribe=again` lifts that, unless the customer has suppressed the \
      contact, too. Both can be repeated.
      """,
    parameters: [contactToken], bodyLimit: UnsubscribeRoutes.bodyLimit, responses: [shown],
    errors: [
      unknown, gone, .error("The body asks for neither.", HTTPErrorResponse.noSubscriptionChoice), tooManyRequests,
      unavailable,
    ])

  private static let shown = APIResponse(
    status: .ok, description: "The page: what the contact gets now, and what it can change.",
    content: .text(["text/html"], example: "<h1>You are unsubscribed</h1>"))

  private static let gone = APIResponse(
    status: .gone, description: "The hub does not know the contact any more.",
    content: .text(["text/html"], example: "<h1>There is nothing to unsubscribe</h1>"))

  private static let contactToken = APIParameter.path(
    "token", .string(), "The token from the message. It is signed, unguessable and free of personal data.",
    example: "AQEHrg0W8xYbR2Lc5gk0v9aPqT3Zs")

  private static let token = APIParameter.path(
    "token", .string(), "The token from the push. It is signed, unguessable and free of personal data.",
    example: "AQcMk0v9aPqT3ZsW8xYbR2Lc5g")

  private static let unknown = APIResponse(
    status: .notFound, description: "The token is not one of the hub's.",
    content: .text(["text/html"], example: "<h1>There is nothing here</h1>"))

  private static let tooManyRequests = APIResponse(
    status: .tooManyRequests,
    description: "The link is used more often than the hub's settings allow. `Retry-After` says when to try again.",
    content: .text(["text/html"], example: "<h1>Try again in a moment</h1>"))

  private static let unavailable = APIResponse(
    status: .serviceUnavailable, description: "The database is unreachable. `Retry-After` says when to try again.",
    content: .text(["text/html"], example: "<h1>Try again in a moment</h1>"))

  private static let headErrors = [unknown, gone, tooManyRequests, unavailable].map { response in
    APIResponse(status: response.status, description: response.description, content: .none)
  }
}
