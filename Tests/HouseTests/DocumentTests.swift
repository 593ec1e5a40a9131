import Foundation
import Testing
import Wire

@testable import Pushcart

/// What the documents say of files, commands and each other.
@Suite struct DocumentTests {
  @Test func `Pages that come from the hub's tables are as make docs writes them`() throws {
    for document in try Document.all() {
      let page = try House.text("docs/\(document.name)")
      #expect(page == document.text, "docs/\(document.name) is outdated: run make docs")
    }
  }

  @Test func `README and ARCHITECTURE have at most 160 lines`() throws {
    for document in ["README.md", "ARCHITECTURE.md"] {
      #expect(
        try House.text(document).split(separator: "\n", omittingEmptySubsequences: false).count <= 161, "\(document)")
    }
  }

  @Test(arguments: documents)
  func `Every link between documents leads to a file and a heading`(document: String) throws {
    let page = Page(try House.text(document))
    let folder = House.root.appending(path: document).deletingLastPathComponent()
    for link in page.links {
      let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      let target =
        parts[0].isEmpty ? House.root.appending(path: document) : folder.appending(path: parts[0]).standardized
      #expect(FileManager.default.fileExists(atPath: target.path), "\(document) links to \(link)")
      guard parts.count == 2, target.pathExtension == "md" else { continue }
      let headings = Page(try String(contentsOf: target, encoding: .utf8)).anchors
      #expect(headings.contains(parts[1]), "\(document) links to \(link)")
    }
  }

  @Test func `Every document of docs can be reached from README`() throws {
    var reached: Set<String> = []
    var waiting = ["README.md"]
    while let document = waiting.popLast() {
      guard reached.insert(document).inserted else { continue }
      let folder = House.root.appending(path: document).deletingLastPathComponent()
      for link in Page(try House.text(document)).links {
        let path = folder.appending(path: String(link.prefix { $0 != "#" })).standardized.path
        if path.hasSuffix(".md") { waiting.append(String(path.trimmingPrefix(House.root.path).drop { $0 == "/" })) }
      }
    }
    #expect(Set(Self.documents).subtracting(reached) == [])
  }

  @Test(arguments: documents)
  func `Documents name only source files that exist`(document: String) throws {
    let named = Set(Page(try House.text(document)).code.map(\.fileName).filter { $0.hasSuffix(".swift") })
    #expect(named.subtracting(Self.sourceFiles) == [], "\(document)")
  }

  @Test func `ARCHITECTURE, CONTRIBUTING and the pages on design name many source files`() throws {
    let documents = Self.documents.filter { $0.hasPrefix("docs/design/") } + ["ARCHITECTURE.md", "CONTRIBUTING.md"]
    let named = try documents.flatMap { Page(try House.text($0)).code.filter { $0.hasSuffix(".swift") } }
    #expect(Set(named).count > 60)
  }

  @Test func `Every make target that documents name exists, and README has the two commands`() throws {
    let targets = Set(try House.text("Makefile").matches(of: #/(?m)^([a-z]+):/#).map { String($0.1) })
    for document in Self.documents {
      let named = Page(try House.text(document)).code.filter { $0.hasPrefix("make ") }
        .compactMap { $0.split(separator: " ").dropFirst().first.map(String.init) }
      #expect(Set(named).isSubset(of: targets), "\(document): \(named)")
    }
    let readme = try House.text("README.md")
    #expect(readme.contains("\nmake run ") && readme.contains("\nmake test "))
  }

  @Test func `The page on packages names every one that the manifest depends on, and no other`() throws {
    let manifest = try House.text("Package.swift")
    let packages = Set(manifest.matches(of: #/\.package\(url: "https:\/\/[^"]*\/([\w-]+)"/#).map { String($0.1) })
    let page = try House.text("docs/design/packages.md")
    let table = try #require(page.firstMatch(of: #/\| Package \| Why \|\n(?:\|.*\|\n)*/#)).output
    let rows = table.split(separator: "\n").dropFirst(2).compactMap { $0.split(separator: "|").first }
    let named = rows.flatMap { row in
      let names = row.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
      return names.map { $0.hasPrefix("-") ? names[0] + $0 : $0 }
    }
    #expect(Set(named).subtracting(["libpq", "libnghttp2", "libmaxminddb", "libxml2", "zlib", "uap-core"]) == packages)
  }

  @Test func `Every reason of the hub is written somewhere, and none that is not listed`() throws {
    let sources = try ["Providers", "Delivery", "Outbox", "Wire/SMS", "Sendouts", "Subscriptions"]
      .flatMap { House.swiftFiles(in: "Sources/\($0)") }.map { try String(contentsOf: $0, encoding: .utf8) }
      .joined(separator: "\n")
    // They stand in no ledger: answers to a check of credentials or to a call, and a line of the log of notifications.
    let exempt: Set<String> = ["NotPlaced", "NoAnswerInTime", "EncryptionKeySealed"]
    let unlisted = sources.matches(of: #/(?:reason: |refuse\()"([A-Z][a-z]\w+)[" ]/#).map { String($0.1) }
    #expect(Set(unlisted).subtracting(exempt) == [])
    let list = try House.text("Sources/Wire/HubReason.swift")
    let names = list.matches(of: #/(?m)^  case (\w+)/#).map { String($0.1) }
    #expect(names.count == HubReason.allCases.count)
    for name in names {
      let use = try Regex(#"\.\#(name)\b"#)
      #expect(sources.contains(use), "Nothing writes \(name)")
    }
  }

  private static let sourceFiles = Set(
    (House.swiftFiles(in: "Sources") + House.swiftFiles(in: "Tests")).map(\.lastPathComponent)
  ).union(["Package.swift"])

  /// Every document for people, from the repository's root.
  static let documents: [String] = {
    var found = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"]
    for folder in ["docs", "Tests"] {
      let files = FileManager.default.enumerator(atPath: House.root.appending(path: folder).path)
      found += (files?.compactMap { $0 as? String } ?? []).filter { $0.hasSuffix(".md") }.map { "\(folder)/\($0)" }
    }
    return found.sorted()
  }()
}

/// A document in Markdown.
private struct Page {
  /// Where its relative links lead, images too.
  let links: [String]
  /// What links to its headings end with, as GitHub makes them.
  let anchors: Set<String>
  /// What stands in backticks, and each line of its blocks of code.
  let code: [String]

  init(_ text: String) {
    var (links, code, anchors): ([String], [String], [String]) = ([], [], [])
    var isCode = false
    for line in text.split(separator: "\n") {
      if line.drop(while: { $0 == " " }).hasPrefix("```") {
        isCode.toggle()
      } else if isCode {
        code.append(String(line))
      } else {
        let parts = line.split(separator: "`", omittingEmptySubsequences: false)
        var prose = ""
        for (index, part) in parts.enumerated() {
          if index.isMultiple(of: 2) { prose += part } else { code.append(String(part)) }
        }
        links += Self.links(in: prose)
        if line.hasPrefix("#") {
          let slug = Self.slug(line.drop { $0 == "#" }.drop { $0 == " " })
          let count = anchors.count {
            $0 == slug || $0.hasPrefix("\(slug)-") && Int($0.dropFirst(slug.count + 1)) != nil
          }
          anchors.append(count == 0 ? slug : "\(slug)-\(count)")
        }
      }
    }
    self.anchors = Set(anchors)
    self.code = code
    self.links = links.filter { !$0.contains(":") }
  }

  private static func links(in prose: String) -> [String] {
    var links: [String] = []
    if prose.contains("](") { links += prose.matches(of: #/\]\(([^)\s]+)\)/#).map { String($0.1) } }
    if prose.contains("src") { links += prose.matches(of: #/(?:src|srcset)="([^"]+)"/#).map { String($0.1) } }
    return links
  }

  private static func slug(_ heading: Substring) -> String {
    let words = (heading.contains("](") ? heading.replacing(#/\]\([^)]*\)/#, with: "") : heading).lowercased()
    return String(words.filter { $0.isLetter || $0.isNumber || "-_ ".contains($0) }).replacing(" ", with: "-")
  }
}

extension String {
  /// What follows the last slash.
  fileprivate var fileName: String { String(split(separator: "/").last ?? "") }
}
