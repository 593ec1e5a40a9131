import Content
import Delivery
import Postgres
import Registry
import Sendouts
import Support
import Web
import Wire

/// Rich pages on a server, of a sendout whose audience is frozen.
struct PagesServer: Sendable {
  let bench: SendingBench
  let server: TestWebServer
  let key: SendoutKey
  let devices: [DeviceID]

  func page(_ number: Int) -> String { "/c/\(bench.signer.token(for: link(number), .page))" }
  func read(_ number: Int) -> String { "/r/\(bench.signer.token(for: link(number), .read))" }

  func link(_ number: Int) -> PushLink {
    PushLink(
      customer: bench.customer, sendout: key.sendout, push: PushNumber(Int64(number) + 1), device: devices[number])
  }

  /// All opens, as `page person`, with their number if there are several, in the order they came.
  func events() async throws -> [String] {
    try await bench.database.query(
      """
      SELECT via || ' ' || reader || CASE sum(opens) WHEN 1 THEN '' ELSE ' ' || sum(opens) END
      FROM open_event GROUP BY push_no, via, reader ORDER BY min(at)
      """
    ).map { try $0.decode(String.self) }
  }

  /// Rows that opens take.
  func rows() async throws -> Int {
    try await bench.database.query("SELECT count(*) FROM open_event")[0].decode(Int.self)
  }

  /// How many pushes were opened by people.
  func opened() async throws -> Int { try await bench.show(key).counts?.opened ?? -1 }
}

/// Runs `body` with a sendout to three contacts.
/// - Parameter template: the rich page's; `nil` for none.
func withPages(
  _ template: String? = "<h1>Hi {{firstName}}</h1>", format: TemplateFormat = .html,
  settings: PageSettings = PageSettings(), database: (SendingBench) -> any Querying = { $0.pool },
  _ body: @Sendable (PagesServer) async throws -> Void
) async throws {
  try await withSendingBench { bench in
    let devices = try await bench.addDevices(3)
    if let template {
      _ = try await Templates(bench.pool).put(bench.customer, name: "offer", format: format, body: template)
    }
    let key = try await bench.send(
      "Hello {{firstName}}", template: template == nil ? nil : "offer", fields: ["campaign": "autumn"])
    try await bench.pool.transaction { transaction in
      _ = try await Ledger(transaction).freeze(key, apps: [bench.app.id], audience: .all)
    }
    let pool = database(bench)
    let opens = Opens(pool)
    let pages = RichPageService(
      pool, templates: PageTemplateCache(pool), links: bench.links, vault: bench.vault,
      logger: TestServer.logger)
    let routes = PageRoutes(pages, opens: opens, signer: bench.signer, settings: settings)
    try await withTestWebServer([routes]) { server in
      try await body(PagesServer(bench: bench, server: server, key: key, devices: devices))
    }
  }
}
