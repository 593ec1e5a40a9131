package import Postgres
package import Wire

/// A store of things that a customer numbers and names, over one table whose columns have the names of the reply's fields.
///
/// A store says what its table is, what a new thing is like, and how a request becomes columns. Listing, finding, adding, changing and
/// removing come from that.
package protocol NumberedStore: Sendable {
  associatedtype Request: APIRequest
  associatedtype Reply: NumberedReply
  var database: any Querying { get }
  init(_ database: any Querying)
  static var table: NumberedTable { get }
  /// What becomes of its rows when a person is erased.
  static var erasure: PersonalTable.Erasure { get }
  /// Statements besides those of the table.
  static var queries: [Statement] { get }
  /// What a new thing has before its request says anything.
  static var initial: Request { get }
  /// What violated constraints mean, by their names, besides those of name and customer.
  static var constraints: [String: RegistryError] { get }
  /// What a new thing is by a request to add it.
  func completed(_ request: Request) throws -> Request
  /// What a thing becomes by a request to change it.
  func applied(_ request: Request, to before: Reply) throws -> Request
  /// Gives the value of each column by its name, and checks what is not in the field table: that has the limits of texts.
  func values(_ customer: CustomerID, _ thing: Request) async throws -> [String: any PostgresEncodable]
}

extension NumberedStore {
  package static var constraints: [String: RegistryError] { [:] }
  package static var queries: [Statement] { [] }
  /// Every statement of the store, so that a test can prepare each of them on a real server.
  package static var statements: [Statement] { table.all + queries }
  /// What the table holds of a person.
  package static var personalTable: PersonalTable { PersonalTable(table.name, erasure) }

  package func completed(_ request: Request) throws -> Request { try request.applied(to: Self.initial) }

  package func applied(_ request: Request, to before: Reply) throws -> Request { try request.applied(to: before) }

  /// Things in the order of their numbers. A page ends with 2 MiB of them.
  package func list(
    _ customer: CustomerID, _ page: PageRequest<Reply.Number>
  ) async throws -> Page<Reply, Reply.Number> {
    let rows = try await database.query(
      Self.table.list, customer.rawValue, page.after?.rawValue ?? 0, Int64(page.limit + 1))
    return page.page(of: try rows.map { (try $0.reply(Reply.self), try $0.isBeyondPage) }, cursor: \.number)
  }

  /// Reads everything that the customer has, in the order of numbers, a page at a time.
  package func forEach(_ customer: CustomerID, _ body: (Reply) async throws -> Void) async throws {
    var page = PageRequest<Reply.Number>(limit: PageRequest<Reply.Number>.limits.upperBound)
    repeat {
      let found = try await list(customer, page)
      for thing in found.items { try await body(thing) }
      page.after = found.next
    } while page.after != nil
  }

  /// - Throws: `RegistryError.numberUnknown`.
  package func find(_ customer: CustomerID, _ number: Reply.Number) async throws -> Reply {
    try await row(Self.table.find, customer, number)
  }

  /// - Throws: `RegistryError.nameTaken`, `.customerUnknown`; as `values`.
  package func add(_ customer: CustomerID, _ request: Request) async throws -> Reply {
    let rows = try await write(Self.table.add, customer, nil, try completed(request))
    return try rows[0].reply()
  }

  /// Changes a thing; fields that are absent stay as they are. The caller has to run it in a transaction, as it locks the row.
  /// - Throws: `RegistryError.numberUnknown`, `.nameTaken`; as `values`.
  package func change(
    _ customer: CustomerID, _ number: Reply.Number, _ request: Request
  ) async throws -> (before: Reply, after: Reply) {
    let before = try await row(Self.table.lock, customer, number)
    let rows = try await write(Self.table.change, customer, number, try applied(request, to: before))
    return (before, try rows.first?.reply() ?? before)
  }

  /// Removes a thing. Its name is free again, and its number is not given a second time.
  /// - Returns: what it was.
  /// - Throws: `RegistryError.numberUnknown`.
  package func remove(_ customer: CustomerID, _ number: Reply.Number) async throws -> Reply {
    try await row(Self.table.remove, customer, number)
  }

  /// Checks the texts that the field table limits: not empty, without control characters, no longer than it says.
  /// - Throws: `RegistryError.invalid`, naming the field.
  private func checkTexts(of thing: Request) throws {
    for property in Mirror(reflecting: thing).children {
      guard let field = property.label, let text = property.value as? String else { continue }
      let maximum = Request.fieldTable.maximum(of: field)
      if maximum < .max { _ = try TextRule(field, maximum: maximum).require(text) }
    }
  }

  private func row(_ statement: Statement, _ customer: CustomerID, _ number: Reply.Number) async throws -> Reply {
    guard let row = try await database.query(statement, customer.rawValue, number.rawValue).first else {
      throw RegistryError.numberUnknown(Reply.noun)
    }
    return try row.reply()
  }

  /// - Parameter number: `nil` for a thing that is added.
  private func write(
    _ statement: Statement, _ customer: CustomerID, _ number: Reply.Number?, _ thing: Request
  ) async throws -> Rows {
    let table = Self.table
    try checkTexts(of: thing)
    let values = try await values(customer, thing)
    precondition(values.count == table.columns.count, "\(table.name) has the columns \(table.columns)")
    var parameters = ParameterBuffer(customer.rawValue, number?.rawValue)
    for column in table.columns {
      guard let value = values[column] else { preconditionFailure("\(table.name).\(column) has no value") }
      parameters.append(value)
    }
    let common: [String: RegistryError] = [
      "\(table.name)_name_key": .nameTaken(Reply.noun),
      "\(table.name)_customer_id_fkey": .customerUnknown(customer),
    ]
    return try await database.mapViolations(common.merging(Self.constraints) { $1 }) { [parameters] in
      try await $0.run(statement, parameters)
    }
  }
}
