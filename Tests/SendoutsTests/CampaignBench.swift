import Delivery
import Registry
import Sendouts
import Support
import Wire

/// What happens to a sendout before it goes.
extension SendingBench {
  /// Previews and sends single messages, by the hubs that run.
  func messageService() -> MessageService {
    let dispatcher = dispatcher()
    return MessageService(
      pool, dispatcher: dispatcher, messages: MessageDispatcher(dispatcher, sendsItself: false),
      apps: PushAppCache(pool), credentials: PushCredentialVault(pool, vault: vault),
      registrations: RegistrationBatcher(pool, limits: .patient))
  }

  func preflight(_ request: SendoutRequest, seesPersonal: Bool = true) async throws -> PreflightReply {
    try await Preflights(pool).preflight(
      customer, request, with: messageService(), suppressions: .ofTests, seesPersonal: seesPersonal)
  }

  func preflight(_ sendout: SendoutID) async throws -> PreflightReply {
    try await Preflights(pool).preflight(
      customer, sendout, with: messageService(), suppressions: .ofTests)
  }

  /// A sendout of the bench's app, which is not stored.
  func request(
    _ message: MessageBody = MessageBody(alert: "x"), audience: Audience = .all, template: String? = nil,
    campaign: CampaignFields = CampaignFields()
  ) -> SendoutRequest {
    SendoutRequest(
      name: "Offer", appId: Self.appID, audience: audience, message: message, template: template, draft: true,
      campaign: campaign)
  }
}
