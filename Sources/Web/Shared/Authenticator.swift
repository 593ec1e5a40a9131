import FoundationEssentials
public import Hummingbird
import NIOCore
import Operations
public import Registry
public import Wire

/// Checks the access key of every request, and how often it is used.
///
/// A missing, wrong or revoked key, another customer's key and an unknown customer all get the same 401, so that nobody learns which
/// customers exist.
public struct Authenticator: Sendable {
  private let keys: AccessKeyCache
  private let rate: RateLimit<KeyUser>
  /// Of large replies to those whom it lets in.
  private let replyBudget: ReplyBudget

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
  public init(_ keys: AccessKeyCache, requestsPerKey: Int = 0, replyBudget: ReplyBudget) {
    self.keys = keys
    rate = RateLimit(requestsPerKey)
    self.replyBudget = replyBudget
  }

  /// What the key in `X-Carma-Authentication-Token` or `Authorization: Bearer` opens, for paths that name their customer as `{customerId}`.
  /// - Throws: `HTTPErrorResponse`: 401, 403 when the key's scope is not enough, 429 when the key is used too often.
  public func access(_ request: Request, _ context: WebRequestContext, needs scope: AccessScope) async throws -> Access
  {
    var request = FastRequest(request, context, parameters: [context.parameters["customerId"] ?? ""])
    return try await request.complete { try access(ofCustomerIn: &$0, needs: scope) }
  }

  /// Access for routes that refuse keys which are bound to an app.
  /// - Throws: as above; 403 for such a key.
  func unboundAccess(_ request: Request, _ context: WebRequestContext, needs scope: AccessScope) async throws -> Access
  {
    let access = try await access(request, context, needs: scope)
    guard access.appID == nil else { throw HTTPErrorResponse.boundKey }
    return access
  }

  /// What the key in `Authorization: Bearer` or `X-Carma-Authentication-Token` opens, for paths that name no customer.
  /// - Throws: as above.
  public func access(_ request: Request, needs scope: AccessScope) async throws -> Access {
    // Clients of device keys alone are told apart, and no device key opens such a path.
    var request = FastRequest(request, from: IPAddress(nil))
    return try await request.complete { try access(&$0, needs: scope) }
  }

  /// What a key in a header opens, in an attempt, for paths whose first value is their customer.
  /// - Throws: `MustWait`; as above.
  func access(ofCustomerIn request: inout FastRequest, needs scope: AccessScope) throws -> Access {
    guard let customer = CustomerID(String(request.parameters[0])),
      let token = request.header(.carmaToken) ?? request.header(.authorization).flatMap(bearer)
    else { throw HTTPErrorResponse.unauthorized }
    return try access(with: token, for: customer, &request, needs: scope)
  }

  /// What a key in a header opens, in an attempt, for paths that name no customer.
  /// - Throws: `MustWait`; as above.
  func access(_ request: inout FastRequest, needs scope: AccessScope) throws -> Access {
    guard let token = request.header(.authorization).flatMap(bearer) ?? request.header(.carmaToken) else {
      throw HTTPErrorResponse.unauthorized
    }
    return try access(with: token, &request, needs: scope)
  }

  /// What a key opens, in an attempt, that came in some other way, such as in a path.
  /// - Throws: `MustWait`; as above.
  func access(
    with token: String, for customer: CustomerID? = nil, _ request: inout FastRequest, needs scope: AccessScope
  ) throws -> Access {
    guard let access = try opened(by: token, for: customer, request) else { throw HTTPErrorResponse.unauthorized }
    guard access.opens(scope) else { throw HTTPErrorResponse.forbidden(needs: scope.rawValue) }
    try count(access, &request)
    return access
  }

  /// What a product token opens, in an attempt. Requests to the gateway carry it in their body or query.
  /// - Returns: nil if it does not open the gateway.
  /// - Throws: `MustWait`; `HTTPErrorResponse`: 429 when the key is used too often; `RegistryError.tooManyUnknownTokens`.
  func gatewayAccess(_ token: String?, _ request: inout FastRequest) throws -> Access? {
    guard let token, let access = try opened(by: token, for: nil, request), access.opens(.gateway) else { return nil }
    try count(access, &request)
    return access
  }

  private func opened(by token: String, for customer: CustomerID?, _ request: FastRequest) throws -> Access? {
    if let found = request.found.access { return try found.get() }
    if let access = keys.cached(token, for: customer) { return access }
    throw MustWait(\.access) { [keys] in try await keys.authenticate(token, for: customer) }
  }

  /// Counts a request once, however often it is attempted.
  private func count(_ access: Access, _ request: inout FastRequest) throws {
    guard !request.found.isCounted else { return }
    if let error = rate.refusal(of: KeyUser(access, from: request.client)) { throw error }
    request.found.isCounted = true
  }

  /// The key in `Authorization`, as Bearer or as the password of Basic; nil if there is none.
  func token(inHeadersOf request: FastRequest) -> String? {
    guard let authorization = request.header(.authorization) else { return nil }
    if let token = bearer(authorization) { return token }
    guard authorization.prefix(6).lowercasedASCII == "basic ",
      let pair = Data(base64Encoded: String(authorization.dropFirst(6))),
      let password = String(decoding: pair, as: UTF8.self).split(separator: ":", maxSplits: 1).last
    else { return nil }
    return String(password)
  }

  /// Whether a product token opens the gateway, while the request that may have it is still coming.
  /// - Throws: as `gatewayAccess`.
  func opensGateway(_ token: String) async throws -> Bool {
    guard let access = try await keys.authenticate(token), access.opens(.gateway) else { return false }
    if let error = rate.refusal(of: KeyUser(access, from: nil)) { throw error }
    return true
  }

  /// A reply to whoever has that access. A large one is counted until it has been taken.
  /// - Throws: what becomes a 503, when the customer has too many large replies on their way already.
  func reply(_ bytes: ByteBuffer, to access: Access) throws -> Response {
    JSONReply.make(bytes: bytes, holding: try replyBudget.reserve(bytes.readableBytes, for: access.customer))
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
}
