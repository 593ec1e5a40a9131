import Audience
import HTTPTypes
import Operations
import Postgres
import Registry
import Sendouts
import Support
import Testing
import Wire

@testable import Web

@Suite struct RoleTests {
  private static let tags = Dictionary(grouping: ManagementOperations.all) { $0.description.tag.name }

  /// By tag: who reads and who changes, besides owners.
  @Test(
    arguments: [
      ("Keys", [.operator], [.operator]), ("Users", [], []), ("Apps", [.marketer, .operator], [.operator]),
      ("Contacts", [.marketer, .analyst], [.marketer]), ("Messages", [.marketer, .analyst], [.marketer]),
      ("Lists", [.marketer, .analyst], [.marketer]),
      ("Suppressions", [.marketer, .analyst], [.marketer]), ("Templates", [.marketer, .analyst], [.marketer]),
      ("Sendouts", [.marketer, .analyst, .operator], [.marketer]), ("Triggers", [.marketer, .analyst], [.marketer]),
      ("Hybrid phones", [.operator], [.operator]), ("Data trees", [.operator], [.operator]),
      ("SMS", [.operator], [.operator]), ("Reports", [.marketer, .analyst, .operator], []),
    ] as [(String, Set<Role>, Set<Role>)])
  func `Each role does its own work, and nothing else`(tag: String, readers: Set<Role>, editors: Set<Role>) throws {
    for operation in try #require(Self.tags[tag]) where operation.description.id != "showCustomer" {
      let expected = operation.isReading ? readers : editors
      #expect(operation.roles == expected.union([.owner]), "\(operation.description.id)")
    }
  }

  @Test func `An owner may do everything, an analyst changes nothing, and every role reads the customer`() {
    for operation in ManagementOperations.all {
      #expect(operation.isOpen(to: .owner, seesPersonal: true), "\(operation.description.id)")
      if !operation.isReading {
        #expect(!operation.isOpen(to: .analyst, seesPersonal: true), "\(operation.description.id)")
      }
    }
    #expect(AnyOperation(CustomerOperations.show).roles == Set(Role.allCases))
  }

  @Test func `Personal fields are for those who may see them`() {
    let why = AnyOperation(SendoutOperations.why)
    #expect(why.isOpen(to: .analyst, seesPersonal: true) && !why.isOpen(to: .analyst, seesPersonal: false))
    #expect(AnyOperation(SendoutOperations.list).isOpen(to: .analyst, seesPersonal: false))
  }

  @Test func `The timeline of a contact is refused without personal fields, and other reports are not`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let call = OperationCall(reading: .of(database), of: customer, seesPersonal: false)
      _ = try await ReportOperations.show.run(call, ((("devices", nil), nil), nil), ())
      await #expect(throws: HTTPErrorResponse.personalRefused) {
        try await ReportOperations.show.run(call, ((("timeline", nil), "lars@example.com"), nil), ())
      }
    }
  }

  @Test func `Whoever does not see a personal field learns it by no filter, segment or audience`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let blind = OperationCall(reading: .of(database), of: customer, seesPersonal: false)
      let seeing = OperationCall(reading: .of(database), of: customer)
      let shown: Set<FilterField> = [.createdAt, .updatedAt]
      for field in FilterField.ofContacts + [.property("colour")] {
        let asked = Filter.not(.or([.compare(field, .isSet), .everyone]))
        let segment = try await Segments(database.pool).add(
          customer, SegmentRequest(name: field.name, filter: asked)
        ).segmentId
        for filter in [asked, .and([.everyone, .segment(.number(segment.rawValue))])] {
          let count = SegmentCountRequest(filter: filter)
          let audiences: [Audience] = [.filter(filter), .excluding(.originalIds(["lars"]), filter)]
          if shown.contains(field) {
            #expect(try await SegmentOperations.count.run(blind, (), count).contacts == 0, "\(field.name)")
            for audience in audiences {
              await #expect(throws: RegistryError.self, "\(field.name)") {
                try await SendoutOperations.audience.run(
                  blind, (), AudienceRequest(appId: "com.acme.app", audience: audience))
              }
            }
            continue
          }
          #expect(try await SegmentOperations.count.run(seeing, (), count).contacts == 0, "\(field.name)")
          let refused = HTTPErrorResponse.personalFilterRefused
          await #expect(throws: refused, "\(field.name)") { try await SegmentOperations.count.run(blind, (), count) }
          await #expect(throws: refused, "\(field.name)") {
            try await SegmentOperations.search.run(blind, (), ContactSearchRequest(filter: filter))
          }
          await #expect(throws: refused, "\(field.name)") {
            try await SegmentOperations.explain.run(
              blind, (), SegmentExplainRequest(filter: filter, originalId: "lars"))
          }
          for audience in audiences {
            await #expect(throws: refused, "\(field.name)") {
              try await SendoutOperations.audience.run(
                blind, (), AudienceRequest(appId: "com.acme.app", audience: audience))
            }
          }
        }
        let page = PageRequest<ContactID>(limit: 10)
        if shown.contains(field) {
          _ = try await SegmentOperations.contacts.run(blind, (segment, page), ())
        } else {
          await #expect(throws: HTTPErrorResponse.personalFilterRefused, "\(field.name)") {
            try await SegmentOperations.contacts.run(blind, (segment, page), ())
          }
        }
      }
      // Devices and lists are no personal fields.
      let device = Filter.device(.compare(.device(.country), .isSet))
      #expect(
        try await SegmentOperations.count.run(blind, (), SegmentCountRequest(filter: device)).contacts == 0)
    }
  }

  @Test func `Every operation that takes a filter or an audience refuses personal ones to whoever does not see them`()
    async throws
  {
    try await withDatabase { database in
      let customer = try await database.customer()
      let blind = OperationCall(reading: .of(database), of: customer, seesPersonal: false)
      let asked = Filter.or([.compare(.contact(.city), .isSet), .compare(.createdAt, .isSet)])
      let segment = try await Segments(database.pool).add(customer, SegmentRequest(name: "Towns", filter: asked))
      let filters = [asked.tree, .string(asked.text), ["segment": .integer(segment.segmentId.rawValue)]]
      let audiences: [JSONValue] =
        filters.flatMap { [["filter": $0], ["all": true, "exclude": $0]] as [JSONValue] }
        + [["segmentId": .integer(segment.segmentId.rawValue)]]
      var found: Set<String> = []
      for operation in ManagementOperations.all {
        let requests = operation.requests(asking: filters, audiences)
        for (values, body) in requests {
          let work = try operation.prepare(values, body?.json ?? [])
          let id = operation.description.id
          await #expect(throws: HTTPErrorResponse.personalFilterRefused, "\(id) \(body?.written ?? "")") {
            _ = try await work(blind)
          }
        }
        if !requests.isEmpty { found.insert(operation.description.id) }
      }
      #expect(
        found.isSuperset(of: ["listContacts", "addSegment", "countSegment", "countAudience", "addSendout"]),
        "\(found.sorted())")
    }
  }

  @Test func `A change by a user is noted with them, and rolled back if their role does not allow it`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let users = Users(database.pool, isOperator: true)
      let marketer = try await users.add(customer, UserRequest(email: "mia@example.com", role: .marketer)).userId
      let analyst = try await users.add(customer, UserRequest(email: "lars@example.com", role: .analyst)).userId
      func addList(_ name: String, by user: UserID) async throws {
        _ = try await database.pool.transaction { transaction in
          let change = ManagementChange(transaction, customer: customer, actor: .user(user, address: "203.0.113.7"))
          return try await ListOperations.add.run(
            OperationCall(change, .of(database)), (), ListRequest(name: name))
        }
      }
      try await addList("news", by: marketer)
      await #expect(throws: RegistryError.roleRefused) { try await addList("offers", by: analyst) }
      #expect(try await ContactLists(database.pool).all(customer).map(\.name) == ["news"])
      let lines = try await AuditLog(database.pool).list(customer).items
      #expect(lines.map(\.userId) == [marketer] && lines.map(\.userEmail) == ["mia@example.com"])
    }
  }

  @Test func `An owner neither demotes, disables, resets nor removes themselves`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let users = Users(database.pool, isOperator: true)
      let owner = try await users.add(customer, UserRequest(email: "mia@example.com", role: .owner)).userId
      func attempt(_ body: @Sendable (OperationCall) async throws -> UserReply) async throws {
        _ = try await database.pool.transaction { transaction in
          let change = ManagementChange(transaction, customer: customer, actor: .user(owner, address: nil))
          return try await body(OperationCall(change, .of(database)))
        }
      }
      let conflict = "You cannot change your own role"
      for body in [
        { try await UserOperations.change.run($0, owner, UserRequest(role: .analyst)) },
        { try await UserOperations.change.run($0, owner, UserRequest(disabled: true)) },
        { try await UserOperations.reset.run($0, owner, ()) }, { try await UserOperations.remove.run($0, owner, ()) },
      ] as [@Sendable (OperationCall) async throws -> UserReply] {
        let error = await #expect(throws: HTTPErrorResponse.self) { try await attempt(body) }
        #expect(error?.sentence.hasPrefix(conflict) == true)
      }
      try await attempt { try await UserOperations.change.run($0, owner, UserRequest(name: "Mia J.")) }
      #expect(try await users.find(customer, owner).name == "Mia J.")
    }
  }
}

