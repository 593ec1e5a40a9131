import Foundation
import Support
import Testing

/// A running `pushcart demo` in a folder of its own.
struct RunningDemo {
  let process: RunningPushcart
  /// What it printed.
  var text: String { process.text }

  /// - Parameters:
  ///   - ports: of the hub, the phone page, the Simulator's APNs twice, its FCM, its Push Kit, its Web Push, its WNS and its SMS.
  ///   - umask: of its process.
  init(in folder: String, _ ports: [Int], umask: String = "022") async throws {
    process = try Self.launch(in: folder, ports, umask: umask)
    try await process.says("}]}}'\n")
  }

  /// Starts a demo without waiting for it.
  static func launch(in folder: String, _ ports: [Int], umask: String = "022") throws -> RunningPushcart {
    let names = [
      "--port", "--phone-port", "--apns-port", "--apns-sandbox-port", "--fcm-port", "--hms-port", "--webpush-port",
      "--wns-port", "--sms-port",
    ]
    let flags = zip(names, ports).flatMap { [$0, "\($1)"] }
    return try RunningPushcart(["demo"] + flags, environment: [:], folder: folder, limits: "umask \(umask)")
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
