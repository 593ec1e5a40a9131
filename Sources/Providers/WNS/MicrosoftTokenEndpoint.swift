import FoundationEssentials
import Wire

/// Where accounts of WNS get access tokens: apps of the Microsoft Store at login.live.com, others at Microsoft Entra (Microsoft, "Push
/// notification service request and response headers" and "Push notifications in the Windows App SDK").
struct MicrosoftTokenEndpoint: AccessTokenEndpoint {
  let live: ServiceAddress
  let entra: ServiceAddress

  var name: String { "Microsoft's token endpoint" }
  var label: String { "microsoft" }

  func address(for credentials: PushServiceCredentials) -> ServiceAddress {
    if case .entra = account(credentials) { return entra }
    return live
  }

  func grant(to credentials: PushServiceCredentials, now: Date) -> AccessTokenGrant {
    switch account(credentials) {
    case .package(let sid, let secret):
      .request(clientCredentials(sid, secret, scope: "notify.windows.com", path: "/accesstoken.srf"))
    case .entra(let tenant, let client, let secret):
      .request(
        clientCredentials(
          client, secret, scope: "https://wns.windows.com/.default", path: "/\(tenant)/oauth2/v2.0/token"))
    }
  }

  private func account(_ credentials: PushServiceCredentials) -> WindowsAccount {
    guard case .wns(let account) = credentials else { preconditionFailure("an account of another service") }
    return account
  }
}
