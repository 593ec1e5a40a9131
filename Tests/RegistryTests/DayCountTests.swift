import Foundation
import Postgres
import Registry
import Support
import Testing
import Wire

@Suite struct DayCountTests {
  @Test func `A day counts new devices, and nothing else of a registration`() async throws {
    try await withDatabase { database in
      let pool = database.pool
      let customer = try await database.customer()
      let app = try await PushApps(pool, vault: try .fresh()).add(customer, .ios())
      let registrations = RegistrationBatcher(pool, endpoints: EndpointRules())
      for (contact, token) in [("a", "aa"), ("a", "aa"), ("b", "aa"), ("b", "bb")] {
        let body = PushDevicesBody(
          contact, firstName: nil, token: String(repeating: token, count: 32), type: .ios)
        try await registrations.register(customer, try Registration(body, apps: [app]), returnsContact: false)
      }
      let days = try await DayCounts(pool).last(2, of: customer)
      #expect(days.map(\.registered).reduce(0, +) == 2)
      #expect(days.last?.day == String(Timestamp(Date()).description.prefix(10)) || days.first?.registered == 2)
    }
  }

  @Test func `A day's row is locked last, so that nobody waits for it while others are written`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let app = try await PushApps(database.pool, vault: try .fresh()).add(customer, .ios())
      try await database.query(
        """
        INSERT INTO day_count (customer_id, day, slot)
        SELECT $1::int8, (now() AT TIME ZONE 'UTC')::date + d, n FROM generate_series(0, 15) AS n, generate_series(0, 1) AS d
        """, customer.rawValue)
      var limits = RegistrationBatcher.Limits()
      limits.timeout = .seconds(600)
      let registrations = RegistrationBatcher(database.pool, limits: limits, endpoints: EndpointRules())
      let body = PushDevicesBody("a", firstName: nil, token: String(repeating: "aa", count: 32), type: .ios)
      let registration = try Registration(body, apps: [app])
      // Statements of the same pool could be sent behind the one that waits.
      try await database.withPool { other in
        let registered = try await other.transaction { holder in
          // The registration waits for this, as it adds a device of the same token.
          try await holder.query(
            sql: """
              INSERT INTO device (customer_id, push_app_id, contact_id, token, token_key)
              VALUES ($1::int8, $2::int8, 999, repeat('aa', 32), decode(repeat('aa', 32), 'hex'))
              """, customer.rawValue, app.id.rawValue)
          let registered = Task {
            _ = try await registrations.register(customer, registration, returnsContact: false)
          }
          let waits = "SELECT FROM \(TestDatabase.locks) WHERE NOT granted AND locktype = 'transactionid'"
          try await waitUntil { try await !other.query(sql: waits).isEmpty }
          // Those that nobody has.
          #expect(try await other.query(sql: "SELECT FROM day_count FOR UPDATE SKIP LOCKED").count == 32)
          try await holder.query(sql: "DELETE FROM device WHERE contact_id = 999")
          return registered
        }
        try await registered.value
      }
      #expect(try await DayCounts(database.pool).last(2, of: customer).map(\.registered).reduce(0, +) == 1)
    }
  }

  @Test func `Days without anything are there, and old ones are forgotten`() async throws {
    try await withDatabase { database in
      let counts = DayCounts(database.pool)
      let customer = try await database.customer()
      #expect(try await counts.last(30, of: customer).count == 30)
      for age in [0, 29, 30, 500] {
        try await database.query(
          """
          INSERT INTO day_count (customer_id, day, sent) VALUES ($1::bigint, (now() AT TIME ZONE 'UTC')::date - $2::int4, 2)
          """, customer.rawValue, Int32(age))
      }
      let days = try await counts.last(30, of: customer)
      #expect(days.map(\.sent).reduce(0, +) == 4)
      #expect(days.first?.sent == 2 && days.last?.sent == 2)
      try await counts.forgetOld(customer)
      let left: Int = try await database.query("SELECT count(*) FROM day_count")[0].decode(Int.self)
      #expect(left == 3)
    }
  }
}
