/// Which statements one connection knows, and under what names.
struct PreparedStatements {
  /// A statement prepared for certain parameter types.
  struct Plan: Hashable, Sendable {
    let name: String
    fileprivate let types: [UInt32]
    fileprivate let statement: Statement
  }

  private var plans: [Statement: [Plan]] = [:]
  /// How many plans each name was given to: a name is never used twice on one connection, since the server may still
  /// know the one that was forgotten here.
  private var generations: [String: Int] = [:]

  /// The plan for this call, if the connection knows one or is about to.
  func plan(for statement: Statement, types: [UInt32]) -> Plan? {
    guard let known = plans[statement] else { return nil }
    return known.first { $0.types == types }
  }

  /// A new plan, taken as known from now on: what is sent after it finds it on the server.
  mutating func add(_ statement: Statement, types: [UInt32]) -> Plan {
    let generation = generations[statement.name, default: 0] + 1
    generations[statement.name] = generation
    let name = generation == 1 ? statement.name : "\(statement.name)#\(generation)"
    let plan = Plan(name: name, types: types, statement: statement)
    plans[statement, default: []].append(plan)
    return plan
  }

  /// The server does not know this plan, or can use it no more.
  mutating func forget(_ plan: Plan) {
    plans[plan.statement]?.removeAll { $0 == plan }
  }
}
