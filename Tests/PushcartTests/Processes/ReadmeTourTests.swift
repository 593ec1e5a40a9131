import Foundation
import Support
import Testing

@Suite struct ReadmeTourTests {
  private static let root = URL(filePath: #filePath).appending(path: "../../../..").standardized

  @Test func `README's tour works as it is written`() async throws {
    let folder = try TemporaryDirectory(named: "tour")
    defer { folder.remove() }
    try FileManager.default.createSymbolicLink(
      atPath: "\(folder.path)/sql", withDestinationPath: Self.root.appending(path: "sql").path)
    let ports = RunningDemo.FreePorts()
    let demo = try await RunningDemo(in: folder.path, ports)
    let tour = try Self.script()
      .replacing("pck_1_…", with: demo.key).replacing("localhost:8080", with: "localhost:\(ports.hub)")
      .replacing("…the line that make run prints…", with: demo.database)
      .replacing(#/alias pushcart=.*/#, with: "")
    #expect(!tour.contains("…"))
    let walk = try await Shell.run(
      "set -e\n" + tour, in: folder.path, path: Pushcart.executable.deletingLastPathComponent().path)
    #expect(walk.status == 0, "\(walk.output)")
    #expect(!walk.output.contains(#"{"error""#), "\(walk.output)")
    for words in [#""originalId":"me@example.com""#, #""sendoutId":1"#, "Lunch"] {
      #expect(walk.output.contains(words), "\(words) is not in \(walk.output)")
    }
    demo.process.signal(SIGINT)
    #expect(await demo.process.exit() == 0, "\(demo.text)")
  }

  /// The tour's shell blocks, in order.
  private static func script() throws -> String {
    let readme = try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
    let tour = try #require(readme.firstMatch(of: #/(?s)\n## The tour\n(.*?)\n## /#)).1
    let blocks = tour.matches(of: #/(?s)```sh\n(.*?)```/#).map { String($0.1) }
    #expect(blocks.count >= 5)
    return blocks.joined(separator: "\n")
  }
}
