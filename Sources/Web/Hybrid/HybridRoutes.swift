import FoundationEssentials
import HTTPTypes
public import Hummingbird
public import Hybrid
import NIOCore
import Operations
public import Registry
import Wire

/// CM Hybrid Messaging's REST for phones, as its documents print it: registrations, PINs and messages.
///
/// Each request is signed with the secret of its app, and is answered for that app's customer.
public struct HybridRoutes: RouteSet {
  let verifier: MACVerifier
  let phones: PhoneRegistrations
  let messages: PhoneMessages
  private let replyBudget: ReplyBudget

  public init(
    verifier: MACVerifier, phones: PhoneRegistrations, messages: PhoneMessages, replyBudget: ReplyBudget
  ) {
    self.verifier = verifier
    self.phones = phones
    self.messages = messages
    self.replyBudget = replyBudget
  }

  public func addRoutes(to routes: RouteTable) {
    routes.add(.get, "/v1.0/deviceregistrations", bound: .noKey, use: show)
    routes.add(.post, "/v1.0/deviceregistrations", bound: .noKey, use: add)
    routes.add(.put, "/v1.0/deviceregistrations", bound: .noKey, use: change)
    routes.add(.post, "/v1.0/voiceotp/requestcode", bound: .noKey, use: call)
    routes.fast(.get, "/v1.0/messages", bound: .noKey, takesQuery: true, use: list)
    routes.add(.put, "/v1.0/messages", bound: .noKey, use: update)
  }

  private func show(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let caller = try await caller(request, context)
    let device = try caller.requiredDevice
    let registration = try await Self.notFoundIfUnknown { try await phones.find(caller.app, device) }
    return reply(registration, to: device, caller)
  }

  private func add(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let caller = try await caller(request, context)
    let (phone, body) = try await registration(request, context, caller)
    let added = try await phones.add(phone, body)
    return reply(added.registration, to: added.phone, caller)
  }

  private func change(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let caller = try await caller(request, context)
    let device = try caller.requiredDevice
    let (phone, body) = try await registration(request, context, caller)
    return reply(try await phones.update(phone, body), to: device, caller)
  }

  private func call(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let caller = try await caller(request, context)
    let device = try caller.requiredDevice
    let body = try await request.jsonBytes().withUnsafeReadableBytes { try VoiceCodeBody(json: $0) }
    try await phones.call(
      caller.app, device, number: body.msisdn, language: body.language,
      address: context.clientAddress.client.description)
    return Self.empty
  }

  private func list(_ request: inout FastRequest, _ answer: @escaping FastCompletion) throws {
    let caller = try caller(&request)
    let query = try ODataQuery(FormFields.pairs(of: "query", request.query.utf8))
    completeLater(answer) { try await list(caller, query) }
  }

  private func list(_ caller: Caller, _ query: ODataQuery) async throws -> Response {
    let device = try caller.requiredDevice
    let (found, count) = try await Self.notFoundIfUnknown { try await messages.list(caller.app, device, query) }
    var writer = JSONWriter(capacity: 64 + 512 * found.count)
    writer.open("[")
    for message in found { message.write(query.members, to: &writer) }
    writer.close("]")
    return JSONReply.make(
      bytes: ByteBuffer(bytes: writer.bytes), headers: count.map { [.totalCount: "\($0)"] } ?? [:],
      holding: try replyBudget.reserve(writer.bytes.count, for: caller.app.customer))
  }

  private func update(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let caller = try await caller(request, context)
    let device = try caller.requiredDevice
    let body = try await request.jsonBytes().withUnsafeReadableBytes { try MessageStatusBody(json: $0) }
    try await messages.update(caller.app, device, body)
    return Self.empty
  }

  // MARK: - Callers

  /// Refuses a request that no app has signed.
  /// - Throws: `HTTPErrorResponse`: 401, or 400 when User-Agent names no platform.
  public func authenticate(_ request: Request, _ context: WebRequestContext) async throws {
    _ = try await caller(request, context)
  }

