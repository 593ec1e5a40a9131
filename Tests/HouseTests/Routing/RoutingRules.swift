import Postgres
import Support

/// Why Citus would not send a statement to the one shard of its customer.
enum RoutingFault: String, Sendable {
  case mutableInCase = "CASE or COALESCE of an UPDATE calls a function that is not immutable"
  case stableOfColumn = "a STABLE function of an UPDATE is given a column"
  case volatileInChange = "an UPDATE or DELETE calls a volatile function"
  case mutableOnConflict = "DO UPDATE calls a function that is not immutable"
  case mutableReturned = "RETURNING calls a function that is not immutable"
  case unfencedMoments = "the planner may put what a subquery calls into the UPDATE it stands in (OFFSET 0 hinders it)"
  case subqueryInValues = "VALUES or DO UPDATE of an INSERT hold a subquery"
  case numberedRead = "a SELECT takes numbers of a sequence as it reads a table"
  case customerChanged = "an UPDATE sets customer_id"
  case simpleCase = "CASE x WHEN y: Citus writes it for the shard as a comparison with a boolean (use CASE WHEN x = y)"
  case wholeRow = "a row as a whole, which a shard cannot cast"
  case rowPlace = "an UPDATE or DELETE looks for rows by their place (ctid)"
  case customerNotGiven = "an INSERT takes customer_id from elsewhere than $1 or a table's customer_id"
}

/// What Citus demands of statements that change a table distributed by customer_id. The rules are those of its
/// `ModifyPartialQuerySupported` and `ErrorIfOnConflictNotSupported` (multi_router_planner.c), held against the parsed
/// statement.
///
/// Statements that write through INSERT in a WITH, as `device.register` and `open.record`, pass. Citus plans their
/// parts one after the other, each for the customer's shard, and carries rows between them. That costs time only.
struct RoutingRules: Sendable {
  /// How functions are marked (`i`, `s`, `v`), by number.
  private let functions: [String: String]
  /// How the functions are marked that read and write a type's text, by the type's number.
  private let types: [String: String]
  /// Numbers of the tables that are distributed.
  private let distributed: Set<String>

  init(_ database: TestDatabase) async throws {
    functions = try await Self.pairs("SELECT oid::text, provolatile::text FROM pg_proc", database)
    types = try await Self.pairs(
      """
      SELECT t.oid::text, (SELECT max(provolatile::text) FROM pg_proc WHERE oid IN (t.typinput, t.typoutput))
      FROM pg_type t
      """, database)
    let tenants = try await Schema.tenantTables(database)
    let tables = try await Self.pairs(
      "SELECT oid::text, relname::text FROM pg_class WHERE relkind IN ('r', 'p')", database)
    distributed = Set(tables.filter { tenants.contains($0.value) }.keys)
  }

  private static func pairs(_ sql: String, _ database: TestDatabase) async throws -> [String: String] {
    let pairs = try await database.query(sql).map { try $0.decode(String.self, String.self) }
    return Dictionary(uniqueKeysWithValues: pairs)
  }

  /// Every fault of a statement but of which rows it reads: that is for its plan to show (`PlannedScan`).
  func faults(in statement: ParseNode) -> Set<RoutingFault> {
    var faults: Set<RoutingFault> = []
    for node in statement.everything() {
      if ["CASEEXPR", "CASE"].contains(node.kind), node.has("arg") { faults.insert(.simpleCase) }
    }
    for query in statement.everything() where query.kind == "QUERY" {
      if [query["targetList"], query["returningList"]].contains(where: Self.holdsWholeRow) { faults.insert(.wholeRow) }
      guard let command = Command(rawValue: query.number("commandType")) else { continue }
      if command == .select {
        if takesNumbers(query["targetList"]), query["rtable"].map(reads) == true { faults.insert(.numberedRead) }
        continue
      }
      guard distributed.contains(Self.table(query.number("resultRelation"), query)?.word("relid") ?? "") else {
        continue
      }
      if has(query["returningList"], \.isMutable) { faults.insert(.mutableReturned) }
      switch command {
      case .insert: faults.formUnion(faultsOfInsert(query))
      default: faults.formUnion(faultsOfChange(query, sets: command == .update))
      }
    }
    return faults
  }

  private func faultsOfChange(_ query: ParseNode, sets: Bool) -> Set<RoutingFault> {
    var faults: Set<RoutingFault> = []
    if query.everything().contains(where: { volatility(of: $0) == .volatile }) { faults.insert(.volatileInChange) }
    if let quals = query["jointree"]?["quals"],
      quals.everything().contains(where: { $0.kind == "VAR" && $0.word("varattno") == "-1" })
    {
      faults.insert(.rowPlace)
    }
    let targets = sets ? query.items("targetList").filter { $0.word("resjunk") != "true" } : []
    if targets.contains(where: { $0.word("resname") == "customer_id" }) { faults.insert(.customerChanged) }
    for expression in targets + [query["jointree"]?["quals"]].compactMap({ $0 }) {
      for node in expression.everything(where: { $0.kind != "QUERY" }) {
        if ["CASEEXPR", "COALESCEEXPR", "CASE", "COALESCE"].contains(node.kind), has(node, \.isMutable) {
          faults.insert(.mutableInCase)
        }
        let isOfColumn = node.everything(where: { $0.kind != "QUERY" }).contains { $0.kind == "VAR" }
        if volatility(of: node) == .stable, isOfColumn { faults.insert(.stableOfColumn) }
      }
    }
    let subqueries = query.items("rtable").compactMap { $0["subquery"] }.filter { $0.kind == "QUERY" }
    if subqueries.contains(where: { has($0["targetList"], \.isMutable) && !Self.isFenced($0) }) {
      faults.insert(.unfencedMoments)
    }
    return faults
  }

