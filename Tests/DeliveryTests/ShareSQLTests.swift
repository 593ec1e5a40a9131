import Postgres
import Support
import Testing

@testable import Delivery

@Suite struct ShareSQLTests {
  @Test func `Shares are met, and have nothing to do with the holdout`() async throws {
    try await withDatabase { database in
      let variant = ShareSQL.variant(bounds: "$1::int4[]", contact: "n", sendout: "7")
      let rows = try await database.query(
        """
        SELECT \(variant), count(*), count(*) FILTER (WHERE \(ShareSQL.isAmong(percent: "10", .holdout, contact: "n", sendout: "7")))
          FROM generate_series(1::bigint, 100000) AS n GROUP BY 1 ORDER BY 1
        """, ShareSQL.shareBounds([10, 30]))
      let found = try rows.map { try $0.decode(Int16.self, Int.self, Int.self) }
      #expect(found.map(\.0) == [0, 1, 2])
      for (row, percent) in zip(found, [60, 10, 30]) {
        #expect(abs(row.1 - percent * 1000) < 1000, "variant \(row.0)")
        #expect(abs(row.2 - percent * 100) < 400, "variant \(row.0)")
      }
    }
  }

  @Test func `Shares of 100 leave nobody`() async throws {
    try await withDatabase { database in
      let variant = ShareSQL.variant(bounds: "$1::int4[]", contact: "n", sendout: "7")
      let none = try await database.query(
        "SELECT count(*) FROM generate_series(1::bigint, 50000) AS n WHERE \(variant) = 0",
        ShareSQL.shareBounds([1, 99]))
      #expect(try none[0].decode(Int.self) == 0)
    }
  }
}
