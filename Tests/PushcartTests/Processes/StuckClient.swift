import Foundation

/// A client that sends one request and half of a second one, then stalls with its connection open.
final class StuckClient: Sendable {
  private let descriptor: Int32

  /// Returns when the first request is answered. The hub has half of the second one by then.
  /// - Parameter key: with an invalid one, the second request is refused before its end.
  init(_ url: String, key: String) async throws {
    guard let port = URLComponents(string: url)?.port else { throw CocoaError(.coderInvalidValue) }
    descriptor = try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { continuation.resume(with: Result { try Self.connect(UInt16(port), key) }) }
    }
  }

  deinit { close(descriptor) }

  private static func connect(_ port: UInt16, _ key: String) throws -> Int32 {
    let descriptor = try open(port)
    let half = [
      "PUT /rest/1/apps/\(ProcessFixture.appID)/pushdevices HTTP/1.1", "Host: x",
      "X-Carma-Authentication-Token: \(key)",
      "Content-Type: application/json", "Content-Length: 1000", "", "{",
    ]
    let text = Array(("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" + half.joined(separator: "\r\n")).utf8)
    var answer = [UInt8](repeating: 0, count: 4096)
    guard send(descriptor, text, text.count, 0) == text.count, recv(descriptor, &answer, answer.count, 0) > 0 else {
      throw CocoaError(.fileReadUnknown)
    }
    return descriptor
  }

  private static func open(_ port: UInt16) throws -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = port.bigEndian
    let connected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Foundation.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard connected == 0 else {
      close(descriptor)
      throw CocoaError(.fileReadUnknown)
    }
    return descriptor
  }
}
