public import Delivery
import Hummingbird
import Operations
public import Registry
import Locking
import Wire

/// `/api/v1/sms`.
struct SMSRoutes: Sendable {
  let endpoint: IdempotentEndpoint
  let apps: PushApps
  let cache: PushAppCache
  let vault: Vault
  let credentials: CredentialCheck
  let accounts: PushCredentialVault
  let addresses: SMSStatusAddresses
  /// Where providers may be.
  let rule: EndpointRule

  func save(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await endpoint.authenticate(request)
    let account = try SMSAccount(try await request.json(SMSSettingsRequest.self), rule)
    let response = try await endpoint.change(access, context) { [vault, addresses] change in
      let app = try await change.setSMS(account, vault: vault)
      return SMSSettingsReply(app, account, statusURL: addresses.url(of: app.customer))
    }
    cache.flush()
    return response
  }

  func show(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await endpoint.authenticate(request)
    let app = try await find(access)
    let account = try await account(of: app)
    return try JSONReply.make(.ok, SMSSettingsReply(app, account, statusURL: addresses.url(of: app.customer)))
  }

  private func account(of app: PushApp) async throws -> SMSAccount {
    guard case .sms(let account) = try await accounts.credentials(for: app) else { throw HTTPErrorResponse.noSMS }
    return account
  }

  /// Renews the address for status reports. The one before opens nothing once this is answered; other hubs hear of it at once.
  func rotate(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let app = try await find(try await endpoint.authenticate(request))
    let account = try await account(of: app)
    let renewed = Atomic<Int32>(0)
    let response = try await endpoint.respond(to: request, context) { [addresses] change in
      let serial = try await change.rotateSMS(addresses)
      renewed.store(serial, ordering: .releasing)
      let url = addresses.url(of: app.customer, serial: serial)
      return IdempotentEndpoint.Reply(status: .created, body: SMSSettingsReply(app, account, statusURL: url))
    }
    addresses.note(renewed.load(ordering: .acquiring), of: app.customer)
    return response
  }

  /// Undoes the opt-out of a telephone number.
  func allow(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await endpoint.authenticate(request)
    guard let number = PhoneNumber(try context.part("number")) else { throw HTTPErrorResponse.noNumber }
    let app = try await find(access)
    return try await endpoint.change(access, context) { change in try await change.allowSMS(number, app: app.id) }
  }

  /// The provider is asked before the transaction begins, so that no transaction waits for it.
  func check(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await endpoint.authenticate(request)
    let app = try await find(access)
    let bytes = try await request.bytes()
    guard let reply = try await credentials.check(app) else { throw HTTPErrorResponse.noSMS }
    return try await endpoint.respondOnce(to: request, context, bytes, access) { _ in
      IdempotentEndpoint.Reply(body: reply)
    }
  }

  private func find(_ access: Access) async throws -> PushApp {
    guard let app = try await apps.list(access.customer).first(where: { $0.type == .sms }) else {
      throw HTTPErrorResponse.noSMS
    }
    return app
  }
}

/// `/sms/status/{token}`, where providers of SMS post what became of messages. The token in the address is the only credential, and
/// Twilio's signature.
public struct SMSStatusRoutes: RouteSet {
  private let channel: SMSChannel
  private let addresses: SMSStatusAddresses

  /// Most bytes of a request, which may hold many reports.
  static let bodyLimit = 256 * 1024

  public init(_ channel: SMSChannel, _ addresses: SMSStatusAddresses) {
    self.channel = channel
    self.addresses = addresses
  }

  public func addRoutes(to routes: RouteTable) {
    routes.add(.post, "/sms/status/{token}", bound: .noKey, use: take)
    routes.add(.get, "/sms/status/{token}", bound: .noKey, use: take)
  }

  @Sendable private func take(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let token = try context.part("token")
    guard let customer = addresses.customer(of: token) else { throw HTTPErrorResponse.noStatusAddress }
    let body = try await request.bytes(upTo: Self.bodyLimit)
    let query = request.uri.query ?? ""
    let receipt = try await channel.take(
      SMSStatusRequest(
        url: addresses.url(of: customer) + (query.isEmpty ? "" : "?\(query)"), query: query,
        contentType: request.headers[.contentType], signature: request.headers[.twilioSignature],
        body: Array(body.readableBytesView)), of: customer)
    switch receipt {
    case .recorded: return Response(status: .ok)
    case .malformed: throw HTTPErrorResponse.badStatusReport
    case .unsigned: throw HTTPErrorResponse.unsignedStatusReport
    case .noProvider: throw HTTPErrorResponse.noStatusAddress
    }
  }
}

extension HTTPErrorResponse {
  static let noSMS = notFound(
    "There is no provider of SMS. Set one by PUT /api/v1/sms, or by pushcart sms set --customer N.")
  static let noStatusAddress = notFound("There is no such address for status reports.")
  static let badStatusReport = badRequest("The body is no status report in the form of the customer's provider of SMS.")
  static let unsignedStatusReport = HTTPErrorResponse(
    .forbidden,
    "X-Twilio-Signature does not fit. It has to be made with the account's Auth Token, for this address under PUSHCART_PUBLIC_URL."
  )
}
