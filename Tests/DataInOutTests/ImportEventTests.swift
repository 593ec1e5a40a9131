import Postgres
import Registry
import Support
import Testing
import Wire

@testable import DataInOut

@Suite struct ImportEventTests {
  @Test func `The end of an import is told, whether it is finished or has failed`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database, limits: .init(rows: 3))
      try await database.addWebhook(bench.customer)
      let finished = try await bench.run("originalId\na\nb\nc\n")
      #expect(finished.state == .finished)
      #expect(try await database.noted(bench.customer) == ["import.finished finished"])
      let subject = try await database.query("SELECT subject_id FROM webhook_event")[0].decode(Int64.self)
      #expect(subject == finished.importId.rawValue)
      #expect(try await bench.run("originalId\nd\ne\nf\ng\nh\n").state == .failed)
      #expect(try await database.noted(bench.customer) == ["import.finished finished", "import.finished failed"])
    }
  }

  @Test func `Contacts whose fields a file changes are told, and neither new ones nor those that stay as they are`()
    async throws
  {
    try await withDatabase { database in
      let bench = try await ImportBench(database, portion: 2)
      try await database.addWebhook(bench.customer, [.contactUpdated])
      _ = try await bench.run("originalId,firstName\na,Lars\nb,Mia\nc,Eva\n")
      #expect(try await database.noted(bench.customer) == [])
      let file = "originalId,firstName\na,Lars\nb,Maria\nc,Ewa\nd,Noah\nb,Marie\n"
      _ = try await bench.run(file, ImportRequest(dryRun: true))
      #expect(try await database.noted(bench.customer) == [])
      _ = try await bench.run(file, ImportRequest(listId: try await bench.list()))
      #expect(try await database.noted(bench.customer).sorted() == ["contact.updated b", "contact.updated c"])
      _ = try await bench.run(file)
      #expect(try await database.noted(bench.customer).count == 2)
    }
  }

  @Test func `Suppressions that a file brings are told, each once, with the contact if there is one`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database, portion: 2)
      _ = try await bench.run("originalId,mobileNumber\na,+46701234567\nb,+46701234568\nc,+46701234569\n")
      let suppressions = Suppressions(database.pool, key: .ofTests)
      _ = try await suppressions.add(bench.customer, .contact(originalID: "a"), .marketing, byPage: true)
      _ = try await suppressions.add(bench.customer, .contact(originalID: "b"), .all)
      try await database.addWebhook(bench.customer, [.contactSuppressed])
      let file = "originalId\na\nb\nnobody\n"
      _ = try await bench.run(file, ImportRequest(mode: .suppress, dryRun: true))
      #expect(try await database.noted(bench.customer) == [])
      for _ in 1...2 { _ = try await bench.run(file, ImportRequest(mode: .suppress)) }
      // That of the first one was in force, and is the customer's own from now on.
      #expect(
        try await database.noted(bench.customer).sorted() == [
          "contact.suppressed b marketing", "contact.suppressed marketing",
        ])
      // The contact is suppressed, and so is its number.
      _ = try await bench.run("mobileNumber\n+46701234569\n", ImportRequest(mode: .suppress, identity: .mobileNumber))
      #expect(
        try await database.noted(bench.customer).suffix(2) == [
          "contact.suppressed c marketing", "contact.suppressed c marketing",
        ])
      let rows = try await database.query("SELECT count(DISTINCT subject_id), count(*) FROM webhook_event")
      #expect(try rows[0].decode(Int.self, Int.self) == (4, 4))
    }
  }
}
