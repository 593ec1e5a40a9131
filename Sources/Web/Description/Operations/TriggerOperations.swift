import HTTPTypes
import Registry
import Sendouts
import Wire

/// `/api/v1/triggers`, and Carma's `/rest/{customerId}/triggers`.
enum TriggerOperations {
  static let all: [APIOperation] = [list, add, show, change, carmaList, carmaShow, send]

  private static let list = APIOperation(
    method: .get, path: "/api/v1/triggers", id: "listTriggers", tag: .triggers, security: .key(.admin),
    summary: "List the triggers", description: "Lists every trigger of the customer by number.",
    parameters: [.after("trigger"), .limit],
    responses: [.ok("A page of triggers.", Page<TriggerReply, TriggerID>.example)])

  private static let add = APIOperation(
    method: .post, path: "/api/v1/triggers", id: "addTrigger", tag: .triggers, security: .key(.admin),
    summary: "Add a trigger",
    description: """
      A named message to the contacts of one app or several. It is active at once. Every text is a Mustache template; it can name \
      the properties that come with each message, before those of the contact. Pages have the template's version of the moment.
      """,
    parameters: [.idempotencyKey],
    requestBody: APIContent(TriggerRequest.example),
    responses: [.created("The trigger.", TriggerReply.example)],
    errors: [appUnknown, nameTaken])

  private static let show = APIOperation(
    method: .get, path: "/api/v1/triggers/{id}", id: "showTrigger", tag: .triggers, security: .key(.admin),
    summary: "Show a trigger", description: "The trigger as it is now.",
    parameters: [id], responses: [.ok("The trigger.", TriggerReply.example)], errors: [unknown])

  private static let change = APIOperation(
    method: .patch, path: "/api/v1/triggers/{id}", id: "changeTrigger", tag: .triggers, security: .key(.admin),
    summary: "Change a trigger, or stop it",
    description: """
      A change counts for every message after the reply, on all hubs. With `active` false the trigger refuses messages. Messages \
      that it has taken before are sent as they were, those that are due later, too.
      """,
    parameters: [id],
    requestBody: APIContent(TriggerChangeRequest.example),
    responses: [.ok("The trigger as it is now.", TriggerReply.example)],
    errors: [unknown, appUnknown, nameTaken])

  private static let carmaList = APIOperation(
    method: .get, path: "/rest/{customerId}/triggers", id: "listCarmaTriggers", tag: .triggers, security: .key(.send),
    summary: "List the triggers in Carma's form",
    description: "Lists every trigger by number. A key that is bound to an app sees those that go to this app alone.",
    parameters: [customer],
    responses: [
      .ok(
        "The triggers.", APIContent([CarmaTrigger].schema, examples: [.array([APIContent.json(CarmaTrigger.example)])]))
    ])

  private static let carmaShow = APIOperation(
    method: .get, path: "/rest/{customerId}/triggers/{triggerId}", id: "showCarmaTrigger", tag: .triggers,
    security: .key(.send), summary: "Show a trigger in Carma's form", description: "The trigger as it is now.",
    parameters: [customer, triggerID], responses: [.ok("The trigger.", CarmaTrigger.example)],
    errors: [unknown, boundElsewhere])

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
        "The trigger, the contact or an app of the trigger is unknown.", SendoutError.triggerUnknown(TriggerID(1)),
        SendoutError.recipientUnknown),
      boundElsewhere,
      .error(
        "The trigger is inactive, or nothing can be sent to its apps yet.", SendoutError.triggerInactive(TriggerID(1)),
        HTTPErrorResponse.noCredentials(CustomerID(1), PushAppID(1), appID: "com.acme.app", .ios, field: "signingKey")),
    ])

  private static let id = APIParameter.path("id", .id, "The trigger's `triggerId`.", example: 1)
  private static let triggerID = APIParameter.path("triggerId", .id, "The trigger's number.", example: 1)
  private static let customer = APIParameter.path("customerId", .id, "The customer's number.", example: 1)
  private static let unknown = APIResponse.error(
    "The customer has no trigger of this number.", SendoutError.triggerUnknown(TriggerID(1)))
  private static let appUnknown = APIResponse.error(
    "The app is unknown.", RegistryError.appUnknown(appID: "com.acme.app"))
  private static let nameTaken = APIResponse.error(
    "The customer already has a trigger of this name.", SendoutError.triggerNameTaken("Order shipped"))
  private static let boundElsewhere = APIResponse.error(
    "The key is bound to another app.", HTTPErrorResponse.boundElsewhere)
}
