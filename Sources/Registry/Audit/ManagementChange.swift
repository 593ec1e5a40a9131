import FoundationEssentials
import Postgres
public import Wire

/// Who makes a management change.
public enum ChangeAuthor: Sendable, Hashable {
  /// An access key, used from this address; behind a proxy that is not trusted it is the proxy's.
  case key(AccessKeyID, address: String?)
  /// A user of the console, from this address.
  case user(UserID, address: String?)
  /// Somebody at the command line, by the name the operating system knows them by.
  case commandLine(user: String)
}

/// A management change under way: one transaction, whose data it changes, and who makes it.
///
/// API and command line make every change through one of these (room Operations). The change
/// and its line in the audit log are then committed together or not at all.
public struct ManagementChange: Sendable {
  /// The transaction. Stores made upon it take part in the change.
  package let transaction: Database
  public let customer: CustomerID
  public let actor: ChangeAuthor

  package init(_ transaction: Database, customer: CustomerID, actor: ChangeAuthor) {
    self.transaction = transaction
    self.customer = customer
    self.actor = actor
  }

  /// The access key that makes the change; `nil` in the console and at the command line.
  package var key: AccessKeyID? { if case .key(let key, _) = actor { key } else { nil } }

  /// Makes sure that the key is still valid, and that it is not revoked before the change is committed. Called last, so that a
  /// long change keeps nobody from revoking its key.
  ///
  /// A request is authenticated before its body is read; its key may have been revoked since.
  /// - Throws: `RegistryError.accessKeyRefused`.
  package func holdKey() async throws {
    guard let key else { return }
    let held = try await transaction.query(AccessKeyQueries.holdValid, customer.rawValue, key.rawValue)
    if held.isEmpty { throw RegistryError.accessKeyRefused }
  }

  /// Makes sure that the user who makes the change still has one of these roles, and keeps it until the change is committed. Called last.
  /// - Throws: `RegistryError.roleRefused`.
  package func holdUser(as roles: Set<Role>) async throws {
    guard case .user(let user, _) = actor else { return }
    let held = try await transaction.query(
      MembershipQueries.holdRole, customer.rawValue, user.rawValue, roles.map(\.rawValue))
    if held.isEmpty { throw RegistryError.roleRefused }
  }

  /// Adds a line to the audit log, unless nothing has changed.
  /// - Parameters:
  ///   - target: what was changed, as in `key 7`.
  ///   - before: what the management API showed of it; `nil` when it was not there.
  ///   - after: what the management API shows of it now. Neither may hold a secret.
  package func record(
    _ action: AuditAction, _ target: String, before: (any Encodable)? = nil, after: (any Encodable)? = nil
  ) async throws {
    let (before, after) = (try before.map(Self.json), try after.map(Self.json))
    guard before != after else { return }
    var (key, user, osUser, address): (Int64?, Int64?, String?, String?)
    switch actor {
    case .key(let id, let from): (key, address) = (id.rawValue, from)
    case .user(let id, let from): (user, address) = (id.rawValue, from)
    case .commandLine(let name): osUser = name
    }
    try await transaction.query(
      AuditQueries.add, customer.rawValue, key, user, osUser, address, action.rawValue, target,
      before.map { JSONDocument($0) }, after.map { JSONDocument($0) })
  }

  /// With sorted keys, so that equal values are equal texts.
  private static func json(_ value: any Encodable) throws -> String {
    String(decoding: try JSONCoding.encode(value), as: UTF8.self)
  }
}
