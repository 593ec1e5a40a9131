import Postgres
import Registry
import Support
import Testing
import Wire

/// Makes another hub write between a statement's look and its write. It holds its locks until the statement under test
/// waits for them, and then commits.
@Suite struct LostUpdateTests {
  /// Begins `writing` elsewhere, lets `statement` run into its locks, and commits.
  private func race<Answer: Sendable>(
    _ fixture: RegistryFixture, _ writing: String, _ statement: @escaping @Sendable () async throws -> Answer
  ) async throws -> Answer {
    try await fixture.database.withPool { pool in
      let under = try await pool.transaction { transaction in
        try await transaction.query(Statement("test.writing", .write, writing))
        let under = Task { try await statement() }
        try await fixture.database.someoneWaits(as: pool)
        return under
      }
      return try await under.value
    }
  }

  @Test func `Device fields that a registration leaves out are those that were written meanwhile`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      try await fixture.register("a", token: "t", #","model":"old","country":"SE""#)
      let told = try await race(fixture, "UPDATE device SET model = 'new', country = NULL") {
        try await fixture.register("a", token: "t", #","osVersion":"18""#)
      }
      #expect(told.devices[0].model == "new")
      #expect(told.devices[0].country == nil)
      #expect(told.devices[0].osVersion == "18")
      #expect(try await fixture.contact("a")?.devices == told.devices)
    }
  }

