package import Postgres

/// Every statement of this room, so that a test can prepare each of them on a real server.
package enum PushcartStatements {
  package static let all: [Statement] =
    HubQueries.all + DiagnosticsQueries.all + DemoQueries.all + [ReportRole.mayRead]
}
