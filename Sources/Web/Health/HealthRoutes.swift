import HTTPTypes
import Hummingbird
import NIOCore
import Wire

/// What whoever runs the hub asks it: whether it lives, whether it can serve, and what it has counted.
public struct HealthRoutes: RouteSet {
  private let unavailableReason: @Sendable () async -> UnavailableReason?
  private let figures: @Sendable () -> (contentType: String, text: String)

  /// - Parameters:
  ///   - unavailableReason: why the hub cannot serve now; nil when it can.
  ///   - figures: what `/metrics` answers.
  public init(
    unavailableReason: @escaping @Sendable () async -> UnavailableReason?,
    figures: @escaping @Sendable () -> (contentType: String, text: String)
  ) {
    self.unavailableReason = unavailableReason
    self.figures = figures
  }

  public func addRoutes(to routes: RouteTable) {
    routes.get("/healthz") { _, _ in try JSONReply.make(.ok, HealthReply()) }
    routes.get("/readyz") { [unavailableReason] _, _ in
      if let unavailableReason = await unavailableReason() { throw unavailableReason.refusal }
      return try JSONReply.make(.ok, HealthReply())
    }
    routes.get("/metrics") { [figures] _, _ in
      let (contentType, text) = figures()
      return Response(
        status: .ok, headers: [.contentType: contentType, .cacheControl: "no-store"],
        body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
  }
}
