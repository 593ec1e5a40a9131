import Content
import Delivery
import Postgres
import Sendouts
import Simulator
import Support
import Testing
import Wire

@testable import Registry

/// Only what a message names of its recipients is read from the database.
@Suite struct RecipientFieldsTests {
  /// Where a text stands.
  enum Place: String, CaseIterable, Sendable {
    case alert, info, badge, sound, category, fields, page
  }

  /// What the contact has in a field.
  private static func value(of field: ContactField) -> String { "\(2000 + field.rawValue)" }

  /// Texts that name one thing alone, and what the recipient gets for them. Each value is a number, so that a badge shows it too.
  private static let texts = ContactField.allCases.map { (text: "{{\($0.name)}}", value: value(of: $0)) } + others

  private static let others: [(text: String, value: String)] = [
    ("{{originalId}}", "1001"), ("{{listId}}", "1002"), ("{{dateOfBirth}}", "1980-12-31"),
    ("{{properties.food}}", "1013"), ("{{food}}", "1013"), ("{{#properties}}{{food}}{{/properties}}", "1013"),
    ("{{#properties}}{{city}}{{/properties}}", value(of: .city)), ("{{device.manufacturer}}", "1014"),
    ("{{device.model}}", "1015"), ("{{device.osVersion}}", "1016"), ("{{device.country}}", "1017"),
    ("{{device.timeZone}}", "1018"), ("{{device.locale}}", "1019"),
    ("{{#device}}{{model}}{{/device}}", "1015"), ("{{#device}}{{country}}{{/device}}", "1017"),
    ("{{#device}}{{city}}{{/device}}", value(of: .city)), ("{{uppercased(zipcode)}}", value(of: .zipcode)),
    ("{{#title}}1008{{/title}}", "1008"), ("{{^title}}{{/title}}1", "1"),
    ("{{#.}}{{sex}}{{/.}}", value(of: .sex)),
  ]

  private static func message(_ place: Place, _ text: String) -> MessageBody {
    let marked = "<\(text)>"
    return switch place {
    case .alert, .page: MessageBody(alert: marked)
    case .info: MessageBody(alert: "Hi", info: marked)
    case .badge: MessageBody(alert: "Hi", badge: .template(text))
    case .sound: MessageBody(alert: "Hi", sound: marked)
    case .category: MessageBody(alert: "Hi", category: marked)
    case .fields: MessageBody(alert: "Hi", fields: ["list": [["text": .string(marked)]]])
    }
  }

  @Test(arguments: Place.allCases) func `Each thing that a message names alone reaches the phone`(
    place: Place
  ) async throws {
    try await withSendingBench { bench in
      let device = try await Self.addRecipient(bench)
      try await bench.withHubs {
        for (text, value) in Self.texts where place != .badge || Int(value) != nil {
          let key = try await Self.send(text, in: place, bench)
          let request = try #require(
            bench.simulator.apns.requests.first { $0.header("apns-collapse-id") == "s\(key.sendout)" })
          switch place {
          case .badge:
            let badge = try JSONValue(parsing: request.payload)["aps"]?["badge"]
            #expect(try badge == .integer(#require(Int64(value))), "\(text)")
          case .page:
            let page = try await Self.page(
              of: PushLink(customer: bench.customer, sendout: key.sendout, push: PushNumber(1), device: device), bench)
            #expect(page == "<\(value)> <\(value)>", "\(text)")
          default: #expect(String(decoding: request.payload, as: UTF8.self).contains("<\(value)>"), "\(text)")
          }
        }
      }
    }
  }

  @Test func `What is read of recipients has a name for everything that a text can name of them`() {
    for name in PageContext.recipientFields {
      #expect(RecipientFields(named: [name]) != .all, "\(name)")
    }
    #expect(RecipientFields(named: PageContext.recipientFields) == .all)
    #expect(RecipientFields(named: ["unknown"]) == .all)
  }

  /// A sendout of the text, once its push is accepted.
  private static func send(_ text: String, in place: Place, _ bench: SendingBench) async throws -> SendoutKey {
    if place == .page {
      _ = try await Templates(bench.pool).put(
        bench.customer, name: "page", format: .text, body: "<\(text)> {{sendout.alert}}")
    }
    let sendout = try await bench.sendouts.create(
      bench.customer,
      SendoutRequest(
        name: text, appId: SendingBench.appID, audience: .all, message: message(place, text),
        template: place == .page ? "page" : nil, start: true))
    let key = SendoutKey(bench.customer, sendout.sendoutId)
    #expect(try await bench.until(key, .finished).counts?.accepted == 1)
    return key
  }

  /// The page behind a push, as its person sees it.
  private static func page(of link: PushLink, _ bench: SendingBench) async throws -> String {
    let pages = RichPageService(
      bench.pool, templates: PageTemplateCache(bench.pool), links: bench.links, vault: bench.vault,
      logger: TestServer.logger)
    let page = try await withCheckedThrowingContinuation { answer in
      pages.open(link, by: .person) { answer.resume(with: $0) }
    }
    return String(decoding: try #require(page).render().body, as: UTF8.self)
  }

  /// The only contact, of whom everything is known, and the device.
  private static func addRecipient(_ bench: SendingBench) async throws -> DeviceID {
    let device = try await bench.addDevices(1)[0]
    try await bench.database.query(
      "INSERT INTO list (customer_id, list_id, name) VALUES ($1::bigint, 1002, 'Everybody')", bench.customer.rawValue)
    let texts = ContactField.allCases.map { "\($0.column) = '\(value(of: $0))'" }.joined(separator: ", ")
    try await bench.database.query(
      """
      UPDATE contact
         SET original_id = '1001', date_of_birth = '1980-12-31', properties = '{"food":"1013"}', \(texts)
      """)
    try await bench.database.query(
      "INSERT INTO list_member (customer_id, list_id, contact_id) SELECT customer_id, 1002, contact_id FROM contact")
    try await bench.database.query(
      """
      UPDATE device SET manufacturer = '1014', model = '1015', os_version = '1016', country = '1017', time_zone = '1018',
        locale = '1019'
      """)
    return device
  }
}
