/// A statement as one connection knows it: prepared under a name, for certain types of parameters.
final class Plan {
  let name: String
  let statement: Statement
  let types: [UInt32]
  /// Records its runs; the driver sets it when it prepares.
  var meter: StatementMeter?

  fileprivate init(name: String, statement: Statement, types: [UInt32]) {
    self.name = name
    self.statement = statement
    self.types = types
  }
}

/// Which plans one connection has.
struct PreparedStatements {
  private var plans: [Statement: [Plan]] = [:]
  /// How many plans each name was given to. A name is never used twice on one connection, since the server may still have
  /// the plan that was removed here.
  private var generations: [String: Int] = [:]

  /// The plan for this call, if the connection has one or will have one by then.
  func plan(for statement: Statement, types: [UInt32]) -> Plan? {
    guard let known = plans[statement] else { return nil }
    for plan in known where plan.types == types { return plan }
    return nil
  }

  /// A new plan, taken as prepared from now on: whatever is sent after it will find it on the server.
  mutating func add(_ statement: Statement, types: [UInt32]) -> Plan {
    let generation = generations[statement.name, default: 0] + 1
    generations[statement.name] = generation
    let name = generation == 1 ? statement.name : "\(statement.name)#\(generation)"
    let plan = Plan(name: name, statement: statement, types: types)
    plans[statement, default: []].append(plan)
    return plan
  }

  /// The server does not have this plan, or cannot use it any more.
  /// - Returns: `false` if it had been removed already.
  @discardableResult
  mutating func remove(_ plan: Plan) -> Bool {
    guard let at = plans[plan.statement]?.firstIndex(where: { $0 === plan }) else { return false }
    plans[plan.statement]?.remove(at: at)
    return true
  }
}
