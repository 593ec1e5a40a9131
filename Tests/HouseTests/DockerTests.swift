import Foundation
import Support
import Testing

/// What the image is built from, read from Dockerfile and .dockerignore.
@Suite struct DockerTests {
  /// Where the first stage copies from, and the files and folders that .dockerignore leaves out.
  private static func context() throws -> (copied: [String], ignored: [String]) {
    let stages = try House.text("Dockerfile").components(separatedBy: "\nFROM ")
    let stage = try #require(stages.dropFirst().first)
    let copied = stage.matches(of: #/(?m)^COPY (?!--)(.+) \S+$/#).flatMap {
      $0.1.split(separator: " ").map(String.init)
    }
    let ignored = try House.text(".dockerignore").split(separator: "\n").map(String.init).filter { !$0.hasPrefix("#") }
    // Other patterns would have to be read as Docker reads them.
    #expect(ignored.allSatisfy { $0.wholeMatch(of: #/[\w.\/-]+/#) != nil }, "\(ignored)")
    return (copied, ignored)
  }

  @Test func `The package can be resolved from what the image is built from`() async throws {
    let (copied, ignored) = try Self.context()
    #expect(copied.contains("Package.swift") && copied.contains("Sources"))
    let directory = try TemporaryDirectory(named: "docker")
    defer { directory.remove() }
    let (folder, files) = (URL(filePath: directory.path), FileManager.default)
    for name in copied where !ignored.contains(name) {
      try files.copyItem(at: House.root.appending(path: name), to: folder.appending(path: name))
    }
    for name in ignored { try? files.removeItem(at: folder.appending(path: name)) }
    // This reads the manifest and looks for the sources of each target, and needs no dependency.
    let described = try await Self.swiftPackage(in: folder)
    #expect(described.status == 0, "\(described.output.suffix(2000))")
    #expect(described.output.contains("Name: pushcart\n"))
  }

  @Test func `Neither builds nor secrets of the demo are sent to the engine`() throws {
    #expect(Set(try Self.context().ignored).isSuperset(of: [".build", ".pushcart", ".git"]))
  }

  /// What `swift package describe` says of a package. It takes long, on a thread of its own: one that tasks share would be missing to all
  /// other tests meanwhile.
  private static func swiftPackage(in folder: URL) async throws -> (status: Int32, output: String) {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { continuation.resume(with: Result { try describe(folder) }) }
    }
  }

  private static func describe(_ folder: URL) throws -> (status: Int32, output: String) {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [
      "swift", "package", "--package-path", folder.path(), "--scratch-path", folder.appending(path: "scratch").path(),
      "--disable-sandbox", "describe",
    ]
    let pipe = Pipe()
    (process.standardOutput, process.standardError) = (pipe, pipe)
    try process.run()
    let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: output, as: UTF8.self))
  }
}
