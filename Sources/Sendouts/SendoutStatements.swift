package import Postgres

/// Every statement of this room, so that a test can prepare each of them on a real server.
package enum SendoutStatements {
  package static let all: [Statement] = SendoutQueries.all + ReportQueries.all
}
