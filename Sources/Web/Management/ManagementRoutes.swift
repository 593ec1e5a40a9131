package import Delivery
package import Hybrid
import Hummingbird
package import Operations
package import Registry
package import Sendouts
package import Wire

/// The management API under `/api/v1`: everything the command line does, for the customer of the access key.
public struct ManagementRoutes: RouteSet {
  private let operations: OperationRoutes
  private let apps: AppRoutes
  private let messages: MessageRoutes
  private let sms: SMSRoutes

  /// - Parameters:
  ///   - vault: encrypts the credentials of apps.
  ///   - credentials: asks push services about them.
  ///   - smsAccounts: opens what customers' providers of SMS are, to show it without its secrets.
  ///   - smsAddresses: where these providers post their status reports.
  ///   - smsRule: where these providers may be.
  ///   - appCache: the hub's, which forgets what is changed here. So does `hybridCache`.
  package init(
    authenticator: Authenticator, replies: IdempotentReplies, parts: OperationParts, apps: PushApps, vault: Vault,
    credentials: CredentialCheck, appCache: PushAppCache,
    messages: MessageService, hybridCache: HybridAppCache,
    smsAccounts: PushCredentialVault, smsAddresses: SMSStatusAddresses, smsRule: EndpointRule
  ) {
    let endpoint = IdempotentEndpoint(authenticator: authenticator, replies: replies)
    operations = OperationRoutes(
      operations: ManagementOperations.all, endpoint: endpoint, parts: parts
    ) { cache in
      switch cache {
      case .accessKeys: authenticator.forget()
      case .hybridApps: hybridCache.flush()
      }
    }
    self.apps = AppRoutes(endpoint: endpoint, apps: apps, cache: appCache, vault: vault, credentials: credentials)
    self.messages = MessageRoutes(authenticator: authenticator, messages: messages)
    sms = SMSRoutes(
      endpoint: endpoint, apps: apps, cache: appCache, vault: vault, credentials: credentials, accounts: smsAccounts,
      addresses: smsAddresses, rule: smsRule)
  }

  public func addRoutes(to routes: RouteTable) {
    operations.addRoutes(to: routes)

    routes.add(.get, "/api/v1/apps", bound: .refused, use: apps.list)
    routes.add(.post, "/api/v1/apps", bound: .refused, use: apps.add)
    routes.add(.get, "/api/v1/apps/{id}", bound: .refused, use: apps.show)
    routes.add(.patch, "/api/v1/apps/{id}", bound: .refused, use: apps.change)
    routes.add(.post, "/api/v1/apps/{id}/check", bound: .refused, use: apps.check)
    routes.add(.post, "/api/v1/apps/{id}/identity", bound: .refused, use: apps.rotateIdentity)
    routes.add(.delete, "/api/v1/apps/{id}/identity/previous", bound: .refused, use: apps.revokePreviousIdentity)

    routes.add(.put, "/api/v1/sms", bound: .refused, use: sms.save)
    routes.add(.get, "/api/v1/sms", bound: .refused, use: sms.show)
    routes.add(.post, "/api/v1/sms/check", bound: .refused, use: sms.check)
    routes.add(.post, "/api/v1/sms/status-address", bound: .refused, use: sms.rotate)
    routes.add(.delete, "/api/v1/sms/optouts/{number}", bound: .refused, use: sms.allow)

    routes.fast(.post, "/api/v1/messages", bound: .ownApp, use: messages.send)
    routes.add(.post, "/api/v1/messages/preview", bound: .ownApp, use: messages.preview)
    routes.add(.get, "/api/v1/messages/{id}", bound: .ownApp, use: messages.show)
  }
}
