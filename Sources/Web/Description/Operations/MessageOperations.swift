import HTTPTypes
import Operations
import Registry
import Sendouts
import Wire

/// `/api/v1/messages`.
enum MessageOperations {
  static let all: [APIOperation] = [send, preview, show]

  private static let send = APIOperation(
    method: .post, path: "/api/v1/messages", id: "sendMessage", tag: .messages, security: .key(.send),
    summary: "Send a message to one contact or device",
    description: """
      The reply comes once the message is committed. With `wait` it comes as soon as the push services' verdicts are there, or \
      the time is over; what is tried again later is `waiting`.

      With `deliverAt` the message is committed now and sent at that time, to the devices that the contact has now, with the fields \
      that it has then.

      The body can be a list of up to 1000 messages. The reply then is a list in the same order. Each message is taken or \
      refused by itself, with the `status` and the `error` that it would get alone.

      A `deviceToken` that is not registered yet becomes a device of the contact in `originalId`. If a reply was lost, repeat the \
      request with the same `Idempotency-Key`: the message is sent once.
      """,
    parameters: [.idempotencyKey],
    requestBody: APIContent(MessageRequest.example),
    bodyLimit: MessageRoutes.bodyLimit,
    responses: [
      APIResponse(
        status: .created, description: "The message, or a list of them.",
        content: .json(
          APIContent(
            Schema(.either([MessageReply.schema, [MessageResult].schema])),
            examples: [APIContent.json(MessageReply.example)]
          )))
    ],
    errors: [
      .error(
        "The app, the contact or the device is unknown.", RegistryError.appUnknown(appID: "com.acme.app"),
        SendoutError.recipientUnknown),
      .error(
        "Nothing can be sent to the app yet.",
        HTTPErrorResponse.noCredentials(CustomerID(1), PushAppID(1), appID: "com.acme.app", .ios, field: "signingKey")),
    ])

  private static let preview = APIOperation(
    method: .post, path: "/api/v1/messages/preview", id: "previewMessage", tag: .messages, security: .key(.backend),
    summary: "Show a message as push services would get it",
    description: """
      Nothing is stored or sent. For each app the reply has the request with its size, and what was left out of a message that is too \
      large. What signs in is masked, and the links lead to no push. The body can be that of a message, as it is.
      """,
    requestBody: APIContent(MessagePreviewRequest.example),
    responses: [.ok("The requests.", MessagePreviewReply.example)],
    errors: [
      .error(
        "The app, the contact or the device is unknown.", RegistryError.appUnknown(appID: "com.acme.app"),
        SendoutError.recipientUnknown)
    ])

  private static let show = APIOperation(
    method: .get, path: "/api/v1/messages/{id}", id: "showMessage", tag: .messages, security: .key(.send),
    summary: "Show a message", description: "The states are those of this moment.",
    parameters: [.path("id", MessageID.schema, "The message's `messageId`.", example: "7-15")],
    responses: [.ok("The message.", MessageReply.example)],
    errors: [.error("There is no such message.", SendoutError.messageUnknown(MessageID(SendoutID(7), 15)))])
}
