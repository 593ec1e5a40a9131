import NIOCore
import NIOHTTP1
import NIOPosix

/// Requests to a hub, over http, each on a connection of its own.
enum PlainHTTP {
  /// It is no http address, or the answer broke off.
  struct Failure: Error {}

  /// Reads the whole answer.
  /// - Returns: its status.
  static func send(
    _ method: HTTPMethod, _ url: String, headers: [(String, String)], body: [UInt8]? = nil
  ) async throws -> Int {
    guard let (host, port, path) = parts(url) else { throw Failure() }
    var fields: HTTPHeaders = ["host": "\(host):\(port)", "connection": "close"]
    for (name, value) in headers { fields.add(name: name, value: value) }
    if let body { fields.add(name: "content-length", value: "\(body.count)") }
    let head = HTTPRequestHead(version: .http1_1, method: method, uri: path, headers: fields)
    let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .connectTimeout(.seconds(10))
      .connect(host: host, port: port) { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHTTPClientHandlers()
          return try NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>(
            wrappingChannelSynchronously: channel)
        }
      }
    return try await channel.executeThenClose { inbound, outbound in
      try await outbound.write(.head(head))
      if let body { try await outbound.write(.body(.byteBuffer(ByteBuffer(bytes: body)))) }
      try await outbound.write(.end(nil))
      var status: Int?
      for try await part in inbound {
        switch part {
        case .head(let head): status = Int(head.status.code)
        case .body: break
        case .end: if let status { return status }
        }
      }
      throw Failure()
    }
  }

  /// `http://host[:port]/path` in its parts.
  private static func parts(_ url: String) -> (host: String, port: Int, path: String)? {
    guard url.hasPrefix("http://") else { return nil }
    let rest = url.dropFirst(7)
    let authority = rest.prefix { $0 != "/" }
    let sides = authority.split(separator: ":")
    guard let host = sides.first, let port = sides.count == 2 ? Int(sides[1]) : 80 else { return nil }
    return (String(host), port, String(rest[authority.endIndex...]))
  }
}
