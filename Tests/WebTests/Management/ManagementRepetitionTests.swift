import HTTPTypes
import Operations
import Providers
import Simulator
import Support
import Testing
import Wire

/// `Idempotency-Key` on every POST that is described: one that is new is missed here until it has its request below.
@Suite struct ManagementRepetitionTests {
  /// A request, and what its sendout must be told first.
  private struct Case {
    var path: String
    var json: String?
    var state: String?
  }

  /// Those of other operations are made from their examples. The app is number 1, the sendout number 1, the import in review number 1.
  private let cases: [String: Case] = [
    "/api/v1/apps": Case(path: "/api/v1/apps", json: #"{"name":"New","appId":"com.new","appType":1}"#),
    "/api/v1/sendouts": Case(
      path: "/api/v1/sendouts", json: #"{"appId":"com.acme.app","audience":{"all":true},"message":{"alert":"x"}}"#),
    "/api/v1/messages": Case(
      path: "/api/v1/messages",
      json: """
        {"appId":"com.acme.app","to":{"originalId":"lars@example.com","deviceToken":"\(String(repeating: "ab", count: 32))"},
         "message":{"alert":"x"},"wait":30}
        """),
    "/api/v1/hybrid": Case(path: "/api/v1/hybrid", json: #"{"appId":"com.acme.app"}"#),
    "/api/v1/hybrid/{appId}/secret": Case(path: "/api/v1/hybrid/com.acme.rotated/secret"),
    "/api/v1/datasync": Case(path: "/api/v1/datasync", json: #"{"app":"com.acme.app"}"#),
    "/api/v1/sendouts/{id}/start": Case(path: "/api/v1/sendouts/1/start", state: "draft"),
    "/api/v1/sendouts/{id}/pause": Case(path: "/api/v1/sendouts/1/pause", state: "freezing"),
    "/api/v1/sendouts/{id}/resume": Case(path: "/api/v1/sendouts/1/resume", state: "paused"),
    "/api/v1/sendouts/{id}/cancel": Case(path: "/api/v1/sendouts/1/cancel", state: "paused"),
    "/api/v1/sendouts/{id}/schedule": Case(path: "/api/v1/sendouts/3/schedule"),
    "/api/v1/sendouts/{id}/unschedule": Case(path: "/api/v1/sendouts/4/unschedule"),
    "/api/v1/sendouts/series/{id}/end": Case(path: "/api/v1/sendouts/series/1/end"),
    "/api/v1/sendouts/{id}/test": Case(
      path: "/api/v1/sendouts/1/test", json: #"{"originalIds":["lars@example.com"]}"#),
    "/api/v1/sendouts/{id}/copy": Case(path: "/api/v1/sendouts/1/copy"),
    "/api/v1/sendouts/{id}/winner": Case(path: "/api/v1/sendouts/2/winner", json: #"{"variant":"B"}"#),
    "/api/v1/imports": Case(path: "/api/v1/imports", json: "{}"),
    "/api/v1/imports/{id}/start": Case(path: "/api/v1/imports/1/start", json: #"{"dryRun":true}"#),
    "/api/v1/imports/{id}/cancel": Case(path: "/api/v1/imports/2/cancel"),
  ]

  /// A sendout whose contacts may wait for a winner.
  private static let varied = """
    {"appId":"com.acme.app","audience":{"all":true},"message":{"alert":"x"},"winner":{"afterMinutes":60},
     "variants":[{"name":"A","share":10,"message":{}},{"name":"B","share":10,"message":{"alert":"y"}}]}
    """

  /// One that waits for its time, unless it is a draft.
  private static func timed(_ more: String) -> String {
    """
    {"appId":"com.acme.app","audience":{"all":true},"message":{"alert":"x"},"startAt":"2090-01-02T10:00:00Z",\(more)}
    """
  }

  @Test func `Every POST is executed once for a key, and its repetition gets the same reply`() async throws {
    try await withSimulator { simulator in
      try await withManagementServer(apns: .init(simulator)) { managed in
        let posts = managed.contract.operations.filter { $0.method == "POST" && $0.path.hasPrefix("/api/v1/") }
        var cases = self.cases
        for operation in ManagementOperations.all.map(\.description)
        where operation.isExecutedOnce && cases[operation.path] == nil {
          let (path, json) = ExampleRequests().request(for: operation)
          cases[operation.path] = Case(path: path, json: json)
        }
        // Some show what a body says, and change nothing however often they are asked for.
        let shown = ManagementOperations.all.map(\.description).filter { $0.method == .post && !$0.isExecutedOnce }
        #expect(
          Set(shown.map(\.path)) == [
            "/api/v1/messages/preview", "/api/v1/pages/preview", "/api/v1/sendouts/audience",
            "/api/v1/sendouts/preflight", "/api/v1/sendouts/{id}/preflight", "/api/v1/contacts/search",
            "/api/v1/segments/count", "/api/v1/segments/explain",
          ])
        #expect(Set(posts.map(\.path)).subtracting(shown.map(\.path)) == Set(cases.keys))
        try await managed.addApp(credentials: .sample)
        _ = try await managed.send("POST", "/api/v1/sendouts", json: cases["/api/v1/sendouts"]?.json)
        _ = try await managed.send("POST", "/api/v1/sendouts", json: Self.varied)
        for more in [#""draft":true"#, #""spreadMinutes":5"#, #""repeat":{"every":"day"}"#] {
          let made = try await managed.send("POST", "/api/v1/sendouts", json: Self.timed(more))
          #expect(made.status == 201, "\(made.text)")
        }
        try await managed.database.query(
          "UPDATE sendout SET state = 'running', frozen_at = now(), started_at = now() WHERE sendout_id = 2")
        try await managed.addApp("com.acme.rotated")
        _ = try await managed.send("POST", "/api/v1/hybrid", json: #"{"appId":"com.acme.rotated"}"#)
        _ = try await managed.send("POST", "/api/v1/users", json: #"{"email":"lars@example.com","role":"owner"}"#)
        simulator.sms.register(productToken: "token")
        _ = try await managed.send(
          "PUT", "/api/v1/sms",
          json: #"{"provider":"cm","sender":"Acme","productToken":"token","url":"\#(simulator.cmURL)"}"#)
        try await managed.addImportInReview()
        _ = try await managed.send("POST", "/api/v1/imports", json: "{}")
        // An example can name what one before it has made.
        let ordered = ManagementOperations.all.map(\.description).filter(\.isExecutedOnce).map(\.path)
        for operation in ordered + Set(cases.keys).subtracting(ordered).sorted() {
          try await expectOnce(managed, operation, try #require(cases[operation]))
        }
      }
    }
  }

  private func expectOnce(_ managed: ManagementServer, _ operation: String, _ request: Case) async throws {
    if let state = request.state {
      try await managed.database.query("UPDATE sendout SET state = $1::text WHERE sendout_id = 1", state)
    }
    let header = [("Idempotency-Key", operation)]
    let first = try await managed.send("POST", request.path, headers: header, json: request.json)
    #expect((200...201).contains(first.status), "\(operation): \(first.text)")
    #expect(first.header("Idempotent-Replayed") == nil, "\(operation)")
    // A message's batch is released just after its verdict is told.
    let claimed = "SELECT FROM push_batch WHERE state = 'claimed'"
    try await waitUntil { try await managed.database.query(claimed).isEmpty }
    let rows = try await managed.rows()

    let second = try await managed.send("POST", request.path, headers: header, json: request.json)
    #expect(second.header("Idempotent-Replayed") == "true", "\(operation)")
    #expect(second.status == first.status && second.body == first.body, "\(operation)")
    #expect(try await managed.rows() == rows, "\(operation)")

    let another = try await managed.send(
      "POST", request.path + "?", headers: header, json: (request.json ?? "{}") + " ")
    #expect(another.status == 422, "\(operation): \(another.text)")
    let anew = [("Idempotency-Key", operation + " again")]
    let third = try await managed.send("POST", request.path, headers: anew, json: request.json)
    #expect(third.header("Idempotent-Replayed") == nil, "\(operation)")
  }
}

extension APIOperation {
  /// Whether a POST is executed once for an `Idempotency-Key`.
  fileprivate var isExecutedOnce: Bool { method == .post && parameters.contains { $0.name == "Idempotency-Key" } }
}