  private func faultsOfInsert(_ query: ParseNode) -> Set<RoutingFault> {
    var faults: Set<RoutingFault> = []
    if query.word("hasSubLinks") == "true" { faults.insert(.subqueryInValues) }
    if let conflict = query["onConflict"], conflict.kind != nil {
      let parts = [conflict["onConflictSet"], conflict["onConflictWhere"], conflict["arbiterWhere"]]
      if parts.contains(where: { has($0, \.isMutable) }) { faults.insert(.mutableOnConflict) }
      if conflict.items("onConflictSet").contains(where: { $0.word("resname") == "customer_id" }) {
        faults.insert(.customerChanged)
      }
    }
    let customer = query.items("targetList").first { $0.word("resname") == "customer_id" }
    if !Self.isCustomer(customer?["expr"], in: query) { faults.insert(.customerNotGiven) }
    return faults
  }

  // MARK: Looking at a query

  private enum Command: Int { case select = 1, update, insert, delete }

  private static func table(_ number: Int, _ query: ParseNode) -> ParseNode? {
    let tables = query.items("rtable")
    return tables.indices.contains(number - 1) ? tables[number - 1] : nil
  }

  /// Whether it is `$1`, or the first column of a table, by way of subqueries or not.
  private static func isCustomer(_ expression: ParseNode?, in query: ParseNode) -> Bool {
    guard let expression else { return false }
    if expression.kind == "PARAM" { return expression.number("paramid") == 1 }
    guard expression.kind == "VAR", let table = table(expression.number("varno"), query) else { return false }
    guard let subquery = table["subquery"], subquery.kind == "QUERY" else {
      return expression.number("varattno") == 1 && table.word("rtekind") == "0"
    }
    let column = subquery.items("targetList").first { $0.number("resno") == expression.number("varattno") }
    return isCustomer(column?["expr"], in: subquery)
  }

  /// Whether the planner leaves a subquery where it stands (PostgreSQL's `is_simple_subquery`).
  private static func isFenced(_ query: ParseNode) -> Bool {
    ["sortClause", "limitOffset", "limitCount", "groupClause", "distinctClause"].contains(where: query.has)
      || query.word("hasAggs") == "true"
  }

  /// PostgreSQL writes a row as a whole with a cast where it is a column, and as `one.*` where it is a function's argument. The row of a
  /// subquery has the columns that the subquery names on every shard, so functions may take it.
  private static func holdsWholeRow(_ node: ParseNode?) -> Bool {
    guard let node, node.kind != "QUERY" else { return false }
    if node.kind == "VAR" { return node.word("varattno") == "0" }
    let parts = node.kind == "FUNCEXPR" ? node.items("args").filter { !isRowOfSubquery($0) } : node.children
    return parts.contains(where: holdsWholeRow)
  }

  private static func isRowOfSubquery(_ node: ParseNode) -> Bool {
    node.kind == "VAR" && node.word("varattno") == "0" && node.word("vartype") == record
  }
  /// The number of the type `record` in every PostgreSQL.
  private static let record = "2249"

  private func reads(_ tables: ParseNode) -> Bool {
    tables.everything().contains { $0.kind == "RANGETBLENTRY" && distributed.contains($0.word("relid")) }
  }

  // MARK: Looking at functions

  private func takesNumbers(_ node: ParseNode?) -> Bool {
    node?.everything(where: { $0.kind != "QUERY" }).contains { $0.word("funcid") == Self.nextval } ?? false
  }
  /// Its number in every PostgreSQL.
  private static let nextval = "1574"

  private enum Volatility: Int {
    case immutable, stable, volatile
    var isMutable: Bool { self != .immutable }

    init(_ letter: String?) { self = letter == "v" ? .volatile : letter == "s" ? .stable : .immutable }
  }

  private func has(_ node: ParseNode?, _ test: (Volatility) -> Bool) -> Bool {
    node?.everything().contains { test(volatility(of: $0)) } ?? false
  }

  /// What a node itself calls, whatever stands below it.
  private func volatility(of node: ParseNode) -> Volatility {
    switch node.kind {
    case "NEXTVALUEEXPR": .volatile
    case "SQLVALUEFUNCTION": .stable
    case "COERCEVIAIO":
      [node.word("resulttype"), Self.type(of: node["arg"])].map { Volatility(types[$0]) }
        .max { $0.rawValue < $1.rawValue } ?? .immutable
    default:
      ["funcid", "opfuncid", "aggfnoid", "winfnoid", "elemfuncid"].map { Volatility(functions[node.word($0)]) }
        .max { $0.rawValue < $1.rawValue } ?? .immutable
    }
  }

  private static func type(of node: ParseNode?) -> String {
    ["vartype", "paramtype", "consttype", "funcresulttype", "opresulttype", "resulttype"]
      .compactMap { node?.word($0) }.first { !$0.isEmpty } ?? ""
  }
}
