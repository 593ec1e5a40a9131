import Foundation

/// One reading of a table in a plan.
struct PlannedScan {
  let table: String
  /// As in `Index Scan`.
  let type: String
  /// All that it asks of a row; first what it looks up in an index, if it does.
  let conditions: [String]

  /// Whether it reads the rows of the customer `$1` alone, and says so itself. A customer_id that comes from another
  /// table's row names no shard to Citus.
  var isOfOneCustomer: Bool { conditions.flatMap(Self.demands).contains("(customer_id = $1)") }

  /// Every scan of a plan, as `EXPLAIN (FORMAT JSON)` gives it.
  static func all(in plan: String) throws -> [PlannedScan] {
    let tops = try JSONSerialization.jsonObject(with: Data(plan.utf8)) as? [[String: Any]]
    return (tops ?? []).compactMap { $0["Plan"] as? [String: Any] }.flatMap(scans)
  }

  private static func scans(_ node: [String: Any]) -> [PlannedScan] {
    var scans = (node["Plans"] as? [[String: Any]] ?? []).flatMap(Self.scans)
    if let table = node["Relation Name"] as? String, let type = node["Node Type"] as? String, type.hasSuffix("Scan") {
      let conditions = ["Index Cond", "Recheck Cond", "Filter"].compactMap { node[$0] as? String }
      scans.append(PlannedScan(table: table, type: type, conditions: conditions))
    }
    return scans
  }

  /// What a condition demands all of: the terms of `((a) AND (b))`, or the condition itself.
  private static func demands(_ condition: String) -> [String] {
    var terms: [String] = []
    var term = ""
    var depth = 0
    for character in condition.dropFirst().dropLast() {
      if character == "(" { depth += 1 }
      if character == ")" { depth -= 1 }
      term.append(character)
      if depth == 0, term.hasSuffix(" AND ") {
        terms.append(String(term.dropLast(5)))
        term = ""
      } else if depth == 0, term.hasSuffix(" OR ") {
        return [condition]
      }
    }
    return terms.isEmpty ? [condition] : terms + [term]
  }
}
