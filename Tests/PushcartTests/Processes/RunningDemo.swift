import Foundation
import Simulator
import Support
import Testing

/// A running `pushcart demo` in a folder of its own.
struct RunningDemo {
  let process: RunningPushcart
  /// What it printed.
  var text: String { process.text }

  /// Ports that are free, so that a demo can start on them again.
  struct FreePorts {
    let hub: Int
    let phone: Int
    /// Of the simulated services, by their options.
    let services: [String: Int]

    init() {
      let options = PushSimulator.ports.map(\.option)
      let free = Port.free(2 + options.count)
      (hub, phone) = (free[0], free[1])
      services = Dictionary(uniqueKeysWithValues: zip(options, free.dropFirst(2)))
    }

    var all: [Int] { [hub, phone] + services.values }
  }

  /// - Parameters:
  ///   - umask: of its process.
  ///   - opens: how many of a hundred pages the owners of simulated phones open.
  init(in folder: String, _ ports: FreePorts, umask: String = "022", opens: Int = 0) async throws {
    process = try Self.launch(in: folder, ports, umask: umask, opens: opens)
    try await process.says("}]}}'\n")
  }

  /// Starts a demo without waiting for it.
  static func launch(
    in folder: String, _ ports: FreePorts, umask: String = "022", opens: Int = 0
  ) throws -> RunningPushcart {
    let services = ports.services.flatMap { ["--\($0.key)", "\($0.value)"] }
    return try RunningPushcart(
      ["demo", "--port", "\(ports.hub)", "--phone-port", "\(ports.phone)", "--opens", "\(opens)"] + services,
      environment: [:], folder: folder,
      limits: "umask \(umask)")
  }

  /// The curl lines that it prints.
  var curlLines: [String] {
    text.components(separatedBy: "\n\n").map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
      .filter { $0.hasPrefix("curl ") }
  }

  /// The access key.
  var key: String { get throws { String(try #require(text.firstMatch(of: #/pck_1_[\w-]+/#)).output) } }
  /// The connection string for psql.
  var database: String { get throws { String(try #require(text.firstMatch(of: #/psql "(.*)"/#)).1) } }
  /// The data folder that it prints.
  var folder: String { get throws { String(try #require(text.firstMatch(of: #/same data in (.*)\./#)).1) } }
  var phoneURL: String { get throws { String(try #require(text.firstMatch(of: #/Phone page +(.*)/#)).1) } }

  /// The process of its PostgreSQL.
  func server(data: String = "postgres/data") throws -> Int32 {
    let file = try String(contentsOfFile: "\(folder)/\(data)/postmaster.pid", encoding: .utf8)
    return try #require(Int32(file.split(separator: "\n")[0]))
  }
}
