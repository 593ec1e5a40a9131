import Content
import Delivery
import Postgres
import Registry
import Support
import Testing
import Wire

@testable import Sendouts

/// Pages of pushes that say different things, and the templates that variants have of their own.
@Suite struct VariantPageTests {
  private static let variants = [
    MessageVariant(name: "A", share: 40, message: MessageBody(alert: "A", fields: ["kind": "first"])),
    MessageVariant(
      name: "B", share: 40,
      message: MessageBody(alert: "B", translations: ["sv": MessageTranslation(alert: "B på svenska")]),
      template: "own"),
  ]

  private static let request = SendoutRequest(
    name: "Test", appId: SendingBench.appID, audience: .all, message: MessageBody(alert: "Hi", fields: ["kind": "all"]),
    template: "page", campaign: CampaignFields(variants: variants, winner: WinnerRule(afterMinutes: 60)))

  private static func save(_ name: String, _ body: String, _ bench: SendingBench) async throws {
    _ = try await Templates(bench.pool).put(bench.customer, name: name, format: .text, body: body)
  }

  @Test func `A page says what its push says, by the template of its variant as it was at the freeze`() async throws {
    try await withSendingBench { bench in
      let devices = try await bench.addDevices(4)
      try await bench.database.query("UPDATE contact SET language = 'sv-SE' WHERE first_name = 'N3'")
      try await Self.save("page", "page: {{sendout.alert}} {{sendout.fields.kind}}", bench)
      try await Self.save("own", "own: {{sendout.alert}} {{sendout.fields.kind}}", bench)
      let sendout = try await bench.sendouts.create(bench.customer, Self.request).sendoutId
      try await Self.save("own", "changed since", bench)
      // Of four contacts the first gets A, the next two B, and the last waits.
      try await bench.database.query("SELECT require_sendout_range($1)", sendout.rawValue)
      try await bench.database.query(
        """
        INSERT INTO push (customer_id, sendout_id, push_no, batch_no, device_id, contact_id, variant, state, attempts)
        SELECT customer_id, $1::bigint, n, 0, device_id, contact_id, (ARRAY[1, 2, 2, 0])[n], 'accepted', 1
          FROM (SELECT customer_id, device_id, contact_id, row_number() OVER (ORDER BY device_id)::int4 AS n FROM device) AS d
        """, sendout.rawValue)
      try await bench.database.query(
        """
        INSERT INTO sendout_variant (customer_id, sendout_id, variant_no, name, share, template_version, contacts)
        VALUES ($1, $2, 1, 'A', 40, NULL, 1), ($1, $2, 2, 'B', 40, 1, 2)
        """, bench.customer.rawValue, sendout.rawValue)
      try await bench.database.query("UPDATE sendout SET state = 'running', frozen_at = now(), started_at = now()")
      try await bench.database.recountBatches()
      let pages = RichPageService(
        bench.pool, templates: PageTemplateCache(bench.pool), links: bench.links, vault: bench.vault,
        logger: TestServer.logger)
      func page(_ push: Int64) async throws -> String? {
        let link = PushLink(
          customer: bench.customer, sendout: sendout, push: PushNumber(push), device: devices[Int(push) - 1])
        let page = try await withCheckedThrowingContinuation { answer in
          pages.open(link, by: .person) { answer.resume(with: $0) }
        }
        return page.map { String(decoding: $0.render().body, as: UTF8.self) }
      }
      #expect(try await page(1) == "page: A first")
      #expect(try await page(2) == "own: B all")
      #expect(try await page(3) == "own: B på svenska all")
      // Nothing has been decided for the last.
      #expect(try await page(4) == nil)
      try await bench.database.query("UPDATE sendout SET winner_no = 1, winner_by = 'person', winner_at = now()")
      #expect(try await page(4) == "page: A first")
    }
  }

  @Test func `A template that a variant has is not removed before its sendout ends`() async throws {
    try await withSendingBench { bench in
      try await Self.save("page", "x", bench)
      try await Self.save("own", "x", bench)
      try await Self.save("own", "y", bench)
      let sendout = try await bench.sendouts.create(bench.customer, Self.request).sendoutId
      func remove() async throws {
        _ = try await bench.pool.transaction { try await TemplateUse($0).remove(bench.customer, name: "own") }
      }
      await #expect(throws: SendoutError.templateInUse(by: ["sendout \(sendout)"])) { try await remove() }
      let uses = try await TemplateUse(bench.pool).uses(bench.customer, name: "own")
      #expect(uses.sendouts.map(\.version) == [2])
      _ = try await bench.sendouts.cancel(bench.customer, sendout)
      try await remove()
    }
  }

  @Test func `A variant's template has to be there, and stands beside no url`() async throws {
    try await withSendingBench { bench in
      try await Self.save("page", "x", bench)
      func refused(_ request: SendoutRequest) async -> String? {
        do {
          _ = try await bench.sendouts.create(bench.customer, request)
          return nil
        } catch SendoutError.invalid(let field, let problem) {
          return "\(field) \(problem)"
        } catch ContentError.invalid(let field, _) {
          return field
        } catch {
          return "\(error)"
        }
      }
      #expect(await refused(Self.request) == "variants[1].template names no template of this customer")
      try await Self.save("own", "x", bench)
      #expect(await refused(Self.request) == nil)
      var request = Self.request
      request.campaign.variants?[0].message.url = "https://example.com"
      #expect(
        await refused(request)
          == "variants[0].message.url is there beside template, whose page is the url: leave out one of them")
      request = Self.request
      request.template = nil
      request.message.url = "https://example.com"
      #expect(
        await refused(request)
          == "variants[1].template is there beside the message's url, and its page is the url: leave out one of them")
      request = Self.request
      request.campaign.variants?[1].message.translations = ["sv": MessageTranslation(alert: "x", image: "no")]
      #expect(await refused(request) == "variants[1].message.translations.sv.image")
    }
  }
}
