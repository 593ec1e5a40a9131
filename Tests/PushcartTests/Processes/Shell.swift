import Foundation

/// What a person would type.
enum Shell {
  /// Runs a script to its end.
  /// - Returns: its exit status, and what it wrote to standard output.
  static func run(
    _ script: String, in folder: String = "/tmp", path: String = ""
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
