import HTTPTypes
import Hummingbird
import NIOCore

/// What whoever runs the hub asks it: whether it lives, whether it can serve, and what it has counted.
public struct HubFace: Face {
  private let obstacle: @Sendable () async -> Obstacle?
  private let figures: @Sendable () -> (contentType: String, text: String)

  /// - Parameters:
  ///   - obstacle: why the hub cannot serve now; nil when it can.
  ///   - figures: what `/metrics` answers.
  public init(
    obstacle: @escaping @Sendable () async -> Obstacle?,
    figures: @escaping @Sendable () -> (contentType: String, text: String)
  ) {
    self.obstacle = obstacle
    self.figures = figures
  }

  private struct Health: Encodable { var status = "ok" }

  public func addRoutes(to routes: RouteTable) {
    routes.get("/healthz") { _, _ in try JSONReply.make(.ok, Health()) }
    routes.get("/readyz") { [obstacle] _, _ in
      if let obstacle = await obstacle() { throw obstacle.refusal }
      return try JSONReply.make(.ok, Health())
    }
    routes.get("/metrics") { [figures] _, _ in
      let (contentType, text) = figures()
      return Response(
        status: .ok, headers: [.contentType: contentType, .cacheControl: "no-store"],
        body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
  }
}
