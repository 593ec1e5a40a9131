import HTTPTypes
import Operations
import Registry
import Subscriptions
import Wire

/// `/datasync/v2/{app}`.
enum DataTreeOperations {
  static let all: [APIOperation] = [
    read, put, patch, post, remove, subscribe, listSubscriptions, unsubscribe, settings, saveWebhooks,
  ]

  // MARK: Data

  private static let value = APIContent(Schema(.anything), examples: [["name": "Alice", "age": 34], "text", .null])
  private static let dataPath = "/datasync/v2/{app}/data/{path}"
  private static let dataParameters = [
    app,
    .path(
      "path", .string(), "Names with slashes between them, each percent-encoded. It can be empty, which is the root.",
      example: "users"),
  ]

  private static let ifMatch = APIParameter(
    location: .header, name: "If-Match", schema: .string(),
    description: "The `ETag` that GET answered, or `*` for any value: nothing is done unless the value still has it.",
    example: "\"6f1ed002ab5595859014ebf0951522d9\"")
  private static let ifNoneMatch = APIParameter(
    location: .header, name: "If-None-Match", schema: .string(),
    description:
      "`*` where nothing is to be done unless there is no value yet; or the `ETag` that the value must not have.",
    example: "*")
  private static let silent = APIParameter.query(
    "print", Schema(.strings(["pretty", "silent"])),
    "`pretty` indents the reply, and `silent` makes it a 204 without a body.", example: "pretty")
  private static let writeParameters = dataParameters + [silent, ifMatch, ifNoneMatch]
  private static let printedNothing = APIResponse(
    status: .noContent, description: "As `200`, with `print=silent`.", content: .none)
  private static let changed = APIResponse.error(
    "The value is not what `If-Match` or `If-None-Match` wants it to be.", SubscriptionsError.conditionFailed)

  private static let read = APIOperation(
    method: .get, path: dataPath, id: "readValue", tag: .dataTrees, security: .key(.datasync), summary: "Read a value",
    description: """
      `null` if there is none. A path has at most 32 names of at most 768 bytes, in Unicode's form NFC. Values of more than \
      \(DataTree.fewLeaves) leaves or \(DataTree.fewBytes / 1024) KiB are read one at a time, and their replies are to be taken within a \
      minute. Smaller ones have an `ETag`, and so has `null`. Queries and sorting are not supported: other options are refused.
      """,
    parameters: dataParameters + [
      .query(
        "shallow", Schema(.boolean), "Whether an object's members are told by their names alone, each being `true`.",
        example: true), silent, ifNoneMatch,
    ],
    responses: [
      .ok("The value.", value), printedNothing,
      APIResponse(
        status: .notModified, description: "The value has an `ETag` of `If-None-Match`.", content: .none),
    ],
    errors: [
      .error(
        "The value is larger than one reply holds.",
        SubscriptionsError.valueTooLarge(leaves: DataTree.mostLeaves, bytes: DataTree.longestRead)), boundElsewhere,
    ])

  private static let put = APIOperation(
    method: .put, path: dataPath, id: "replaceValue", tag: .dataTrees, security: .key(.datasync),
    summary: "Replace a value",
    description: """
      Whatever stood there is replaced. `null` and an empty object remove it. A text, number, boolean or array that stands above is \
      replaced too. Subscriptions above, at and below are told what changed; a value that stays equal is no change.
      """,
    parameters: writeParameters, requestBody: value, bodyLimit: DataTree.longestValue,
    responses: [.ok("The body.", value), printedNothing], errors: [notEnabled, boundElsewhere, changed])

  private static let patch = APIOperation(
    method: .patch, path: dataPath, id: "replaceChildren", tag: .dataTrees, security: .key(.datasync),
    summary: "Replace children",
    description: "Each member of the body replaces the child of its name, and no others. `null` removes a child.",
    parameters: writeParameters,
    requestBody: APIContent(
      Schema(.object([], others: Schema(.anything), count: nil)), examples: [["age": 35, "city": .null]]),
    bodyLimit: DataTree.longestValue,
    responses: [.ok("The body.", value), printedNothing], errors: [notEnabled, boundElsewhere, changed])

