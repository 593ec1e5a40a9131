public import FoundationEssentials
import NIOHPACK

/// A connection to one of APNs' environments.
struct APNsServerConnection: ServiceConnection {
  let apns: SimulatedAPNs
  let environment: SimulatedAPNs.Environment
  let number: Int
  private let authority: CertificateAuthority
  private var authentication = ConnectionAuthentication()

  init(
    _ apns: SimulatedAPNs, environment: SimulatedAPNs.Environment, number: Int, authority: CertificateAuthority
  ) {
    self.apns = apns
    self.authority = authority
    self.environment = environment
    self.number = number
  }

  /// APNs allows one stream until it has accepted a provider token, unless the client has a certificate.
  var streamLimit: Int {
    authentication.accepted == nil && authentication.certificate == nil ? 1 : apns.traffic.streamLimit
  }

  mutating func present(_ certificate: [UInt8]) {
    authentication.certificate = try? ClientCertificate(der: certificate) {
      apns.trustsUnknownKeys || authority.issued($0)
    }
  }

  mutating func receive(
    _ headers: HPACKHeaders, body: [UInt8], on stream: Int
  ) -> (APNsRequest, SimulatedAPNs.Reply) {
    let request = APNsRequest(headers, payload: body, environment: environment)
    let reply = apns.reply(to: request, on: &authentication)
    apns.log(request, reply, connection: number, stream: stream)
    return (request, reply)
  }

  func response(to request: APNsRequest, refusal: APNsRefusal?) -> SimulatedResponse {
    var response = SimulatedResponse(status: refusal?.status ?? 200, body: refusal?.body)
    response.headers.append(("apns-id", request.id ?? UUID().uuidString))
    if environment == .sandbox, refusal == nil { response.headers.append(("apns-unique-id", UUID().uuidString)) }
    return response
  }

  func debugData(_ reason: String) -> String { APNsRefusal(status: 0, reason: reason).body }
}

extension SimulatedAPNs {
  /// A request that was received completely, and the reply to it.
  public struct ReceivedRequest: Sendable {
    /// 1, 2, 3, … since the start.
    public let number: Int
    public let environment: Environment
    /// The number of its connection: 1, 2, 3, …
    public let connection: Int
    /// Its stream on that connection: 1, 3, 5, …
    public let stream: Int
    public let at: Date
    /// The device token in lower case.
    public let token: String
    public let payload: [UInt8]
    public let reply: Reply
    let headers: HPACKHeaders

    /// The first value of a header; names are in lower case.
    public func header(_ name: String) -> String? { headers.first(name: name) }

    /// Whether a phone would get it: the reply is 200, at once or after a delay.
    public var isAccepted: Bool { reply.isAccepted }
  }
}
