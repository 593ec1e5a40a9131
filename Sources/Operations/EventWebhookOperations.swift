import HTTPTypes
import Outbox
import Registry
import Sendouts
package import Wire

extension APIOperation.Tag {
  package static let webhooks = Self(
    "Webhooks",
    """
    Addresses that are told what happens: sendouts, outcomes of pushes, opens, devices, suppressions, imports. Posts are signed as Standard \
    Webhooks has it, and repeated until they are taken.
    """, readers: [.operator], editors: [.operator])
}

/// `/api/v1/webhooks`: what is told of events. Webhooks of data trees are those of `DataTreeAppOperations`.
package enum EventWebhookOperations: ManagedOperations {
  package static let all = [
    AnyOperation(list), AnyOperation(add), AnyOperation(show), AnyOperation(change), AnyOperation(rotate),
    AnyOperation(test), AnyOperation(deliveries), AnyOperation(delivery), AnyOperation(redeliver), AnyOperation(remove),
  ]

  package static let list = Operation(
    get: "/api/v1/webhooks", id: "listEventWebhooks", .webhooks, "List the webhooks",
    "Lists every webhook of the customer by number.", at: .page(of: "webhook", by: EventWebhookID.self),
    replies: .ok("A page of webhooks.", Page<EventWebhookReply, EventWebhookID>.form)
  ) { call, page, _ in try await EventWebhooks(call.database).list(call.customer, page) }

  package static let show = Operation(
    get: "/api/v1/webhooks/{id}", id: "showEventWebhook", .webhooks, "Show a webhook",
    "The webhook as it is now, without its secret.", at: id, replies: .ok("The webhook.", EventWebhookReply.form),
    errors: [unknown]
  ) { call, id, _ in try await EventWebhooks(call.database).find(call.customer, id) }

  package static let add = Operation(
    .post, "/api/v1/webhooks", id: "addEventWebhook", .webhooks, "Add a webhook",
    """
    What happens from then on is posted to `url`, within a second, until it answers 200 to 299. Only this reply has the secret that signs. The \
    address has to be at a host of the internet, or at one that `PUSHCART_WEBHOOK_ALLOWED_HOSTS` names. A customer has up to \
    \(EventWebhooks.most).
    """,
    at: .none, body: .json(EventWebhookRequest.form),
    replies: .created("The webhook with its secret.", EventWebhookReply.form), audit: "webhook.add"
  ) { call, _, request in
    let added = try await EventWebhooks(call.database).add(
      call.customer, request, vault: call.vault, rule: call.parts.webhookRule)
    try requireShown(added, to: call)
    return Changed(added, line(after: added))
  }

  package static let change = Operation(
    .patch, "/api/v1/webhooks/{id}", id: "changeEventWebhook", .webhooks, "Change a webhook",
    """
    `"enabled": true` begins again with one that the hub has disabled: what had happened until then is posted, as far as it is not older than \
    30 days. An empty `description` removes it.
    """,
    at: id, body: .json(EventWebhookRequest.change),
    replies: .ok("The webhook as it is now.", EventWebhookReply.form), errors: [unknown],
    audit: "webhook.change"
  ) { call, id, request in
    let (before, after) = try await EventWebhooks(call.database).change(
      call.customer, id, request, rule: call.parts.webhookRule)
    if request.url != nil || request.events != nil { try requireShown(after, to: call) }
    return Changed(after, line(before: before, after: after))
  }

  package static let remove = Operation(
    .delete, "/api/v1/webhooks/{id}", id: "removeEventWebhook", .webhooks, "Remove a webhook",
    "What is due to it is dropped, and its deliveries are forgotten.", at: id, body: .none,
    replies: .ok("The webhook as it was.", EventWebhookReply.form), errors: [unknown], audit: "webhook.delete"
  ) { call, id, _ in
    let removed = try await EventWebhooks(call.database).remove(call.customer, id)
    return Changed(removed, line(before: removed))
  }

  package static let rotate = Operation(
    .post, "/api/v1/webhooks/{id}/rotate", id: "rotateEventWebhook", .webhooks, "Make a new secret",
    "Only this reply has it. For 24 hours both sign, the new one first. Another rotation within them ends the first one at once.",
    at: id, body: .none, replies: .created("The webhook with its new secret.", EventWebhookReply.form),
    errors: [unknown], audit: "webhook.rotate"
  ) { call, id, _ in
    let (before, after) = try await EventWebhooks(call.database).rotate(call.customer, id, vault: call.vault)
    return Changed(after, line(before: before, after: after))
  }

  package static let test = Operation(
    .post, "/api/v1/webhooks/{id}/test", id: "testEventWebhook", .webhooks, "Post a test",
    "Posts the event `webhook.test`, whether or not the webhook is told it otherwise. Look at its deliveries for what came of it.",
    at: id, body: .none, replies: .created("The delivery, which is posted within a second.", EventDeliveryReply.form),
    errors: [unknown, disabled], audit: "webhook.test"
  ) { call, id, _ in
    let made = try await EventWebhooks(call.database).test(call.customer, id)
    return Changed(made, .init("webhook \(id)", after: ["deliveryId": made.deliveryId]))
  }

  package static let deliveries = Operation(
    get: "/api/v1/webhooks/{id}/deliveries", id: "listEventDeliveries", .webhooks, "List the deliveries of a webhook",
    "The newest first, of the last 30 days: what was posted, and what came of it.",
    at: id.and(.page(of: "delivery", by: EventDeliveryID.self)),
    replies: .ok("A page of deliveries.", Page<EventDeliveryReply, EventDeliveryID>.form), errors: [unknown]
  ) { call, target, _ in
    let (id, page) = target
    return try await EventWebhooks(call.database).deliveries(call.customer, id, page)
  }

  package static let delivery = Operation(
    get: "/api/v1/webhooks/{id}/deliveries/{delivery}", id: "showEventDelivery", .webhooks, "Show a delivery",
    "What has come of it, and the body that a post of it has.", at: id.and(deliveryID),
    replies: .ok("The delivery.", EventDeliveryReply.form), errors: [unknownDelivery]
  ) { call, target, _ in
    let found = try await EventWebhooks(call.database).delivery(call.customer, target.0, target.1)
    let bodies = EventBodies(call.database, showsPersonal: call.seesPersonal)
    var reply = found.reply
    if let body = try await bodies.bodies(of: [found.told], in: found.form, call.customer)[0] {
      reply.body = try JSONValue(json: body, rules: .own)
    }
    return reply
  }

  package static let redeliver = Operation(
    .post, "/api/v1/webhooks/{id}/deliveries/{delivery}/redeliver", id: "redeliverEvents", .webhooks,
    "Post a delivery again",
    """
    It has the same `webhook-id`, and says what the tables say now. One that is older than a day is tried once, and others until they are \
    taken or a day old. One that is being posted at this moment is left to that, and posted again by itself if that fails.
    """,
    at: id.and(deliveryID), body: .none,
    replies: .created("The delivery, which is posted within a second.", EventDeliveryReply.form),
    errors: [unknownDelivery, disabled], audit: "webhook.redeliver"
  ) { call, target, _ in
    let (id, delivery) = target
    let changed = try await EventWebhooks(call.database).redeliver(call.customer, id, delivery)
    return Changed(changed, .init("webhook \(id)", after: ["deliveryId": changed.deliveryId]))
  }

  /// Whoever does not see personal fields has none posted elsewhere either: events that come as lists tell whom they are about.
  private static func requireShown(_ webhook: EventWebhookReply, to call: OperationCall) throws {
    guard call.seesPersonal || !webhook.events.contains(where: \.isList) else {
      throw HTTPErrorResponse.personalRefused
    }
  }

  /// In the audit log, which is for ever: without the secret.
  private static func line<Reply>(
    before: EventWebhookReply? = nil, after: EventWebhookReply? = nil
  ) -> Changed<Reply>.Line {
    func logged(_ webhook: EventWebhookReply?) -> EventWebhookReply? {
      var logged = webhook
      logged?.secret = nil
      return logged
    }
    let number = (after ?? before).map { "\($0.webhookId)" } ?? ""
    return Changed<Reply>.Line("webhook \(number)", before: logged(before), after: logged(after))
  }

  private static let id = Parameters.id(EventWebhookID.self, "The webhook's `webhookId`.", example: 1)
  private static let deliveryID = Parameters.id(
    EventDeliveryID.self, named: "delivery", "The delivery's `deliveryId`.", example: 1)
  private static let unknown = APIResponse.error(
    "The customer has no webhook of this number.", RegistryError.numberUnknown(EventWebhookReply.noun))
  private static let unknownDelivery = APIResponse.error(
    "The customer has no webhook of this number, or it has no such delivery.",
    RegistryError.numberUnknown(EventWebhookReply.noun), RegistryError.numberUnknown("delivery"))
  private static let disabled = APIResponse.error(
    "The webhook is disabled.",
    RegistryError.invalid(field: "webhookId", problem: "is that of a webhook that is disabled: enable it first"))
}
