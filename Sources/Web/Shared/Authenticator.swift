public import Hummingbird
public import Registry
public import Wire

/// Asks every request for its access key.
///
/// A missing, wrong, revoked or foreign key and an unknown customer all get the same 401, so that nobody learns which
/// customers there are.
public struct Authenticator: Sendable {
  private let keys: AccessKeyCache

  public init(_ keys: AccessKeyCache) { self.keys = keys }

  /// What the key in `X-Carma-Authentication-Token` opens, for paths that name their customer as `{customerId}`.
  /// - Throws: `HTTPErrorResponse`: 401, or 403 when the key's scope is not enough.
  public func access(_ request: Request, _ context: WebRequestContext, needs scope: AccessScope) async throws -> Access
  {
    guard let customer = context.parameters["customerId"].flatMap({ CustomerID(String($0)) }),
      let token = request.headers[.carmaToken]
    else { throw HTTPErrorResponse.unauthorized }
    return try check(try await keys.authenticate(token, for: customer), scope)
  }

  /// The same, if it is at hand and the key opens what is asked for.
  func accessAtHand(_ request: QuickRequest, to customer: CustomerID, needs scope: AccessScope) -> Access? {
    let access = request.header(.carmaToken).flatMap { keys.cached($0, for: customer) }
    return access.flatMap { $0.opens(scope) ? $0 : nil }
  }

  /// What the key in `Authorization: Bearer` or `X-Carma-Authentication-Token` opens, for paths that name no customer.
  /// - Throws: as above.
  public func access(_ request: Request, needs scope: AccessScope) async throws -> Access {
    guard let token = bearer(request) ?? request.headers[.carmaToken] else { throw HTTPErrorResponse.unauthorized }
    return try check(try await keys.authenticate(token), scope)
  }

  /// Has every key looked up anew: a key that was revoked here must not open anything here once that was answered.
  public func forget() { keys.flush() }

  private func bearer(_ request: Request) -> String? {
    guard let value = request.headers[.authorization], value.prefix(7).lowercased() == "bearer " else { return nil }
    return String(value.dropFirst(7))
  }

  private func check(_ access: Access?, _ scope: AccessScope) throws -> Access {
    guard let access else { throw HTTPErrorResponse.unauthorized }
    guard access.opens(scope) else { throw HTTPErrorResponse.forbidden(needs: scope.rawValue) }
    return access
  }
}
