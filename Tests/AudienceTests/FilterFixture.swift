import Delivery
import Foundation
import Postgres
import Registry
import Support
import Wire

@testable import Audience

/// Contacts of a model, and the same ones in a database.
struct FilterFixture {
  let database: TestDatabase
  let customer: CustomerID
  let model: FilterModel
  var contacts: [FilterModel.Contact] = []

  var pool: Pool { database.pool }
  var segments: Segments { Segments(pool) }

  /// - Parameter now: of the model, in milliseconds since 1970.
  init(_ database: TestDatabase, now: Int64 = FilterGenerator.usualNow) async throws {
    self.database = database
    customer = try await database.customer()
    try await database.addSendouts(FilterGenerator.sendouts, of: customer)
    var model = FilterModel(now: now)
    let lists = ContactLists(database.pool)
    for name in ["newsletter", "it's"] {
      model.lists[UTF8String(name)] = try await lists.add(customer, name: name).listId.rawValue
    }
    let segments = Segments(database.pool)
    let hand = try await segments.add(customer, SegmentRequest(name: "by hand", static: true))
    let nordic = try await segments.add(
      customer,
      SegmentRequest(
        name: "nordic", filter: try Filter(text: "country in ('SE', 'NO') or in segment 'by hand' or received >= 2")))
    let both = try await segments.add(
      customer, SegmentRequest(name: "both", filter: try Filter(text: "in segment 'nordic' and not in list 'it''s'")))
    for segment in [hand, nordic, both] {
      model.segmentNumbers[UTF8String(segment.name)] = segment.segmentId.rawValue
      if let filter = segment.filter { model.segmentFilters[segment.segmentId.rawValue] = filter }
    }
    self.model = model
    for (index, app) in FilterGenerator.apps.enumerated() {
      for type in AppType.ofApps {
        try await database.query(
          "INSERT INTO push_app (customer_id, push_app_id, app_id, app_type, name) VALUES ($1, $2, $3, $4::int2, 'x')",
          customer.rawValue, Self.app(index, type), app, type.rawValue)
      }
    }
  }

  private static func app(_ index: Int, _ type: AppType) -> Int64 { Int64(1000 + index * 100) + Int64(type.rawValue) }

  /// A filter as the model has it.
  func resolved(_ filter: Filter) async throws -> ResolvedFilter {
    var resolved = try await segments.resolve(customer, filter)
    resolved.now = model.now
    return resolved
  }

  /// Writes a contact with all that it has.
  mutating func add(_ contact: FilterModel.Contact) async throws {
    let properties = JSONValue.object(contact.properties)
    try await database.query(
      """
      INSERT INTO contact (customer_id, contact_id, original_id, date_of_birth, properties, created_at, updated_at)
      VALUES ($1, $2, $3, date '1970-01-01' + $4::int8::int, $5::json, \(Self.moment("$6")), \(Self.moment("$7")))
      """, customer.rawValue, contact.id, contact.originalId, contact.dateOfBirth.map { Int64($0.number) },
      JSONDocument(String(decoding: properties.json, as: UTF8.self)), contact.createdAt, contact.updatedAt)
    for field in ContactField.allCases {
      guard let text = contact.texts[field] else { continue }
      let column = ContactConditions.column(field).replacing("contact.", with: "")
      try await database.query(
        "UPDATE contact SET \(column) = $3 WHERE customer_id = $1 AND contact_id = $2", customer.rawValue, contact.id,
        text)
    }
    for list in contact.lists {
      try await database.query(
        "INSERT INTO list_member (customer_id, list_id, contact_id) VALUES ($1, $2, $3)", customer.rawValue, list,
        contact.id)
    }
    for segment in contact.segments {
      try await database.query(
        "INSERT INTO segment_member (customer_id, segment_id, contact_id) VALUES ($1, $2, $3)", customer.rawValue,
        segment, contact.id)
    }
    for (number, device) in contact.devices.enumerated() {
      let token = "\(contact.id)-\(number)"
      let app = FilterGenerator.apps.firstIndex(of: device.app) ?? 0
      try await database.query(
        """
        INSERT INTO device (customer_id, push_app_id, contact_id, token, token_key, sandbox, manufacturer, model, os_version, country,
                            registered_at, invalidated_at, invalidation_type)
        VALUES ($1, $2, $3, $4, $4::text::bytea, $5, $6, $7, $8, $9, \(Self.moment("$10")),
                CASE WHEN $11 THEN NULL ELSE now() END, CASE WHEN $11 THEN 0 ELSE 1 END)
        """, customer.rawValue, Self.app(app, device.platform), contact.id, token, device.sandbox, device.manufacturer,
        device.model, device.osVersion, device.country, device.registeredAt, device.isValid)
    }
    for push in contact.pushes { try await write(push, of: contact.id) }
    contacts.append(contact)
  }

  /// Writes another push of a contact.
  /// - Parameter place: the contact's, from 0.
  mutating func add(_ push: FilterModel.Push, toContactAt place: Int) async throws {
    contacts[place].pushes.append(push)
    try await write(push, of: contacts[place].id)
  }

  /// Writes a push, and notes the contact in the same commit, as the statements of the ledger do.
  private func write(_ push: FilterModel.Push, of contact: Int64) async throws {
    // Pushes of sendouts and of messages count alike.
    try await database.query(
      """
      WITH written AS (
        INSERT INTO push (customer_id, sendout_id, push_no, batch_no, device_id, contact_id, message_no, state, settled_at, opened_at,
                          reason)
        VALUES ($1, $2, $3::int8::int4, 0, 1, $4, $5::int8::int4, $8::text,
                \(Self.moment("$6")), \(Self.moment("$7")), $9::text)
        RETURNING contact_id)
      INSERT INTO activity_change (customer_id, contact_ids) SELECT $1::int8, array_agg(contact_id) FROM written
      """, customer.rawValue, push.sendout, Int64(push.number), contact, push.number % 2 == 0 ? nil : Int64(1),
      push.acceptedAt, push.openedAt, push.state.rawValue, push.reason)
  }

  /// Counts what the noted contacts received.
  /// - Parameter contacts: how many of them, about; nil for all.
  func countActivity(of contacts: Int64? = nil) async throws {
    let activity = ContactActivity(pool)
    if let contacts {
      _ = try await activity.step(customer, portion: contacts)
    } else {
      while try await activity.step(customer) {}
    }
  }

  private static func moment(_ parameter: String) -> String {
    "(timestamptz 'epoch' + \(parameter)::int8 * interval '1 millisecond')"
  }

  /// The numbers of the contacts that meet a filter, by SQL.
  func found(_ filter: ResolvedFilter) async throws -> [Int64] {
    try await segments.contacts(customer, filter, PageRequest(limit: 1000)).items.map(\.contactId.rawValue)
  }

  /// The same by the model.
  func expected(_ filter: Filter) -> [Int64] { contacts.filter { model.matches(filter, $0) }.map(\.id) }
}

/// A fixture with so many contacts of a generator.
func withContacts(
  _ count: Int, seed: UInt64 = 1, _ body: (FilterFixture, inout FilterGenerator) async throws -> Void
) async throws {
  try await withDatabase { database in
    var fixture = try await FilterFixture(database)
    var generator = FilterGenerator(seed: seed, model: fixture.model)
    for id in 1...Int64(count) { try await fixture.add(generator.contact(id)) }
    try await body(fixture, &generator)
  }
}
