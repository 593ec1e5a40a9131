import Foundation
import Testing

@Suite struct NameTests {
  @Test func `No two rooms have a top-level type of the same name`() throws {
    let declaration =
      #/(?m)^(?:(?:public|package|internal|final|indirect|@\w+(?:\([^)]*\))?) +)*(?:struct|class|enum|actor|protocol) +(\w+)/#
    var places: [String: Set<String>] = [:]
    for file in House.swiftFiles(in: "Sources") {
      for type in try String(contentsOf: file, encoding: .utf8).matches(of: declaration) {
        places[String(type.1), default: []].insert(file.path)
      }
    }
    #expect(places.count > 100)
    for (name, files) in places where files.count > 1 { Issue.record("\(name) is declared in \(files.sorted())") }
  }
}
