import FoundationEssentials

/// A connection to one of APNs' environments.
struct APNsServerConnection: ServiceConnection {
  private let apns: SimulatedAPNs
  private let environment: SimulatedAPNs.Environment
  private let authority: CertificateAuthority
  private var authentication = ConnectionAuthentication()

  init(_ apns: SimulatedAPNs, environment: SimulatedAPNs.Environment, authority: CertificateAuthority) {
    self.apns = apns
    self.environment = environment
    self.authority = authority
  }

  /// APNs allows one stream until it has accepted a provider token, unless the client has a certificate.
  var streamLimit: Int {
    authentication.accepted == nil && authentication.certificate == nil ? 1 : apns.traffic.streamLimit
  }

  mutating func present(_ certificate: [UInt8]) {
    authentication.certificate = try? ClientCertificate(der: certificate) {
      apns.traffic.trustsUnknownKeys || authority.issued($0)
    }
  }

  mutating func receive(_ incoming: IncomingRequest) -> SimulatedAnswer<APNsRefusal> {
    let request = APNsRequest(incoming, environment: environment)
    let reply = apns.reply(to: request, on: &authentication)
    apns.log(incoming, request, reply)
    return SimulatedAnswer(reply: reply) { [id = request.id, environment] refusal in
      var response = SimulatedResponse(status: refusal?.status ?? 200, body: refusal?.body)
      response.headers.append(("apns-id", id ?? UUID().uuidString))
      if environment == .sandbox, refusal == nil { response.headers.append(("apns-unique-id", UUID().uuidString)) }
      return response
    }
  }

  func debugData(_ reason: String) -> String { APNsRefusal(status: 0, reason: reason).body }
}
