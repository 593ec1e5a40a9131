public import Content
public import Delivery
public import Hybrid
import Hummingbird
public import Registry
public import Sendouts
public import Subscriptions
public import Wire

/// The management API under `/api/v1`: everything the command line does, for the customer of the access key.
public struct ManagementRoutes: RouteSet {
  private let keys: KeyRoutes
  private let customer: CustomerRoutes
  private let audit: AuditRoutes
  private let apps: AppRoutes
  private let lists: ListRoutes
  private let templates: TemplateRoutes
  private let sendouts: SendoutRoutes
  private let reports: ReportRoutes
  private let messages: MessageRoutes
  private let triggers: TriggerRoutes
  private let hybrid: HybridAppRoutes
  private let datasync: DatasyncManagementRoutes
  private let sms: SMSRoutes

  /// - Parameters:
  ///   - vault: encrypts the credentials of apps.
  ///   - credentials: asks push services about them.
  ///   - smsAccounts: opens what customers' providers of SMS are, to show it without its secrets.
  ///   - smsAddresses: where these providers post their status reports.
  ///   - smsRule: where these providers may be.
  ///   - appCache: the hub's, which forgets what is changed here. So does `hybridCache`.
  public init(
    authenticator: Authenticator, replies: IdempotentReplies, keys: AccessKeys, apps: PushApps, vault: Vault,
    credentials: CredentialCheck, lists: ContactLists, templates: Templates,
    sendouts: SendoutStore, reports: Reports, customers: Customers, audit: AuditLog, appCache: PushAppCache,
    messages: MessageService, triggers: Triggers, hybrid: HybridApps, hybridCache: HybridAppCache,
    datasync: DatasyncApps, smsAccounts: PushCredentialVault, smsAddresses: SMSStatusAddresses, smsRule: EndpointRule
  ) {
    let endpoint = IdempotentEndpoint(authenticator: authenticator, replies: replies)
    self.keys = KeyRoutes(endpoint: endpoint, keys: keys)
    customer = CustomerRoutes(endpoint: endpoint, customers: customers)
    self.audit = AuditRoutes(endpoint: endpoint, log: audit)
    self.apps = AppRoutes(endpoint: endpoint, apps: apps, cache: appCache, vault: vault, credentials: credentials)
    self.lists = ListRoutes(endpoint: endpoint, lists: lists)
    self.templates = TemplateRoutes(endpoint: endpoint, templates: templates)
    self.sendouts = SendoutRoutes(endpoint: endpoint, sendouts: sendouts)
    self.reports = ReportRoutes(endpoint: endpoint, reports: reports)
    self.messages = MessageRoutes(authenticator: authenticator, messages: messages)
    self.triggers = TriggerRoutes(endpoint: endpoint, triggers: triggers)
    self.hybrid = HybridAppRoutes(endpoint: endpoint, apps: hybrid, cache: hybridCache, vault: vault)
    self.datasync = DatasyncManagementRoutes(endpoint: endpoint, apps: datasync)
    sms = SMSRoutes(
      endpoint: endpoint, apps: apps, cache: appCache, vault: vault, credentials: credentials, accounts: smsAccounts,
      addresses: smsAddresses, rule: smsRule)
  }

  public func addRoutes(to routes: RouteTable) {
    routes.get("/api/v1/keys", use: keys.list)
    routes.post("/api/v1/keys", use: keys.add)
    routes.delete("/api/v1/keys/{id}", use: keys.revoke)

    routes.get("/api/v1/customer", use: customer.show)
    routes.patch("/api/v1/customer", use: customer.change)
    routes.get("/api/v1/audit", use: audit.list)

    routes.get("/api/v1/apps", use: apps.list)
    routes.post("/api/v1/apps", use: apps.add)
    routes.get("/api/v1/apps/{id}", use: apps.show)
    routes.patch("/api/v1/apps/{id}", use: apps.change)
    routes.post("/api/v1/apps/{id}/check", use: apps.check)
    routes.post("/api/v1/apps/{id}/identity", use: apps.rotateIdentity)
    routes.delete("/api/v1/apps/{id}/identity/previous", use: apps.revokePreviousIdentity)

    routes.put("/api/v1/sms", use: sms.save)
    routes.get("/api/v1/sms", use: sms.show)
    routes.post("/api/v1/sms/check", use: sms.check)
    routes.post("/api/v1/sms/status-address", use: sms.rotate)
    routes.delete("/api/v1/sms/optouts/{number}", use: sms.allow)

    routes.get("/api/v1/lists", use: lists.list)
    routes.post("/api/v1/lists", use: lists.add)

    routes.get("/api/v1/templates", use: templates.list)
    routes.get("/api/v1/templates/{name}", use: templates.show)
    routes.put("/api/v1/templates/{name}", use: templates.save)

    routes.get("/api/v1/sendouts", use: sendouts.list)
    routes.post("/api/v1/sendouts", use: sendouts.add)
    routes.get("/api/v1/sendouts/{id}", use: sendouts.show)
    routes.get("/api/v1/sendouts/{id}/pushes", use: sendouts.pushes)
    routes.get("/api/v1/sendouts/{id}/why", use: sendouts.why)
    routes.post("/api/v1/sendouts/{id}/start", use: sendouts.control(.start))
    routes.post("/api/v1/sendouts/{id}/pause", use: sendouts.control(.pause))
    routes.post("/api/v1/sendouts/{id}/resume", use: sendouts.control(.resume))
    routes.post("/api/v1/sendouts/{id}/cancel", use: sendouts.control(.cancel))

    routes.post("/api/v1/messages", use: messages.send)
    routes.fastPath(.post, "/api/v1/messages", answer: messages.sendFromCaches)
    routes.post("/api/v1/messages/preview", use: messages.preview)
    routes.get("/api/v1/messages/{id}", use: messages.show)

    routes.get("/api/v1/triggers", use: triggers.list)
    routes.post("/api/v1/triggers", use: triggers.add)
    routes.get("/api/v1/triggers/{id}", use: triggers.show)
    routes.patch("/api/v1/triggers/{id}", use: triggers.change)

    routes.get("/api/v1/hybrid", use: hybrid.list)
    routes.post("/api/v1/hybrid", use: hybrid.enable)
    routes.get("/api/v1/hybrid/{appId}", use: hybrid.show)
    routes.patch("/api/v1/hybrid/{appId}", use: hybrid.change)
    routes.post("/api/v1/hybrid/{appId}/secret", use: hybrid.rotate)
    routes.get("/api/v1/hybrid/{appId}/phones", use: hybrid.phones)
    routes.get("/api/v1/datasync", use: datasync.list)
    routes.post("/api/v1/datasync", use: datasync.enable)

    routes.get("/api/v1/reports/{report}", use: reports.show)
  }
}
