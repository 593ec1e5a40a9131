import Postgres
import Registry
import Support
import Testing
import Wire

@testable import DataInOut

@Suite struct ImportModeTests {
  /// Four rows: of somebody known, of somebody known by an address alone, of somebody new, and of nobody.
  private static let file = """
    originalId,emailAddress,mobileNumber,firstName
    a,LARS@example.com,+46 70 123 45 67,File
    ,mia@example.com,0046701234568,File
    n,new@example.com,0046701234569,File
    ,nobody@example.com,0046701234560,File

    """

  private static let known =
    [
      ("a", "Lars", "lars@Example.com", "0046701234567"), ("b", "Mia", "Mia@example.com", "+46 70 123 45 68"),
      ("c", "Eva", "eva@example.com", nil),
    ] as [(id: String, firstName: String?, email: String?, number: String?)]

  @Test(
    arguments: [ImportMode.upsert, .add, .update, .replace, .suppress],
    [ImportIdentity.originalId, .emailAddress, .mobileNumber])
  func `Each mode does its own with who is known and who is not`(mode: ImportMode, identity: ImportIdentity)
    async throws
  {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      try await bench.add(Self.known)
      let list = try await bench.list()
      try await database.query(
        """
        INSERT INTO list_member (customer_id, list_id, contact_id, added_at)
        SELECT customer_id, $2, contact_id, now() - interval '1 hour' FROM contact WHERE customer_id = $1 AND original_id = 'c'
        """, bench.customer.rawValue, list.rawValue)
      let request = ImportRequest(listId: mode == .suppress ? nil : list, mode: mode, identity: identity)
      var trial = request
      trial.dryRun = true
      let before = try await bench.contacts()
      let tried = try await bench.run(Self.file, trial)
      #expect(try await bench.contacts() == before)
      #expect(try await bench.members(list) == ["c"])
      #expect(try await database.query("SELECT 1 FROM suppression").isEmpty)
      let reply = try await bench.run(Self.file, request)
      #expect(reply.state == .finished)
      #expect(Counts(tried) == Counts(reply))
      #expect(tried.removed == reply.removed)
      #expect(Counts(reply).sum == 4)

      // By the original id, the rows without one are of nobody. By an address, the second is Mia's.
      let isByID = identity == .originalId
      let expected: Counts =
        switch mode {
        case .upsert, .replace:
          isByID ? Counts(added: 1, updated: 1, rejected: 2) : Counts(added: 1, updated: 2, rejected: 1)
        case .add: isByID ? Counts(added: 1, skipped: 1, rejected: 2) : Counts(added: 1, skipped: 2, rejected: 1)
        case .update: isByID ? Counts(updated: 1, skipped: 1, rejected: 2) : Counts(updated: 2, skipped: 2)
        case .suppress:
          switch identity {
          case .originalId: Counts(updated: 2, rejected: 2)
          case .emailAddress: Counts(updated: 3, rejected: 1)
          case .mobileNumber: Counts(updated: 4)
          }
        }
      #expect(Counts(reply) == expected)
      let people = try await bench.contacts()
      let mia = isByID ? "b Mia" : "b File"
      switch mode {
      case .upsert, .replace: #expect(people == ["a File", mia, "c Eva", "n File"])
      case .add: #expect(people == ["a Lars", "b Mia", "c Eva", "n File"])
      case .update: #expect(people == ["a File", mia, "c Eva"])
      case .suppress: #expect(people == ["a Lars", "b Mia", "c Eva"])
      }
      let members = try await bench.members(list)
      switch mode {
      case .upsert: #expect(members == (isByID ? ["a", "c", "n"] : ["a", "b", "c", "n"]))
      case .replace: #expect(members == (isByID ? ["a", "n"] : ["a", "b", "n"]))
      case .add: #expect(members == ["c", "n"])
      case .update: #expect(members == (isByID ? ["a", "c"] : ["a", "b", "c"]))
      case .suppress: #expect(members == ["c"])
      }
      #expect(reply.removed == (mode == .replace ? 1 : 0))
    }
  }

  @Test func `An address that several contacts have leads to none of them`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      try await bench.add([("a", "A", "twin@example.com", nil), ("b", "B", "TWIN@example.com", nil)])
      let reply = try await bench.run(
        "E-mail,firstName\ntwin@example.com,File\n", ImportRequest(identity: .emailAddress))
      #expect(Counts(reply) == Counts(rejected: 1))
      #expect(
        try await bench.rejects(reply.importId).hasSuffix(
          "2,E-mail,is that of several contacts,\"twin@example.com,File\"\r\n"))
      #expect(try await bench.contacts() == ["a A", "b B"])
    }
  }

  @Test func `A row whose address and original id are of two contacts is rejected`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      try await bench.add([("a", "A", "a@example.com", nil), ("b", "B", nil, nil)])
      let reply = try await bench.run(
        "originalId,emailAddress,firstName\nb,a@example.com,File\n", ImportRequest(identity: .emailAddress))
      #expect(Counts(reply) == Counts(rejected: 1))
      #expect(try await bench.contacts() == ["a A", "b B"])
    }
  }

  @Test func `Contacts join a list and a static segment, and stay on others`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      let (old, new, segment) = (
        try await bench.list("old"), try await bench.list("new"), try await bench.staticSegment()
      )
      _ = try await bench.run("originalId\na\nb\n", ImportRequest(listId: old))
      let reply = try await bench.run("originalId\na\nc\n", ImportRequest(listId: new, segmentId: segment))
      #expect(Counts(reply) == Counts(added: 1, updated: 1))
      #expect(try await bench.members(old) == ["a", "b"])
      #expect(try await bench.members(new) == ["a", "c"])
      #expect(
        try await database.query("SELECT 1 FROM segment_member WHERE segment_id = $1", segment.rawValue).count == 2)
      let again = try await bench.run("originalId\na\nc\n", ImportRequest(listId: new, segmentId: segment))
      #expect(Counts(again) == Counts(unchanged: 2))
    }
  }

  @Test func `Whom one row changes and another one does not joins the list`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      try await bench.add([("a", "Lars", "a@example.com", nil)])
      let list = try await bench.list()
      let reply = try await bench.run(
        "emailAddress,originalId,firstName\na@example.com,,File\n,a,\n",
        ImportRequest(listId: list, identity: .emailAddress))
      #expect(Counts(reply) == Counts(updated: 2))
      #expect(try await bench.contacts() == ["a File"])
      #expect(try await bench.members(list) == ["a"])
    }
  }

  @Test func `A segment that is removed meanwhile holds up no import`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      let segment = try await bench.staticSegment()
      let sent = try await bench.send(Array("originalId\na\n".utf8), ImportRequest(segmentId: segment))
      try await database.query("DELETE FROM segment WHERE segment_id = $1", segment.rawValue)
      #expect(Counts(try await bench.finish(sent.importId)) == Counts(added: 1))
      #expect(try await bench.contacts() == ["a"])
    }
  }

  @Test func `Replacing takes others off, in portions of any size`() async throws {
    try await withDatabase { database in
      for portion in [1, 3, 2000] {
        let bench = try await ImportBench(database, portion: Int64(portion))
        let list = try await bench.list()
        _ = try await bench.run("originalId\na\nb\nc\nd\n", ImportRequest(listId: list))
        let reply = try await bench.run("originalId\nb\ne\nd\nb\n", ImportRequest(listId: list, mode: .replace))
        #expect(Counts(reply) == Counts(added: 1, unchanged: 2, duplicates: 1))
        #expect(reply.removed == 2)
        #expect(try await bench.members(list) == ["b", "d", "e"])
      }
    }
  }

  @Test func `A heading alone empties a list only if that is meant`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      let list = try await bench.list()
      _ = try await bench.run("originalId\na\n", ImportRequest(listId: list))
      let refused = try await bench.run("originalId\n", ImportRequest(listId: list, mode: .replace))
      #expect(refused.state == .failed)
      #expect(try await bench.members(list) == ["a"])
      let meant = try await bench.run("originalId\n", ImportRequest(listId: list, mode: .replace, allowEmpty: true))
      #expect(meant.state == .finished)
      #expect(meant.removed == 1)
      #expect(try await bench.members(list) == [])
    }
  }

  @Test func `A file whose rows are all rejected empties no list, whatever is allowed`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      let list = try await bench.list()
      _ = try await bench.run("originalId\na\n", ImportRequest(listId: list))
      let reply = try await bench.run(
        "originalId,dateOfBirth\na,never\nb,never\n", ImportRequest(listId: list, mode: .replace, allowEmpty: true))
      #expect(reply.state == .failed)
      #expect(reply.error == "All rows of the file are rejected, so nobody was taken off.")
      #expect(try await bench.members(list) == ["a"])
    }
  }

  @Test func `Whose row is rejected stays on the list`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      let list = try await bench.list()
      _ = try await bench.run("originalId\na\nb\nc\n", ImportRequest(listId: list))
      let reply = try await bench.run(
        "originalId,dateOfBirth\na,never\nb,\n", ImportRequest(listId: list, mode: .replace))
      #expect(reply.removed == 1)
      #expect(try await bench.members(list) == ["a", "b"])
    }
  }

  @Test func `An import lifts no suppression`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      let suppressions = Suppressions(database.pool, key: .ofTests)
      _ = try await suppressions.add(bench.customer, .contact(originalID: "a"), .all, reason: "asked")
      let before = try await database.query("SELECT t::text FROM suppression t").map { try $0.decode(String.self) }
      _ = try await bench.run("originalId,firstName\na,Lars\n")
      #expect(
        try await database.query("SELECT t::text FROM suppression t").map { try $0.decode(String.self) } == before)
      let added = try await bench.run("originalId\na\nb\n", ImportRequest(mode: .suppress))
      #expect(Counts(added) == Counts(updated: 2))
      let found = try await suppressions.find(bench.customer, [.contact(originalID: "a")])
      #expect(Set(found.map(\.scope)) == [.all, .marketing])
      let again = try await bench.run("originalId\na\nb\n", ImportRequest(mode: .suppress))
      #expect(Counts(again) == Counts(unchanged: 2))
      #expect(try await bench.contacts() == ["a Lars"])
    }
  }
}
