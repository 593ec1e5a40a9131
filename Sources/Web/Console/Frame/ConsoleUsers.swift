import Registry
import Wire

/// Users and sessions.
package struct ConsoleUsers: Sendable {
  package init() {}
  func signedIn(_ token: String) async throws -> SignedIn? { nil }
}
