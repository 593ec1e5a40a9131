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
      let registrations = RegistrationBatcher(pool, limits: .patient, endpoints: EndpointRules())
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
