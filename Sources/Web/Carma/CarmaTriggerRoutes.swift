import Delivery
import HTTPTypes
import Hummingbird
import Operations
public import Registry
public import Sendouts
import Wire

/// Carma's triggers: what back ends send to one contact at a time by.
public struct CarmaTriggerRoutes: RouteSet {
  let authenticator: Authenticator
  let pushApps: PushAppCache
  let triggers: Triggers
  let messages: MessageService

  public init(
    authenticator: Authenticator, pushApps: PushAppCache, triggers: Triggers, messages: MessageService
  ) {
    self.authenticator = authenticator
    self.pushApps = pushApps
    self.triggers = triggers
    self.messages = messages
  }

  public func addRoutes(to routes: RouteTable) {
    routes.add(.get, "/rest/{customerId}/triggers", bound: .ownApp, use: list)
    routes.add(.get, "/rest/{customerId}/triggers/{triggerId}", bound: .ownApp, use: show)
    routes.add(.post, "/rest/{customerId}/triggers/{triggerId}/messages", bound: .ownApp, use: send)
  }

  private func list(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await authenticator.access(request, context, needs: .send)
    var found: [CarmaTrigger] = []
    try await triggers.forEach(access.customer) { trigger in
      if access.opens(trigger) { found.append(try await carma(trigger, access)) }
    }
    return try authenticator.reply(found, to: access)
  }

  private func show(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await authenticator.access(request, context, needs: .send)
    return try JSONReply.make(.ok, try await carma(try await trigger(access, context), access))
  }

  private func send(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await authenticator.access(request, context, needs: .send)
    let trigger = try await trigger(access, context)
    let bytes = try await request.jsonBytes()
    let message = try bytes.withUnsafeReadableBytes { try TriggerMessage(json: $0) }
    let repetition = try MessageRoutes.repetitionKey(request.headers[.idempotencyKey]).map { key in
      NewMessage.RepetitionKey(
        key: key, fingerprint: MessageRoutes.fingerprint(bytes, for: "trigger \(trigger.triggerId)"))
    }
    let (reply, isRepeated) = try await messages.send(access.customer, message, by: trigger, repetition: repetition)
    return try JSONReply.make(
      .ok, TriggerMessageReply(reply), headers: isRepeated ? [.idempotentReplayed: "true"] : [:])
  }

  private func trigger(_ access: Access, _ context: WebRequestContext) async throws -> TriggerReply {
    let trigger = try await triggers.find(access.customer, try context.number("triggerId"))
    guard access.opens(trigger) else { throw HTTPErrorResponse.boundElsewhere }
    return trigger
  }

  private func carma(_ trigger: TriggerReply, _ access: Access) async throws -> CarmaTrigger {
    var apps: [PushApp] = []
    for appID in trigger.appIds { apps += try await pushApps.apps(access.customer, appID: appID) }
    return CarmaTrigger(trigger, hasIOS: apps.contains { $0.type == .ios })
  }
}

extension Access {
  /// Whether this opens all apps that the trigger sends to.
  fileprivate func opens(_ trigger: TriggerReply) -> Bool { trigger.appIds.allSatisfy { opens(appID: $0) } }
}