extension OperationParts {
  /// For operations that ask nobody over the network.
  fileprivate static func of(_ database: TestDatabase) -> OperationParts {
    OperationParts(
      database: database.pool, slowReads: database.pool, vault: nil, smsRule: EndpointRules().sms,
      webhookRule: EndpointRules().webhook,
      statusAddresses: { _ in throw HTTPErrorResponse.unavailable }, suppressionKey: { _ in .ofTests },
      checkCredentials: { _ in nil },
      messages: { throw HTTPErrorResponse.unavailable })
  }
}

extension AnyOperation {
  /// Its examples, with each of these in turn where its description has a filter or an audience.
  fileprivate func requests(
    asking filters: [JSONValue], _ audiences: [JSONValue]
  ) -> [(RequestValues, JSONValue?)] {
    let path = description.parameters.filter { $0.location == .path }.map {
      ($0.name, $0.example.text ?? $0.example.written)
    }
    func values(_ query: [String: String] = [:]) -> RequestValues {
      RequestValues(path: Dictionary(uniqueKeysWithValues: path), query: QueryParameters(query))
    }
    let queries = description.parameters.filter { $0.location == .query && $0.name == "filter" }.flatMap { _ in
      filters.map { (values(["filter": $0.text ?? $0.written]), nil as JSONValue?) }
    }
    guard let content = description.requestBody, let example = content.examples.first else { return queries }
    return queries
      + example.replacing(filters, audiences, by: content.schema).map { (values(), $0) }
  }
}

extension JSONValue {
  /// This, as the schema describes it, with each of these in turn in place of every filter and audience.
  fileprivate func replacing(_ filters: [JSONValue], _ audiences: [JSONValue], by schema: Schema) -> [JSONValue] {
    switch schema.name {
    case Filter.schema.name: return filters
    case Audience.schema.name: return audiences
    default:
      guard case .object(let fields, _, _) = schema.shape else { return [] }
      var members: [UTF8String: JSONValue] = [:]
      if case .object(let own) = self { members = own }
      return fields.flatMap { field in
        let name = UTF8String(field.name)
        return (members[name] ?? .object([:])).replacing(filters, audiences, by: field.schema).map { part in
          JSONValue.object(members.merging([name: part]) { $1 })
        }
      }
    }
  }
}