  private static let post = APIOperation(
    method: .post, path: dataPath, id: "addChild", tag: .dataTrees, security: .key(.datasync), summary: "Add a child",
    description: "The hub makes its name. Names sort in the order in which they were made.",
    parameters: dataParameters + [silent], requestBody: value, bodyLimit: DataTree.longestValue,
    responses: [.ok("The child's name.", DataTreeChild.example), printedNothing], errors: [notEnabled, boundElsewhere])

  private static let remove = APIOperation(
    method: .delete, path: dataPath, id: "removeValue", tag: .dataTrees, security: .key(.datasync),
    summary: "Remove a value", description: "The same as to replace it by `null`.",
    parameters: writeParameters,
    responses: [.ok("`null`.", APIContent(Schema(.anything), examples: [.null])), printedNothing],
    errors: [notEnabled, boundElsewhere, changed])

  // MARK: Subscriptions

  private static let subscribe = APIOperation(
    method: .post, path: "/datasync/v2/{app}/subscriptions", id: "subscribe", tag: .dataTrees,
    security: .key(.datasync),
    summary: "Subscribe a device or webhook",
    description: """
      The same place, event and target again is the same subscription, with the new settings. What is there already is not told. With \
      `encryptionKey`, notifications hold nothing readable but app and path.
      """,
    parameters: [app], requestBody: APIContent(SubscriptionRequest.example),
    responses: [.ok("The subscription.", SubscriptionReply.example)], errors: [notEnabled, boundElsewhere])

  private static let listSubscriptions = APIOperation(
    method: .get, path: "/datasync/v2/{app}/subscriptions", id: "listSubscriptions", tag: .dataTrees,
    security: .key(.datasync), summary: "List the subscriptions",
    description: "Lists the subscriptions that have not ended, the oldest first.",
    parameters: [app, .after("subscription"), .limit],
    responses: [.ok("A page of subscriptions.", Page<SubscriptionReply, SubscriptionID>.example)],
    errors: [boundElsewhere])

  private static let unsubscribe = APIOperation(
    method: .delete, path: "/datasync/v2/{app}/subscriptions/{subscriptionId}", id: "unsubscribe", tag: .dataTrees,
    security: .key(.datasync), summary: "End a subscription",
    description: "Nothing more is sent. The device is not told.",
    parameters: [app, .path("subscriptionId", .id, "The subscription's number.", example: 12)],
    responses: [.ok("The subscription as it was.", SubscriptionReply.example)],
    errors: [
      .error(
        "The app has no subscription of this number.", SubscriptionsError.subscriptionUnknown(SubscriptionID(12))),
      boundElsewhere,
    ])

  // MARK: Settings

  private static let settings = APIOperation(
    method: .get, path: "/datasync/v2/{app}/settings", id: "showDatasyncSettings", tag: .dataTrees,
    security: .key(.datasync), summary: "Show the settings", description: "The app's webhooks.",
    parameters: [app], responses: [.ok("The settings.", DataTreeSettings.example)],
    errors: [notEnabled, boundElsewhere, sealed])

  private static let saveWebhooks = APIOperation(
    method: .put, path: "/datasync/v2/{app}/settings/webhooks", id: "saveWebhooks", tag: .dataTrees,
    security: .key(.datasync), summary: "Replace the webhooks",
    description: """
      Each has at least one https address, at a host of the internet or one that `PUSHCART_WEBHOOK_ALLOWED_HOSTS` names. Certificates \
      are always checked. The only header is `X-webcom-webhook-token`.
      """,
    parameters: [app], requestBody: APIContent(WebhookSettings.example),
    responses: [.ok("The settings.", DataTreeSettings.example)], errors: [notEnabled, boundElsewhere])

  private static let app = APIParameter.path("app", .string(), "The `appId` of the app.", example: "com.acme.app")
  private static let notEnabled = APIResponse.error(
    "The app has no data tree.", SubscriptionsError.notEnabled(app: "com.acme.app"))
  private static let boundElsewhere = APIResponse.error(
    "The secret is of another app.", HTTPErrorResponse.boundElsewhere)
  private static let sealed = APIResponse.error(
    "The settings cannot be decrypted.", RegistryError.sealed(what: "data_tree_app/1/com.acme.app"))
}
