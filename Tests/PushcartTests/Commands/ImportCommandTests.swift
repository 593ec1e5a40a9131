import Foundation
import Support
import Testing
import Wire

@Suite struct ImportCommandTests {
  @Test func `A heading that is no field is refused with the options that say what it is`() async throws {
    try await withSendingBench { bench in
      let folder = try TemporaryDirectory(named: "import")
      defer { folder.remove() }
      let file = "\(folder.path)/contacts.csv"
      try "originalId,Colour\na,blue\n".write(toFile: file, atomically: true, encoding: .utf8)
      let pushcart = Pushcart(databaseURL: bench.database.connectionString, masterKey: bench.masterKey)
      let refused = try await pushcart.run(["import", file, "--customer", "\(bench.customer)"])
      #expect(refused.status == 1 && refused.output.contains("No field is called Colour."), "\(refused)")
      #expect(refused.output.contains("\nHere --map HEADING=FIELD says what a column is"), "\(refused)")
      let list = try await pushcart.run(["import", file, "--customer", "\(bench.customer)", "--mode", "replace"])
      #expect(list.errors.hasPrefix("Error: --list is missing, and so is --segment"), "\(list)")
    }
  }
}
