import Foundation
import Testing

@Suite struct ReadmeTests {
  @Test func `README names every package that the manifest depends on, and no other`() throws {
    let manifest = try House.text("Package.swift")
    let packages = Set(manifest.matches(of: #/\.package\(url: "https:\/\/[^"]*\/([\w-]+)"/#).map { String($0.1) })
    let readme = try House.text("README.md")
    let table = try #require(readme.firstMatch(of: #/\| Package \| Why \|\n(?:\|.*\|\n)*/#)).output
    let rows = table.split(separator: "\n").dropFirst(2).compactMap { $0.split(separator: "|").first }
    let named = rows.flatMap { row in
      let names = row.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
      return names.map { $0.hasPrefix("-") ? names[0] + $0 : $0 }
    }
    #expect(Set(named).subtracting(["libpq", "libnghttp2", "libmaxminddb", "libxml2", "uap-core"]) == packages)
  }

  @Test(arguments: ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"])
  func `Every link of the documentation leads to a file`(document: String) throws {
    let links = try House.text(document).matches(of: #/\]\(([^)#:]+)(?:#[^)]*)?\)/#).map { String($0.1) }
    for link in links {
      #expect(FileManager.default.fileExists(atPath: House.root.appending(path: link).path), "\(link)")
    }
  }

  @Test func `ARCHITECTURE names only source files that exist`() throws {
    let named = Set(
      try House.text("ARCHITECTURE.md").matches(of: #/`(?:[\w\/]*\/)?([\w+]+\.swift)`/#).map { String($0.1) })
    let files = Set(House.swiftFiles(in: "Sources").map(\.lastPathComponent)).union(["Package.swift"])
    #expect(named.count > 30)
    #expect(named.subtracting(files) == [])
  }

  @Test func `Every make target that README names exists`() throws {
    let targets = Set(try House.text("Makefile").matches(of: #/(?m)^([a-z]+):/#).map { String($0.1) })
    let named = try House.text("README.md").matches(of: #/(?:`|\n)make ([a-z]+)/#).map { String($0.1) }
    #expect(named.count >= 4)
    #expect(Set(named).isSubset(of: targets), "\(named)")
  }
}
