import HTTPTypes
import Hummingbird
import Operations
import Wire

/// Why a hub cannot serve now.
public enum UnavailableReason: Sendable, CaseIterable {
  case databaseAway
  case migrationsPending
  /// The database was migrated by other files than this release has.
  case schemaUnknown
  case shuttingDown

  /// What `/readyz` answers.
  var error: HTTPErrorResponse {
    HTTPErrorResponse(.serviceUnavailable, sentence, headers: HTTPErrorResponse.inAMoment)
  }

  private var sentence: String {
    switch self {
    case .databaseAway: "The database cannot be reached."
    case .migrationsPending: "Migrations are pending; run `pushcart migrate`."
    case .schemaUnknown: "The schema is not the one this release knows; see `pushcart check`."
    case .shuttingDown: "The hub is shutting down."
    }
  }
}

/// Answers whether the hub lives (`/healthz`) and whether it can serve (`/readyz`).
public struct HealthRoutes: RouteSet {
  private let unavailableReason: @Sendable () async -> UnavailableReason?

  /// - Parameter unavailableReason: why the hub cannot serve now; nil when it can.
  public init(unavailableReason: @escaping @Sendable () async -> UnavailableReason?) {
    self.unavailableReason = unavailableReason
  }

  public func addRoutes(to routes: RouteTable) {
    routes.add(.get, "/healthz", bound: .noKey) { _, _ in try JSONReply.make(.ok, HealthReply()) }
    routes.add(.get, "/readyz", bound: .noKey) { [unavailableReason] _, _ in
      if let reason = await unavailableReason() { throw reason.error }
      return try JSONReply.make(.ok, HealthReply())
    }
  }
}

/// `/metrics`: what the hub has counted, for Prometheus.
public struct MetricsRoutes: RouteSet {
  private let metrics: @Sendable () -> (contentType: String, text: String)

  /// - Parameter metrics: what is answered.
  public init(metrics: @escaping @Sendable () -> (contentType: String, text: String)) { self.metrics = metrics }

  public func addRoutes(to routes: RouteTable) {
    routes.add(.get, "/metrics", bound: .noKey) { [metrics] _, _ in
      let (contentType, text) = metrics()
      return Response.text(text, type: contentType)
    }
  }
}
