import Postgres

/// Statements on `customer`, a reference table: they need no customer_id to be routed by.
enum CustomerQueries {
  static let add = Statement(
    "customer.add", .write,
    "INSERT INTO customer (name) VALUES ($1::text) RETURNING customer_id, name, created_at")

  static let list = Statement(
    "customer.list", .read, "SELECT customer_id, name, created_at FROM customer ORDER BY customer_id")

  static let find = Statement(
    "customer.find", .read, "SELECT customer_id, name, created_at FROM customer WHERE customer_id = $1::bigint")

  static let all: [Statement] = [add, list, find]
}
