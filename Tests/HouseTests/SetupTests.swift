import Foundation
import Testing

/// `.ci/setup` on machines that lack one thing or another. Scripts stand in for all programs that it calls, and record their calls.
@Suite struct SetupTests {
  private struct Machine {
    let folder = FileManager.default.temporaryDirectory.appending(path: "setup-\(UUID())")

    /// A machine with everything installed.
    init() throws {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      for tool in ["bash", "sed", "sort", "env"] {
        let place = ["/usr/bin/\(tool)", "/bin/\(tool)"].first { FileManager.default.isExecutableFile(atPath: $0) }
        try FileManager.default.createSymbolicLink(
          atPath: folder.appending(path: tool).path, withDestinationPath: place ?? tool)
      }
      try has("pg_config", says: folder.path)
      try has("initdb", "curl", "swift", "pkg-config", "sudo", "apt-get")
      try has("postgres", says: "postgres (PostgreSQL) 15.7")
      try has("id", says: "1000")
      try lacks("dpkg")
    }

    func has(_ tools: String..., says words: String = "") throws {
      for tool in tools { try write(tool, words.isEmpty ? "" : "echo '\(words)'") }
    }

    /// The tool is there, but fails.
    func lacks(_ tool: String) throws { try write(tool, "exit 1") }

    func remove(_ tool: String) throws { try FileManager.default.removeItem(at: folder.appending(path: tool)) }

    private func write(_ tool: String, _ body: String) throws {
      let file = folder.appending(path: tool)
      let text = "#!/bin/bash\necho \"\(tool) $*\" >> '\(folder.path)/calls'\n\(body)\n"
      try text.write(to: file, atomically: true, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file.path)
    }

    func setUp() throws -> (status: Int32, said: String, calls: [String]) {
      let process = Process()
      let pipe = Pipe()
      process.executableURL = URL(filePath: "/bin/bash")
      process.arguments = [House.root.appending(path: ".ci/setup").path]
      process.environment = ["PATH": folder.path]
      process.standardOutput = pipe
      process.standardError = pipe
      try process.run()
      let said = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      let calls = (try? String(contentsOf: folder.appending(path: "calls"), encoding: .utf8)) ?? ""
      try FileManager.default.removeItem(at: folder)
      return (process.terminationStatus, said, calls.split(separator: "\n").map(String.init))
    }
  }

  @Test func `Nothing is installed where nothing is missing`() throws {
    let outcome = try Machine().setUp()
    #expect(outcome.status == 0 && outcome.said == "")
    #expect(!outcome.calls.contains { $0.hasPrefix("sudo") || $0.hasPrefix("apt-get") })
    #expect(outcome.calls.contains("pkg-config --exists libpq >= 14"))
    #expect(outcome.calls.contains("pkg-config --exists libnghttp2"))
    #expect(outcome.calls.contains("pkg-config --exists libmaxminddb"))
    #expect(outcome.calls.contains("pkg-config --exists libxml-2.0"))
    #expect(outcome.calls.contains("pkg-config --exists zlib"))
  }

  @Test func `A PostgreSQL that is too old is replaced by one that starts no server`() throws {
    let machine = try Machine()
    try machine.has("postgres", says: "postgres (PostgreSQL) 13.15 (Debian 13.15-0+deb11u1)")
    let outcome = try machine.setUp()
    #expect(outcome.status == 0 && outcome.said.contains("is of version 13"))
    let calls = outcome.calls.filter { $0.hasPrefix("sudo") }
    try #require(calls.count == 4, "\(calls)")
    #expect(calls[0] == "sudo apt-get update -qq")
    #expect(calls[1].hasSuffix("--no-install-recommends postgresql-common"))
    #expect(calls[2].contains("create_main_cluster = false") && calls[2].hasSuffix("/createcluster.conf"))
    #expect(calls[3].hasSuffix("--no-install-recommends postgresql"))
  }

  @Test func `An existing configuration of Debian's clusters stays as it is`() throws {
    let machine = try Machine()
    try machine.has("postgres", says: "postgres (PostgreSQL) 13.15")
    try machine.has("dpkg")
    let calls = try machine.setUp().calls.filter { $0.hasPrefix("sudo") }
    #expect(calls.count == 2 && !calls.contains { $0.contains("createcluster") })
  }

  @Test func `Root installs without sudo`() throws {
    let machine = try Machine()
    try machine.has("id", says: "0")
    try machine.lacks("pkg-config")
    let outcome = try machine.setUp()
    #expect(outcome.status == 0 && !outcome.calls.contains { $0.hasPrefix("sudo") })
    #expect(
      outcome.calls.contains(
        "apt-get install -y -qq --no-install-recommends pkg-config libpq-dev libnghttp2-dev libmaxminddb-dev libxml2-dev zlib1g-dev"
      ),
      "\(outcome.calls)")
  }

  @Test(arguments: [
    (
      "sudo",
      """
      Please install as root: apt-get install pkg-config libpq-dev libnghttp2-dev libmaxminddb-dev libxml2-dev zlib1g-dev
      """
    ),
    ("apt-get", "are called: pkg-config libpq-dev libnghttp2-dev libmaxminddb-dev libxml2-dev zlib1g-dev"),
    ("swift", "Swift 6.3 is missing"),
  ])
  func `A machine where nothing can be installed is told what to do`(tool: String, words: String) throws {
    let machine = try Machine()
    try machine.lacks("pkg-config")
    try machine.remove(tool)
    let outcome = try machine.setUp()
    #expect(outcome.status == 1 && outcome.said.contains(words), "\(outcome.said)")
  }
}
