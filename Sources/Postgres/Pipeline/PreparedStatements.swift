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
  /// The plans of each name, the oldest first. There are several where a statement's text, or its types, vary.
  private var named: [String: [Plan]] = [:]

  /// Most plans of one name: a text that clients can vary would else fill the server's memory.
  static let mostOfOneName = 32

  /// The plan for this call, if the connection has one or will have one by then.
  func plan(for statement: Statement, types: [UInt32]) -> Plan? {
    guard let known = plans[statement] else { return nil }
    for plan in known where plan.types == types { return plan }
    return nil
  }

  /// A new plan, taken as prepared from now on: whatever is sent after it will find it on the server.
  /// - Returns: the plan, and one that is to be deallocated to make room for it.
  mutating func add(_ statement: Statement, types: [UInt32]) -> (plan: Plan, surplus: Plan?) {
    let generation = generations[statement.name, default: 0] + 1
    generations[statement.name] = generation
    let name = generation == 1 ? statement.name : "\(statement.name)#\(generation)"
    let plan = Plan(name: name, statement: statement, types: types)
    plans[statement, default: []].append(plan)
    named[statement.name, default: []].append(plan)
    guard let oldest = named[statement.name]?.first, (named[statement.name]?.count ?? 0) > Self.mostOfOneName else {
      return (plan, nil)
    }
    remove(oldest)
    return (plan, oldest)
  }

  /// The server does not have this plan, or cannot use it any more.
  /// - Returns: `false` if it had been removed already.
  @discardableResult
  mutating func remove(_ plan: Plan) -> Bool {
    guard let at = plans[plan.statement]?.firstIndex(where: { $0 === plan }) else { return false }
    plans[plan.statement]?.remove(at: at)
    if plans[plan.statement]?.isEmpty == true { plans[plan.statement] = nil }
    named[plan.statement.name]?.removeAll { $0 === plan }
    return true
  }
}