  /// Who asks: an app, and one of its phones.
  private struct Caller {
    let app: HybridApp
    let signature: [UInt8]
    let platform: PhonePlatform
    let userAgent: String
    /// nil if the header is missing, or is no GUID.
    let device: PhoneID?

    /// - Throws: `HTTPErrorResponse`: 400 when User-Agent names no platform.
    init(of app: HybridApp, _ authorization: MACAuthorization, userAgent: String?, device: String?) throws {
      let userAgent = userAgent ?? ""
      guard let platform = PhonePlatform(userAgent: userAgent) else { throw HTTPErrorResponse.noPlatform }
      self.app = app
      signature = authorization.signature
      self.platform = platform
      self.userAgent = userAgent
      self.device = device.flatMap { PhoneID($0) }
    }

    /// - Throws: `HybridError.deviceUnknown`.
    var requiredDevice: PhoneID {
      get throws {
        guard let device else { throw HybridError.deviceUnknown }
        return device
      }
    }
  }

  private func caller(_ request: Request, _ context: WebRequestContext) async throws -> Caller {
    var request = FastRequest(request, context)
    return try await request.complete { try caller(&$0) }
  }

  /// - Throws: `MustWait`; `HTTPErrorResponse`: 401 when the signature is not good, whatever about it, 400 when User-Agent names no
  ///   platform.
  private func caller(_ request: inout FastRequest) throws -> Caller {
    guard let authorization = request.header(.authorization).flatMap({ MACAuthorization($0) }),
      let app = try signer(authorization, request)
    else { throw HTTPErrorResponse.badSignature }
    return try Caller(
      of: app, authorization, userAgent: request.header(.userAgent), device: request.header(.deviceID))
  }

  private func signer(_ authorization: MACAuthorization, _ request: FastRequest) throws -> HybridApp? {
    if let found = request.found.signer { return try found.get() }
    let signed = MACAuthorization.Signed(method: request.method.rawValue, target: request.target, host: request.host)
    if let app = try verifier.cachedApp(authorization, signed) { return app }
    throw MustWait(\.signer) { try await verifier.app(authorization, signed) }
  }

  private func registration(
    _ request: Request, _ context: WebRequestContext, _ caller: Caller
  ) async throws -> (PhoneRequest, DeviceRegistrationBody) {
    try await request.jsonBytes().withUnsafeReadableBytes { bytes in
      let body = try DeviceRegistrationBody(json: bytes)
      let phone = PhoneRequest(
        of: caller.app, device: caller.device, platform: caller.platform, userAgent: caller.userAgent,
        signature: caller.signature, body: bytes, address: context.clientAddress.client.description)
      return (phone, body)
    }
  }

  /// CM's documents have 404 for an unknown phone where something is asked for, and 400 elsewhere, as for a DeviceID that is none.
  private static func notFoundIfUnknown<Answer>(_ body: () async throws -> Answer) async throws -> Answer {
    do { return try await body() } catch HybridError.deviceUnknown { throw HTTPErrorResponse.deviceNotFound }
  }

  // MARK: - Replies

  private func reply(_ registration: PhoneRegistration, to device: PhoneID, _ caller: Caller) -> Response {
    JSONReply.make(json: registration.reply(of: caller.app, to: device).json)
  }

  /// Clients parse every 2xx body, so that none may be empty.
  private static var empty: Response { JSONReply.make(bytes: ByteBuffer(string: "{}")) }
}

extension HTTPErrorResponse {
  /// Whatever about the signature is wrong.
  static let badSignature = HTTPErrorResponse(
    .unauthorized, "The request is not signed by a known app, or its clock is wrong.",
    headers: [.wwwAuthenticate: "MAC"])

  static let noPlatform = badRequest("User-Agent must name the platform: iOS, Android or WindowsPhone.")

  static let deviceNotFound = notFound(noRegistration)
}
