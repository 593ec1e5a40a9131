import Foundation
import Testing

@Suite struct ImportTests {
  @Test(arguments: House.mayImport.map { $0 })
  func `A room imports only rooms below it`(room: String, mayImport: Set<String>) throws {
    let files = House.swiftFiles(in: "Sources/\(room)")
    if !House.systemLibraries.contains(room) { #expect(!files.isEmpty) }
    for file in files {
      let neighbours = try House.imports(of: file).intersection(House.rooms).subtracting(mayImport)
      #expect(neighbours.isEmpty, "\(file.lastPathComponent) imports \(neighbours.sorted())")
    }
  }

  @Test func `The manifest lists each room's imports as the table does`() throws {
    let manifest = try House.text("Package.swift")
    for (room, mayImport) in House.mayImport where !House.systemLibraries.contains(room) {
      let declaration = try #require(
        try Regex(
          "(?:room|executableTarget|\\.target)\\(\\s*(?:name: )?\"\(room)\",\\s*(?:imports|dependencies):[^\\]]*\\]"
        )
        .firstMatch(in: manifest), "\(room) is not in the manifest")
      let named = Set(manifest[declaration.range].matches(of: #/"(\w+)"/#).map { String($0.1) }).subtracting([room])
      #expect(named == mayImport, "\(room)")
    }
  }

  @Test func `Every folder of Sources is a room of the table or the workshop`() throws {
    let folders = try FileManager.default.contentsOfDirectory(atPath: House.root.appending(path: "Sources").path)
    #expect(Set(folders) == Set(House.rooms).union(House.workshop))
  }

  @Test func `ARCHITECTURE's picture names every room`() throws {
    let picture = try #require(try House.text("ARCHITECTURE.md").firstMatch(of: #/(?s)```\n(.*?)```/#)).1
    for room in House.rooms { #expect(picture.contains(room), "\(room)") }
  }

  @Test func `No source file imports a module of the tests`() throws {
    for file in House.swiftFiles(in: "Sources") {
      #expect(try House.imports(of: file).isDisjoint(with: ["Support", "Testing", "XCTest"]), "\(file.path)")
    }
  }

  @Test func `Only Web, Simulator and Pushcart import Hummingbird`() throws {
    for file in House.swiftFiles(in: "Sources") where try House.imports(of: file).contains("Hummingbird") {
      #expect(["/Sources/Web/", "/Sources/Simulator/", "/Sources/Pushcart/"].contains { file.path.contains($0) })
    }
  }
}
