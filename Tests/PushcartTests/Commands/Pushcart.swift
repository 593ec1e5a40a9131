import Foundation
import Postgres
import Registry
import Support
import Wire

/// The built `pushcart`, run as a process against a database.
struct Pushcart: Sendable {
  struct Outcome: Sendable {
    let status: Int32
    let output: String
    let errors: String

    /// Standard output as JSON.
    var json: JSONValue {
      get throws { try JSONValue(parsing: output.utf8) }
    }
  }

  let databaseURL: String
  let masterKey: String
  /// Further variables.
  var environment: [String: String] = [:]

  /// Runs one command to its end.
  @discardableResult
  func run(_ arguments: String...) async throws -> Outcome { try await run(arguments) }

  func run(_ arguments: [String]) async throws -> Outcome {
    let folder = try TemporaryDirectory(named: "command")
    defer { folder.remove() }
    let output = "\(folder.path)/output"
    let errors = "\(folder.path)/errors"
    for file in [output, errors] { try Data().write(to: URL(filePath: file)) }
    let process = Process()
    process.executableURL = Self.executable
    process.arguments = arguments
    process.currentDirectoryURL = URL(filePath: folder.path)
    process.environment = [
      "DATABASE_URL": databaseURL, "PUSHCART_MASTER_KEY": masterKey,
      "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "",
    ].merging(Self.loopbackOnly) { $1 }.merging(environment) { $1 }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = try FileHandle(forWritingTo: URL(filePath: output))
    process.standardError = try FileHandle(forWritingTo: URL(filePath: errors))
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      process.terminationHandler = { _ in continuation.resume() }
      do {
        try process.run()
      } catch {
        process.terminationHandler = nil
        continuation.resume(throwing: error)
      }
    }
    return Outcome(
      status: process.terminationStatus, output: try String(contentsOfFile: output, encoding: .utf8),
      errors: try String(contentsOfFile: errors, encoding: .utf8))
  }

  /// Addresses of push services where nothing answers, so that no test reaches Apple or Google by accident.
  static let loopbackOnly = [
    "PUSHCART_APNS_PRODUCTION_URL": "https://127.0.0.1:1", "PUSHCART_APNS_SANDBOX_URL": "https://127.0.0.1:1",
    "PUSHCART_FCM_URL": "https://127.0.0.1:1", "PUSHCART_GOOGLE_TOKEN_URL": "https://127.0.0.1:1/token",
  ]

  /// The executable beside the test runner.
  static let executable: URL = {
    let tests = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
    let beside = tests.appending(path: "pushcart")
    guard !FileManager.default.isExecutableFile(atPath: beside.path) else { return beside }
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
    return root.appending(path: ".build/debug/pushcart").standardized
  }()
}

/// Runs `body` with a database of its own and the commands that manage it.
func withPushcart(_ body: @escaping @Sendable (Pushcart, TestDatabase) async throws -> Void) async throws {
  try await withDatabase { database in
    try await body(
      Pushcart(databaseURL: database.connectionString, masterKey: MasterKeys.generate()), database)
  }
}

/// Shell scripts as a person would type them.
enum Shell {
  /// Runs a script to its end, on a thread of its own. One that tasks share would be missing to all other tests meanwhile.
  /// - Returns: its exit status, and what it wrote to standard output.
  static func run(
    _ script: String, in folder: String = "/tmp", path: String = ""
  ) async throws -> (status: Int32, output: String) {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { continuation.resume(with: Result { try wait(for: script, in: folder, path: path) }) }
    }
  }

  private static func wait(
    for script: String, in folder: String, path: String
  ) throws -> (status: Int32, output: String) {
    let process = Process()
    let pipe = Pipe()
    process.executableURL = URL(filePath: "/bin/sh")
    process.arguments = ["-c", script]
    process.currentDirectoryURL = URL(filePath: folder)
    process.environment = ["PATH": path + ":" + (ProcessInfo.processInfo.environment["PATH"] ?? "")]
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: output, as: UTF8.self))
  }
}
