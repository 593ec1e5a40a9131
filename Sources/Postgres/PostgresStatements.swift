/// Every statement of this room that PostgreSQL prepares, so that a test can do so on a real server. The others are commands
/// (BEGIN, LISTEN, CREATE DATABASE), most of them made of a name as they are needed.
package enum PostgresStatements {
  package static let all: [Statement] = MigrationQueries.all
}
