import Foundation
import Postgres
import Support
import Testing
import Wire

@testable import Registry

@Suite struct RowReplyTests {
  private struct Reply: Codable, Equatable {
    var keyId: AccessKeyID
    var scope: AccessScope
    var isOn: Bool
    var smallNumber: Int
    var createdAt: Timestamp
    var revokedAt: Timestamp?
    var appIds: [String]
    var others: [AccessKeyID]
    var message: JSONValue
  }

  @Test func `A row is a reply whose fields have the names of its columns`() async throws {
    try await withDatabase { database in
      let rows = try await database.query(
        """
        SELECT 9007199254740993::bigint AS key_id, 'send'::text AS scope, true AS is_on, 7::int2 AS small_number,
               '2026-11-20T09:00:00Z'::timestamptz AS created_at, NULL::timestamptz AS revoked_at,
               ARRAY['a', 'b']::text[] AS app_ids, ARRAY[1, 2]::bigint[] AS others, '{"n":1.50}'::json AS message
        """)
      #expect(
        try rows[0].reply()
          == Reply(
            keyId: AccessKeyID(9_007_199_254_740_993), scope: .send, isOn: true, smallNumber: 7, createdAt: .example,
            appIds: ["a", "b"], others: [AccessKeyID(1), AccessKeyID(2)],
            message: try JSONValue(json: Array(#"{"n":1.50}"#.utf8))))
    }
  }

  @Test func `A row that lacks a field, or has another type for it, is no reply`() async throws {
    try await withDatabase { database in
      for sql in ["SELECT 1::bigint AS key_id", "SELECT 'x'::text AS key_id, 'send'::text AS scope"] {
        let row = try await database.query(sql)[0]
        #expect(throws: DecodingError.self) { try row.reply(Reply.self) }
      }
    }
  }
}
