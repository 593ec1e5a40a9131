package import Postgres

/// Every statement of this room, so that a test can prepare each of them on a real server.
package enum DeliveryStatements {
  package static let all: [Statement] = FreezeQueries.all + LedgerQueries.all + BatchQueries.all + OpenQueries.all
}
