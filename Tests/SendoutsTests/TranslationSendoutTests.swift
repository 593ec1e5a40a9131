import Content
import Delivery
import Postgres
import Registry
import Simulator
import Support
import Testing
import Wire

@testable import Sendouts

/// Who gets a message in which language.
@Suite struct TranslationSendoutTests {
  private static let message = MessageBody(
    alert: "Hello {{firstName}}", fields: ["greeting": "hello", "said": "{{sendout.fields.greeting}}"],
    translations: [
      "sv": MessageTranslation(alert: "Hej {{firstName}}", fields: ["greeting": "hej"]),
      "pt-BR": MessageTranslation(alert: "Oi {{firstName}}"),
    ])

  /// Contacts by what tells their language, and what they get.
  private static let contacts: [(language: String?, locale: String?, alert: String)] = [
    ("sv", nil, "Hej N1"), (nil, "sv-FI", "Hej N2"), ("de", "sv", "Hello N3"), (nil, nil, "Hello N4"),
    ("pt-BR", "sv", "Oi N5"), ("pt", nil, "Hello N6"),
  ]

  /// Registers the contacts with a device each.
  private static func addContacts(_ bench: SendingBench) async throws {
    try await bench.addDevices(contacts.count)
    for (index, contact) in contacts.enumerated() {
      try await bench.database.query(
        "UPDATE contact SET language = $1 WHERE first_name = $2", contact.language, "N\(index + 1)")
      try await bench.database.query(
        "UPDATE device SET locale = $1 WHERE token = $2", contact.locale, bench.token(index + 1))
    }
  }

  /// The alert that each token got.
  private static func alerts(_ bench: SendingBench) throws -> [String: String] {
    var alerts: [String: String] = [:]
    for request in bench.simulator.apns.requests {
      let alert = try JSONValue(parsing: request.payload)["aps"]?["alert"]
      alerts[request.token] = alert?.text ?? alert?.string("title")
    }
    return alerts
  }

  @Test func `A sendout speaks to each contact in its language, else in that of its device`() async throws {
    try await withSendingBench { bench in
      try await Self.addContacts(bench)
      try await bench.withHubs {
        let sendout = try await bench.sendouts.create(
          bench.customer,
          SendoutRequest(appId: SendingBench.appID, audience: .all, message: Self.message, start: true))
        try await bench.until(SendoutKey(bench.customer, sendout.sendoutId), .finished)
      }
      let alerts = try Self.alerts(bench)
      for (index, contact) in Self.contacts.enumerated() {
        #expect(alerts[bench.token(index + 1)] == contact.alert, "\(index + 1)")
      }
      let swedish = try #require(bench.simulator.apns.requests.first { $0.token == bench.token(1) })
      let payload = try JSONValue(parsing: swedish.payload)
      #expect(payload.string("greeting") == "hej" && payload.string("said") == "hej")
    }
  }

  @Test func `The newest valid device that tells a locale decides for all devices of its contact`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(1)
      func addDevice(_ number: Int, _ locale: String?, hours: Int, isValid: Bool = true) async throws {
        try await bench.database.query(
          """
          INSERT INTO device (customer_id, push_app_id, contact_id, token, token_key, locale, registered_at, invalidated_at,
                              invalidation_type)
          SELECT customer_id, push_app_id, contact_id, $1::text, decode($1::text, 'hex'), $2::text, now() - make_interval(hours => $3::int4),
                 CASE WHEN $4::bool THEN NULL ELSE now() END, CASE WHEN $4::bool THEN 0 ELSE 1 END
            FROM device LIMIT 1
          """, bench.token(number), locale, Int32(hours), isValid)
      }
      try await addDevice(2, "de", hours: 3)
      try await addDevice(3, "sv-SE", hours: 2)
      try await addDevice(4, nil, hours: 1)
      try await addDevice(5, "pt-BR", hours: 0, isValid: false)
      try await bench.withHubs {
        let sendout = try await bench.sendouts.create(
          bench.customer,
          SendoutRequest(appId: SendingBench.appID, audience: .all, message: Self.message, start: true))
        try await bench.until(SendoutKey(bench.customer, sendout.sendoutId), .finished)
      }
      let alerts = try Self.alerts(bench)
      #expect(alerts.count == 4 && alerts.values.allSatisfy { $0 == "Hej N1" }, "\(alerts)")
    }
  }

  @Test(arguments: [true, false])
  func `Single messages speak to contacts as sendouts do, whichever hub sends them, and previews show it`(
    sendsItself: Bool
  ) async throws {
    try await withSendingBench { bench in
      try await Self.addContacts(bench)
      let dispatcher = bench.dispatcher()
      let messages = MessageService(
        bench.pool, dispatcher: dispatcher, messages: MessageDispatcher(dispatcher, sendsItself: sendsItself),
        apps: PushAppCache(bench.pool), credentials: PushCredentialVault(bench.pool, vault: bench.vault),
        registrations: RegistrationBatcher(bench.pool, limits: .patient))
      try await bench.withHubs {
        for number in 1...Self.contacts.count {
          let target = MessageTarget(originalId: "user\(number)@example.com")
          _ = try await messages.send(
            bench.customer, MessageRequest(appId: SendingBench.appID, to: target, message: Self.message))
          let preview = try await messages.preview(
            bench.customer, MessagePreviewRequest(appId: SendingBench.appID, to: target, message: Self.message))
          let shown = preview.requests.first?.body?["aps"]?["alert"]
          #expect((shown?.text ?? shown?.string("title")) == Self.contacts[number - 1].alert, "\(number)")
        }
        _ = await bench.simulator.apns.received(count: Self.contacts.count)
      }
      let alerts = try Self.alerts(bench)
      for (index, contact) in Self.contacts.enumerated() {
        #expect(alerts[bench.token(index + 1)] == contact.alert, "\(index + 1)")
      }
    }
  }

  @Test func `A page tells what its reader got, in the reader's language`() async throws {
    try await withSendingBench { bench in
      let devices = try await bench.addDevices(2)
      try await bench.database.query("UPDATE contact SET language = 'sv' WHERE first_name = 'N1'")
      _ = try await Templates(bench.pool).put(
        bench.customer, name: "page", format: .text, body: "{{sendout.alert}}, {{sendout.fields.greeting}}")
      let sendout = try await bench.sendouts.create(
        bench.customer,
        SendoutRequest(
          appId: SendingBench.appID, audience: .all, message: Self.message, template: "page", start: true))
      try await bench.withHubs { try await bench.until(SendoutKey(bench.customer, sendout.sendoutId), .finished) }
      let pages = RichPageService(
        bench.pool, templates: PageTemplateCache(bench.pool), links: bench.links, vault: bench.vault,
        logger: TestServer.logger)
      func page(_ push: Int64, _ device: DeviceID) async throws -> String {
        let link = PushLink(
          customer: bench.customer, sendout: sendout.sendoutId, push: PushNumber(push), device: device)
        let page = try await withCheckedThrowingContinuation { answer in
          pages.open(link, by: .person) { answer.resume(with: $0) }
        }
        return String(decoding: try #require(page).render().body, as: UTF8.self)
      }
      #expect(try await page(1, devices[0]) == "Hej N1, hej")
      #expect(try await page(2, devices[1]) == "Hello N2, hello")
    }
  }
}
