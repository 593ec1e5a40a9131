import FoundationEssentials

/// A request for an access token of WNS: by a package at login.live.com, or by a client at Microsoft Entra.
struct MicrosoftTokenRequest: TokenRequest {
  static let livePath = "/accesstoken.srf"

  private let form: ClientCredentialsForm
  /// The tenant in the path of Microsoft Entra; nil for login.live.com.
  private let tenant: String?

  init?(_ request: IncomingRequest) {
    let path = request.path
    let parts = path.split(separator: "/", omittingEmptySubsequences: false)
    let isEntra = parts.count == 5 && parts[0].isEmpty && parts[2...] == ["oauth2", "v2.0", "token"]
    guard path == Self.livePath || isEntra else { return nil }
    tenant = isEntra ? String(parts[1]) : nil
    form = ClientCredentialsForm(request.form)
  }

  var client: String { form.clientID }
  var lifetime: Int { tenant == nil ? 86_400 : 3599 }
  var newToken: String { "EgAdAQMAAAAE\(UUID().uuidString)" }

  func response(_ token: String) -> SimulatedResponse {
    SimulatedResponse(
      #"{"token_type":"bearer","access_token":"\#(token)","expires_in":\#(lifetime)}"#, contentType: "application/json")
  }

  /// The reason not to issue an access token, in the words of the endpoint.
  /// - Parameter known: nil for a client that is not registered.
  func refusal(client known: RegisteredWindowsClient?, trustsUnknownKeys: Bool) -> SimulatedWNS.Refusal? {
    if let known, known.tenant != tenant {
      return tenant == nil
        ? .oauth("invalid_client", "Invalid client id")
        : .oauth("invalid_request", "AADSTS90002: Tenant '\(tenant ?? "")' not found.")
    }
    let isEntra = tenant != nil
    switch form.fault(secret: known?.secret, trustsUnknownKeys: trustsUnknownKeys) {
    case .grantType: return .oauth("unsupported_grant_type", "The grant type is not supported.")
    case .missingField: return .oauth("invalid_request", "A required parameter is missing.")
    case .unknownClient:
      return isEntra
        ? .oauth("unauthorized_client", "AADSTS700016: Application was not found in the directory.")
        : .oauth("invalid_client", "Invalid client id")
    case .wrongSecret:
      return isEntra
        ? .oauth("invalid_client", "AADSTS7000215: Invalid client secret provided.", status: 401)
        : .oauth("invalid_client", "Invalid client secret")
    case nil: break
    }
    if !isEntra, !client.hasPrefix("ms-app://") { return .oauth("invalid_client", "Invalid client id") }
    let scope = isEntra ? "https://wns.windows.com/.default" : "notify.windows.com"
    return form.scope == scope ? nil : .oauth("invalid_scope", "The scope is not valid.")
  }
}

/// What the simulated WNS keeps of an app.
struct RegisteredWindowsClient: Sendable {
  /// Nil for a package.
  var tenant: String?
  var secret: String
  var name: String
}
