import FoundationEssentials
public import Hummingbird
import NIOCore
import Operations
public import Registry
public import Wire

/// Checks the access key of every request, and how often it is used.
///
/// A missing, wrong, revoked or foreign key and an unknown customer all get the same 401, so that nobody learns which
/// customers exist.
public struct Authenticator: Sendable {
  private let keys: AccessKeyCache
  private let rate: RateLimit<KeyUser>
  /// Of the replies to those whom it lets in.
  private let budget = ReplyBudget()

  /// Who shares a rate.
  struct KeyUser: Hashable {
    let customer: CustomerID
    let key: AccessKeyID
    /// Of scope device alone: its key lies in every copy of an app, and nobody is to use it up for the others.
    let client: IPAddress?

    init(_ access: Access, from client: IPAddress?) {
      customer = access.customer
      key = access.key
      self.client = access.scope == .device ? client : nil
    }
  }

  /// - Parameter requestsPerKey: most requests a second with one key, of scope device from one address; 0 for any number.
  public init(_ keys: AccessKeyCache, requestsPerKey: Int = 0) {
    self.keys = keys
    rate = RateLimit(requestsPerKey)
  }

  /// What the key in `X-Carma-Authentication-Token` or `Authorization: Bearer` opens, for paths that name their customer as `{customerId}`.
  /// - Throws: `HTTPErrorResponse`: 401, 403 when the key's scope is not enough, 429 when the key is used too often.
  public func access(_ request: Request, _ context: WebRequestContext, needs scope: AccessScope) async throws -> Access
  {
    guard let customer = context.parameters["customerId"].flatMap({ CustomerID(String($0)) }),
      let token = request.headers[.carmaToken] ?? request.headers[.authorization].flatMap(bearer)
    else { throw HTTPErrorResponse.unauthorized }
    return try check(try await keys.authenticate(token, for: customer), scope, from: context.clientAddress.client)
  }

  /// The same from the cache alone; nil if that does not have it, or the request is refused. It is not counted.
  func cachedAccess(_ request: FastRequest, to customer: CustomerID, needs scope: AccessScope) -> Access? {
    let token = request.header(.carmaToken) ?? request.header(.authorization).flatMap(bearer)
    guard let access = token.flatMap({ keys.cached($0, for: customer) }) else { return nil }
    return access.opens(scope) ? access : nil
  }

  /// The same for paths that name no customer.
  func cachedAccess(_ request: FastRequest, needs scope: AccessScope) -> Access? {
    let token = request.header(.authorization).flatMap(bearer) ?? request.header(.carmaToken)
    return token.flatMap { cachedAccess($0, needs: scope) }
  }

  /// The same of a key that came in some other way.
  func cachedAccess(_ token: String, needs scope: AccessScope) -> Access? {
    guard let access = keys.cached(token) else { return nil }
    return access.opens(scope) ? access : nil
  }

  /// Counts a request that is answered from caches.
  /// - Throws: `HTTPErrorResponse`: 429 when the key is used too often.
  func count(_ request: FastRequest, _ access: Access) throws {
    if let error = rate.refusal(of: KeyUser(access, from: request.client)) { throw error }
  }

  /// What the key in `Authorization: Bearer` or `X-Carma-Authentication-Token` opens, for paths that name no customer.
  /// - Throws: as above.
  public func access(_ request: Request, needs scope: AccessScope) async throws -> Access {
    guard let token = request.headers[.authorization].flatMap(bearer) ?? request.headers[.carmaToken] else {
      throw HTTPErrorResponse.unauthorized
    }
    return try check(try await keys.authenticate(token), scope, from: nil)
  }

  /// What a key opens that came in some other way, such as in a path.
  /// - Throws: as above.
  func access(with token: String, _ context: WebRequestContext, needs scope: AccessScope) async throws -> Access {
    try check(try await keys.authenticate(token), scope, from: context.clientAddress.client)
  }

  /// The key in `Authorization`, as Bearer or as the password of Basic; nil if there is none.
  func token(inHeadersOf request: Request) -> String? {
    guard let authorization = request.headers[.authorization] else { return nil }
    if let token = bearer(authorization) { return token }
    guard authorization.prefix(6).lowercasedASCII == "basic ",
      let pair = Data(base64Encoded: String(authorization.dropFirst(6))),
      let password = String(decoding: pair, as: UTF8.self).split(separator: ":", maxSplits: 1).last
    else { return nil }
    return String(password)
  }

  /// What a product token opens, which requests to the gateway carry in their body or query.
  /// - Returns: nil if it does not open the gateway.
  /// - Throws: `HTTPErrorResponse`: 429 when the key is used too often; `RegistryError.tooManyUnknownTokens`.
  func gatewayAccess(_ token: String?) async throws -> Access? {
    guard let token, let access = try await keys.authenticate(token), access.opens(.gateway) else { return nil }
    if let error = rate.refusal(of: KeyUser(access, from: nil)) { throw error }
    return access
  }

  /// The same from the cache alone. It is not counted.
  func cachedGatewayAccess(_ token: String?) -> Access? {
    token.flatMap { cachedAccess($0, needs: .gateway) }
  }

  /// A reply to whoever has that access. A large one is counted until it has been taken.
  /// - Throws: what becomes a 503, when the customer has too many large replies on their way already.
  func reply(_ bytes: ByteBuffer, to access: Access) throws -> Response {
    JSONReply.make(bytes: bytes, holding: try budget.reserve(bytes.readableBytes, for: access.customer))
  }

  /// Replies with a value as JSON, counted against the customer's budget of large replies.
  func reply(_ body: some Encodable, to access: Access) throws -> Response {
    try reply(ByteBuffer(bytes: try JSONReply.encode(body)), to: access)
  }

  /// Empties the cache: a key that was revoked here must not open anything here once that is answered.
  public func forget() { keys.flush() }

  private func bearer(_ authorization: String) -> String? {
    authorization.prefix(7).lowercasedASCII == "bearer " ? String(authorization.dropFirst(7)) : nil
  }

  private func check(_ access: Access?, _ scope: AccessScope, from client: IPAddress?) throws -> Access {
    guard let access else { throw HTTPErrorResponse.unauthorized }
    guard access.opens(scope) else { throw HTTPErrorResponse.forbidden(needs: scope.rawValue) }
    if let error = rate.refusal(of: KeyUser(access, from: client)) { throw error }
    return access
  }
}
