import Support
import Testing
import Wire

@Suite struct FilterPropertyTests {
  private static let model: FilterModel = {
    var model = FilterModel(now: FilterGenerator.usualNow)
    model.lists = ["newsletter": 1, "it's": 2]
    model.segmentNumbers = ["VIP": 3, "’quoted’": 4]
    return model
  }()

  @Test func `2000 random filters are the same as a line, as a tree, and as either again`() throws {
    var generator = FilterGenerator(seed: 33, model: Self.model)
    var kinds: Set<String> = []
    for _ in 0..<2000 {
      let filter = generator.filter()
      let (line, tree) = (filter.text, filter.tree)
      let read = (line: try Filter(text: line), tree: try Filter(tree: tree))
      #expect(read.line == filter && read.tree == filter, "\(line)")
      #expect(read.line.text.hasSameBytes(as: line) && read.tree.text.hasSameBytes(as: line), "\(line)")
      #expect(read.line.tree == tree && read.tree.tree == tree, "\(line)")
      #expect(try JSONValue(json: tree.json) == tree, "\(line)")
      #expect(try Filter(from: JSONValue(encoding: filter)) == filter, "\(line)")
      #expect(Self.nodesOfContacts(filter).allSatisfy { node in (try? Filter(text: node.text)) == node })
      for node in filter.all { kinds.insert(String(describing: node.tree).prefix(30).description) }
    }
    // The generator reaches far more than a few forms.
    #expect(kinds.count > 20)
  }

  /// Those that are lines by themselves, as what is in `device` is not.
  private static func nodesOfContacts(_ filter: Filter) -> [Filter] {
    if case .device = filter { [filter] } else { [filter] + filter.operands.flatMap(nodesOfContacts) }
  }

  @Test func `Whatever a line holds, it is read or refused at a place in it`() {
    var generator = FilterGenerator(seed: 34, model: Self.model)
    let lines = (0..<200).map { _ in Array(generator.filter().text.utf8) }
    var (read, refused) = (0, 0)
    for line in lines {
      let damaged = (0..<10).map { _ in generator.random.tamper(line, with: lines) }
      for bytes in damaged + [Array(line.prefix(line.count / 2))] {
        if isRead(String(decoding: bytes, as: UTF8.self)) { read += 1 } else { refused += 1 }
      }
    }
    #expect(read > 20 && refused > 500, "\(read) read, \(refused) refused")
  }

  @Test func `Every beginning of a line is read or refused at a place in it`() throws {
    let line = #"""
      not (country in ('SE', 'NO') or properties."a ""b""" >= -3.10e2) and device(osVersion >= version '17.2' and not \#
      sandbox = true) and birthday(dateOfBirth) within next 7 days and opened sendout 7 < 1 of last 5 and outcome of \#
      sendout 7 = 'failed' and bucket(0, 10)
      """#
    _ = try Filter(text: line)
    let scalars = Array(line.unicodeScalars)
    var read = 0
    for count in scalars.indices {
      if isRead(String(String.UnicodeScalarView(scalars[..<count]))) { read += 1 }
    }
    // One after each condition that is complete where nothing is open.
    #expect(read > 0 && read < 20, "\(read)")
  }

  @Test func `Random words of the language are read or refused at a place in the line`() {
    var random = SeededGenerator(seed: 35)
    let words = [
      "and", "or", "not", "(", ")", ",", "everyone", "in", "list", "segment", "has", "device", "device(", "received",
      "opened",
      "sendout", "of", "last", "next", "within", "days", "hours",
      "outcome", "'failed'", "bucket(", "birthday(", "dateOfBirth", "country",
      "app",
      "sandbox", "createdAt", "properties.x", "=", "!=", "<", ">=", "is", "set", "contains", "starts", "with", "7", "0",
      "-1.5",
      "'x'", "''", "true", "date", "'2026-12-01'", "version", "'17.2'", "x", "\"", "'", "\u{0}", "\u{301}",
    ]
    var read = 0
    for _ in 0..<20_000 {
      let line = (0..<Int.random(in: 1...12, using: &random)).map { _ in words.randomElement(using: &random) ?? "" }
      if isRead(line.joined(separator: " ")) { read += 1 }
    }
    #expect(read > 50, "\(read)")
  }

  @Test func `Whatever a tree holds, it is read or refused with a path`() throws {
    var generator = FilterGenerator(seed: 36, model: Self.model)
    let trees = (0..<200).map { _ in generator.filter().tree.json }
    for tree in trees {
      for _ in 0..<10 {
        guard let value = try? JSONValue(json: generator.random.tamper(tree, with: trees)) else { continue }
        do throws(FilterError) {
          let filter = try Filter(json: value)
          #expect((try? Filter(tree: filter.tree)) == filter, "\(value)")
        } catch {
          #expect(!error.problem.isEmpty && error.description.hasPrefix("at "))
        }
      }
    }
  }

  /// Whether the line is read: then again as it is written, and else refused at a place in it.
  private func isRead(_ line: String) -> Bool {
    do throws(FilterError) {
      let filter = try Filter(text: line)
      #expect((try? Filter(text: filter.text)) == filter, "\(line)")
      return true
    } catch {
      guard case .character(let place) = error.place, (1...line.unicodeScalars.count + 1).contains(place) else {
        Issue.record("\(error): \(line)")
        return false
      }
      #expect(!error.problem.isEmpty)
      return false
    }
  }
}
