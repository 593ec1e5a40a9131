import Postgres
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
}