  @Test func `A device that was invalidated meanwhile is revived, and its events say so`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      try await fixture.register("a", token: "t")
      let retiring = """
        WITH d AS (
          UPDATE device SET invalidated_at = now(), invalidation_type = 2, invalidation_reason = 'Unregistered'
          RETURNING *
        )
        INSERT INTO device_event (customer_id, device_id, contact_id, kind)
        SELECT customer_id, device_id, contact_id, 'invalidated' FROM d
        """
      let told = try await race(fixture, retiring) { try await fixture.register("a", token: "t") }
      #expect(told.devices[0].invalidationType == 0)
      #expect(try await fixture.events("t") == ["registered", "invalidated", "revived"])
    }
  }

  /// The statement finds the row where it was, with or without an answer that tells of it, among its contact's devices or by token.
  @Test(arguments: [true, false], ["t", "t more"])
  func `A device that moved away meanwhile moves back, and its events say so once`(
    _ returnsContact: Bool, _ tokens: String
  ) async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      try await fixture.register("a", token: "t", #","model":"old""#)
      try await fixture.register("b", token: "other")
      let moving = """
        UPDATE device SET model = 'new', contact_id = (SELECT contact_id FROM contact WHERE original_id = 'b')
        WHERE token = 't'
        """
      let devices = tokens.split(separator: " ").map { #"{"devicetoken":"\#($0)","osVersion":"18"}"# }
      let body = #"{"originalId":"a","deviceInfo":[\#(devices.joined(separator: ","))]}"#
      let again = try fixture.registration(body)
      try await race(fixture, moving) {
        _ = try await fixture.registrations.register(fixture.customer, again, returnsContact: returnsContact)
      }
      let device = try await fixture.contact("a")?.devices.first { $0.token == "t" }
      #expect(device?.model == "new")
      #expect(device?.osVersion == "18")
      #expect(try await fixture.events("t") == ["registered", "moved"])
    }
  }

  @Test func `A device that was revived meanwhile is invalidated, and its events say so`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      try await fixture.register("a", token: "t")
      try await fixture.invalidate(#"{"originalId":"a","deviceInfo":[{"devicetoken":"t"}]}"#)
      let reviving = """
        WITH d AS (
          UPDATE device SET invalidated_at = NULL, invalidation_type = 0, invalidation_reason = NULL RETURNING *
        )
        INSERT INTO device_event (customer_id, device_id, contact_id, kind)
        SELECT customer_id, device_id, contact_id, 'revived' FROM d
        """
      try await race(fixture, reviving) {
        try await fixture.invalidate(#"{"originalId":"a","deviceInfo":[{"devicetoken":"t"}]}"#)
      }
      #expect(try await fixture.contact("a")?.devices[0].invalidationType == 1)
      #expect(try await fixture.events("t") == ["registered", "invalidated", "revived", "invalidated"])
    }
  }

  @Test func `A device that moved away meanwhile is not invalidated for its former owner`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      try await fixture.register("a", token: "t")
      try await fixture.register("b", token: "other")
      let moving = """
        UPDATE device SET contact_id = (SELECT contact_id FROM contact WHERE original_id = 'b') WHERE token = 't'
        """
      await #expect(throws: RegistryError.deviceUnknown(field: "deviceInfo[0].devicetoken")) {
        try await race(fixture, moving) {
          try await fixture.invalidate(#"{"originalId":"a","deviceInfo":[{"devicetoken":"t"}]}"#)
        }
      }
      #expect(try await fixture.contact("b")?.devices.allSatisfy { $0.invalidationType == 0 } == true)
    }
  }

  @Test(arguments: [true, false], [true, false])
  func `A device that moved or was registered anew meanwhile does not make way for a further one`(
    _ moves: Bool, _ returnsContact: Bool
  ) async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      try await fixture.allowDevices(2)
      for token in ["t1", "t2"] { try await fixture.register("a", token: token) }
      try await fixture.register("b", token: "other")
      let moving = moves ? "contact_id = (SELECT contact_id FROM contact WHERE original_id = 'b')," : ""
      let further = try fixture.registration(#"{"originalId":"a","deviceInfo":[{"devicetoken":"t3"}]}"#)
      try await race(fixture, "UPDATE device SET \(moving) registered_at = clock_timestamp() WHERE token = 't1'") {
        _ = try await fixture.registrations.register(fixture.customer, further, returnsContact: returnsContact)
      }
      let owner = try #require(try await fixture.contact(moves ? "b" : "a"))
      #expect(owner.devices.first { $0.token == "t1" }?.invalidationType == .valid)
      #expect(try await fixture.events("t1") == ["registered"])
      // The device that comes next counts them all.
      try await fixture.register("a", token: "t4")
      let valid = try await fixture.contact("a")?.devices.filter { $0.invalidationType == .valid }.map(\.token)
      #expect(valid == ["t3", "t4"])
    }
  }

  @Test func `A list that was erased meanwhile is unknown, and a device key is not told`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      let list = try await ContactLists(database.pool).add(fixture.customer, name: "all").listId
      let body = try PushDevicesBody(
        #"{"originalId":"a","city":"Lund","listId":\#(list),"deviceInfo":[{"devicetoken":"t"}]}"#)
      for scope in [AccessScope.backend, .device] {
        let key = try await AccessKeys(database.pool).make(fixture.customer, name: "key", scope: scope).key.keyId
        let registration = try Registration(
          body, apps: fixture.app, access: Access(customer: fixture.customer, key: key, scope: scope))
        func register() async throws {
          try await race(fixture, "DELETE FROM list") {
            _ = try await fixture.registrations.register(fixture.customer, registration, returnsContact: false)
          }
        }
        if scope == .device {
          try await register()
          let contact = try #require(try await fixture.contact("a"))
          #expect(contact.listID == nil && contact[.city] == "Lund")
        } else {
          await #expect(throws: RegistryError.invalid(field: "listId", problem: "names no list of this customer")) {
            try await register()
          }
          try await database.query(
            "INSERT INTO list (customer_id, list_id, name) VALUES ($1, $2, 'all')", fixture.customer.rawValue,
            list.rawValue)
        }
      }
    }
  }

  @Test func `A token that another contact brought meanwhile moves, with its fields and an event`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      try await fixture.register("b", token: "7a")
      let adding = """
        INSERT INTO device (customer_id, push_app_id, contact_id, token, token_key, model)
        SELECT customer_id, push_app_id, contact_id, '7B', '\\x7b', 'brought' FROM device
        """
      let told = try await race(fixture, adding) { try await fixture.register("a", token: "7b") }
      #expect(told.devices.map(\.token) == ["7b"])
      #expect(told.devices[0].model == "brought")
      #expect(try await fixture.contact("b")?.devices.map(\.token) == ["7a"])
      #expect(try await fixture.events("7b") == ["moved"])
    }
  }

  @Test func `A device registered for a contact that is erased meanwhile goes to a new contact`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      let erased = try await fixture.register("a", token: "7a")
      let erasing = "WITH gone AS (DELETE FROM device) DELETE FROM contact"
      let told = try await race(fixture, erasing) { try await fixture.register("a", token: "7b") }
      #expect(told.id != erased.id)
      #expect(told.devices.map(\.token) == ["7b"])
      #expect(try await fixture.contact("a") == told)
      #expect(try await fixture.count("contact") == 1)
    }
  }

  @Test func `A contact that came meanwhile takes what the registration sets, clears and removes`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      let list = try await ContactLists(database.pool).add(fixture.customer, name: "all").listId
      let adding = """
        WITH made AS (
          INSERT INTO contact (customer_id, original_id, first_name, last_name, date_of_birth, properties)
          VALUES (\(fixture.customer), 'a', 'Ann', 'Lee', '1980-02-29', '{"x": 1, "y": 1}') RETURNING contact_id)
        INSERT INTO list_member (customer_id, list_id, contact_id)
        SELECT \(fixture.customer), \(list), contact_id FROM made
        """
      let told = try await race(fixture, adding) {
        try await fixture.register(
          #"{"originalId":"a","firstName":"","listId":"","dateOfBirth":"","properties":{"x":null,"z":2},"deviceInfo":[{"devicetoken":"t"}]}"#
        )
      }
      #expect(told[.firstName] == nil)
      #expect(told[.lastName] == "Lee")
      #expect(told.listID == nil)
      #expect(told.dateOfBirth == nil)
      #expect(told.properties == #"{"y":1,"z":2}"#)
      #expect(try await fixture.contact("a") == told)
    }
  }
}
