import HTTPTypes
import Operations
import Wire

/// For the hub's operators: health, metrics, and this description.
enum HealthOperations {
  static let all: [APIOperation] = [health, readiness, metrics, openAPI, reference]

  private static let health = APIOperation(
    method: .get, path: "/healthz", id: "health", tag: .operations, security: .none,
    summary: "Is the process alive?", description: "The reply depends on nothing else, not even the database.",
    responses: [.ok("It is.", HealthReply.example)])

  private static let readiness = APIOperation(
    method: .get, path: "/readyz", id: "readiness", tag: .operations, security: .none,
    summary: "Can it serve requests?",
    description: """
      The hub is ready if the database is reachable, its migrations match this release, and the hub is not shutting down. \
      The state is refreshed every two seconds at most.
      """,
    responses: [.ok("It can.", HealthReply.example)],
    errors: [.error("Not now. The sentence says why.", UnavailableReason.allCases.map(\.error))])

  private static let metrics = APIOperation(
    method: .get, path: "/metrics", id: "metrics", tag: .operations, security: .none,
    summary: "Metrics for Prometheus", description: "Prometheus's text format, version 0.0.4.",
    responses: [
      APIResponse(
        status: .ok, description: "The metrics.",
        content: .text(["text/plain"], example: #"pushcart_opens_total{reader="person",via="page"} 12"#))
    ])

  private static let openAPI = APIOperation(
    method: .get, path: "/openapi.json", id: "openAPI", tag: .operations, security: .none,
    summary: "This description as OpenAPI 3.1", description: "For client generators and tests.",
    responses: [
      .ok(
        "The document.",
        APIContent(.openObject([Schema.Field("openapi", .string())]), examples: [["openapi": "3.1.0"]]))
    ])

  private static let reference = APIOperation(
    method: .get, path: "/swagger/", id: "reference", tag: .operations, security: .none,
    summary: "This description as a page", description: "For people. `/swagger` redirects there.",
    responses: [
      APIResponse(
        status: .ok, description: "The page.", content: .text(["text/html"], example: "<h1>Pushcart</h1>")),
      APIResponse(status: .permanentRedirect, description: "The path lacked its slash at the end.", content: .none),
    ])
}
