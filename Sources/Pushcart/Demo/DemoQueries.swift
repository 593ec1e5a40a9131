import Postgres

/// Statements of the demo.
enum DemoQueries {
  static let all: [Statement] = [nextSendout]

  /// The number of the next sendout. After a crash numbers are left out, so it is not the last one and one.
  static let nextSendout = Statement(
    "demo.next_sendout", .read, "SELECT last_value + is_called::int FROM sendout_sendout_id_seq")
}
