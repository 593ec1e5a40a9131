import Foundation
public import Postgres

extension Querying {
  /// How many blocks of 8 KB a statement looks at. It is run.
  public func blocks(_ sql: String) async throws -> Int {
    let plan = try await query(sql: "EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF, FORMAT JSON) \(sql)")[0]
      .decode(String.self)
    let tops = try JSONSerialization.jsonObject(with: Data(plan.utf8)) as? [[String: Any]]
    guard let top = tops?.first?["Plan"] as? [String: Any] else { throw NoPlan(text: plan) }
    return ["Shared Hit Blocks", "Shared Read Blocks"].reduce(0) { $0 + (top[$1] as? Int ?? 0) }
  }
}

private struct NoPlan: Error {
  let text: String
}
