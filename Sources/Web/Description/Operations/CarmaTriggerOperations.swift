import HTTPTypes
import Operations
import Registry
import Sendouts
import Wire

/// Carma's `/rest/{customerId}/triggers`.
enum CarmaTriggerOperations {
  static let all: [APIOperation] = [list, show, send]

  private static let list = APIOperation(
    method: .get, path: "/rest/{customerId}/triggers", id: "listCarmaTriggers", tag: .triggers, security: .key(.send),
    summary: "List the triggers in Carma's form",
    description: "Lists every trigger by number. A key that is bound to an app sees those that go to this app alone.",
    parameters: [customer],
    responses: [
      .ok(
        "The triggers.", APIContent([CarmaTrigger].schema, examples: [.array([APIContent.json(CarmaTrigger.example)])]))
    ])

  private static let show = APIOperation(
    method: .get, path: "/rest/{customerId}/triggers/{triggerId}", id: "showCarmaTrigger", tag: .triggers,
    security: .key(.send), summary: "Show a trigger in Carma's form", description: "The trigger as it is now.",
    parameters: [customer, triggerID], responses: [.ok("The trigger.", CarmaTrigger.example)],
    errors: [TriggerOperations.unknown, boundElsewhere])

  private static let send = APIOperation(
    method: .post, path: "/rest/{customerId}/triggers/{triggerId}/messages", id: "sendTriggerMessage", tag: .triggers,
    security: .key(.send), summary: "Send a trigger's message to one contact",
    description: """
      The reply comes once the message is committed; it goes to the contact's valid devices in the trigger's apps. With \
      `deliveryTime` it is sent at that time, at most \(MessageRequest.maximumDelay) days ahead, to the devices that the contact has \
      now. `GET /api/v1/messages/{id}` tells what became of it.

      Numbers and booleans may be sent as strings, and texts as numbers. If a reply was lost, repeat the request with the same \
      `Idempotency-Key`: the message is sent once.
      """,
    parameters: [customer, triggerID, .idempotencyKey],
    requestBody: APIContent(
      CarmaSchemas.triggerMessage,
      examples: [
        ["originalId": "lars@example.com", "customerId": 1, "properties": ["orderNo": "A-17"], "saveProps": false]
      ]
    ),
    responses: [.ok("The message is committed.", TriggerMessageReply.example)],
    errors: [
      .error(
        "The trigger, the contact or an app of the trigger is unknown.", RegistryError.numberUnknown("trigger"),
        SendoutError.recipientUnknown),
      boundElsewhere,
      .error(
        "The trigger is inactive, or nothing can be sent to its apps yet.", SendoutError.triggerInactive(TriggerID(1)),
        HTTPErrorResponse.noCredentials(CustomerID(1), PushAppID(1), appID: "com.acme.app", .ios, field: "signingKey")),
    ])

  private static let triggerID = APIParameter.path("triggerId", .id, "The trigger's number.", example: 1)
  private static let customer = APIParameter.path("customerId", .id, "The customer's number.", example: 1)
  private static let boundElsewhere = APIResponse.error(
    "The key is bound to another app.", HTTPErrorResponse.boundElsewhere)
}
