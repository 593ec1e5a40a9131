public import Delivery
import Hummingbird
import Operations
public import Registry
import Wire

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
  static let noStatusAddress = notFound("There is no such address for status reports.")
  static let badStatusReport = badRequest("The body is no status report in the form of the customer's provider of SMS.")
  static let unsignedStatusReport = HTTPErrorResponse(
    .forbidden,
    "X-Twilio-Signature does not fit. It has to be made with the account's Auth Token, for this address under PUSHCART_PUBLIC_URL."
  )
}
