/// A request for an access token of WNS: by a package at login.live.com, or by a client at Microsoft Entra.
struct MicrosoftTokenRequest: Sendable {
  static let livePath = "/accesstoken.srf"

  let path: String
  private let form: ClientCredentialsForm
  /// The tenant in the path of Microsoft Entra; nil for login.live.com.
  private let tenant: String?

  /// - Returns: nil if the path is no token endpoint's.
  init?(path: String, contentType: String?, body: [UInt8]) {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false)
    let isEntra = parts.count == 5 && parts[0].isEmpty && parts[2...] == ["oauth2", "v2.0", "token"]
    guard path == Self.livePath || isEntra else { return nil }
    self.path = path
    tenant = isEntra ? String(parts[1]) : nil
    form = ClientCredentialsForm(contentType: contentType, body: body)
  }

  var clientID: String { form.clientID }

  /// Of the token, in seconds.
  var lifetime: Double { tenant == nil ? 86_400 : 3599 }

  /// The reason not to issue an access token, in the words of the endpoint.
  /// - Parameter client: nil for one that is not registered.
  func refusal(client: RegisteredWindowsClient?, trustsUnknownKeys: Bool) -> SimulatedWNS.Refusal? {
    if let client, client.tenant != tenant {
      return tenant == nil
        ? .oauth("invalid_client", "Invalid client id")
        : .oauth("invalid_request", "AADSTS90002: Tenant '\(tenant ?? "")' not found.")
    }
    let isEntra = tenant != nil
    switch form.fault(secret: client?.secret, trustsUnknownKeys: trustsUnknownKeys) {
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
    if !isEntra, !clientID.hasPrefix("ms-app://") { return .oauth("invalid_client", "Invalid client id") }
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
