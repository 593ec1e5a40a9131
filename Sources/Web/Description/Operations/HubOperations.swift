import HTTPTypes

/// For whoever runs the hub: health, figures, and this description.
enum HubOperations {
  static let all: [Operation] = [health, ready, metrics, openAPI, reference]

  static let health = Operation(
    method: .get, path: "/healthz", id: "health", topic: .operation, door: .open,
    summary: "Is the process alive?", about: "Answered without asking anything else, the database least of all.",
    replies: [.ok("It is.", .named("Health"), example: #"{ "status": "ok" }"#)])

  static let ready = Operation(
    method: .get, path: "/readyz", id: "readiness", topic: .operation, door: .open,
    summary: "Can it serve requests?",
    about: """
      Whether the database can be reached, its migrations are those of this release, and the hub is not shutting down. It \
      looks every two seconds at most.
      """,
    replies: [.ok("It can.", .named("Health"), example: #"{ "status": "ok" }"#)],
    errors: [.refusal("Not now; the sentence says why.", UnavailableReason.allCases.map(\.refusal))])

  static let metrics = Operation(
    method: .get, path: "/metrics", id: "metrics", topic: .operation, door: .open,
    summary: "Figures for Prometheus", about: "Prometheus's text format, version 0.0.4.",
    replies: [
      Reply(
        status: .ok, about: "The figures.",
        content: .other(["text/plain"], example: #"pushcart_opens_total{reader="person",via="page"} 12"#))
    ])

  static let openAPI = Operation(
    method: .get, path: "/openapi.json", id: "openAPI", topic: .operation, door: .open,
    summary: "This description as OpenAPI 3.1", about: "For generators of clients, and for tests.",
    replies: [.ok("The document.", .openObject([.always("openapi", .text())]), example: #"{ "openapi": "3.1.0" }"#)])

  static let reference = Operation(
    method: .get, path: "/swagger/", id: "reference", topic: .operation, door: .open,
    summary: "This description as a page", about: "For people. `/swagger` leads there.",
    replies: [
      Reply(status: .ok, about: "The page.", content: .other(["text/html"], example: "<h1>Pushcart</h1>")),
      Reply(status: .permanentRedirect, about: "To `/swagger/`, for whoever left the slash out.", content: .nothing),
    ])
}
