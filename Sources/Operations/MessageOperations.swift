import HTTPTypes
import Registry
import Sendouts
package import Wire

extension APIOperation.Tag {
  package static let messages = Self(
    "Messages", "Messages to one contact or one device, such as receipts and codes.",
    readers: [.marketer, .analyst], editors: [.marketer])
}

/// `/api/v1/messages`.
package enum MessageOperations {
  /// Those with usual routes: `send` has a fast one.
  package static let all = [AnyOperation(preview), AnyOperation(show)]

  package static let send: Operation<Void, MessageRequest, MessageReply> = {
    var send = Operation(
      sending: "/api/v1/messages", id: "sendMessage", .messages, "Send a message to one contact or device",
      """
      The reply comes once the message is committed. With `wait` it comes as soon as the push services' verdicts are there, or \
      the time is over; what is tried again later is `waiting`.

      With `deliverAt` the message is committed now and sent at that time, to the devices that the contact has now, with the fields \
      that it has then.

      The body can be a list of up to 1000 messages. The reply then is a list in the same order. Each message is taken or \
      refused by itself, with the `status` and the `error` that it would get alone.

      A `deviceToken` that is not registered yet becomes a device of the contact in `originalId`. If a reply was lost, repeat the \
      request with the same `Idempotency-Key`: the message is sent once.
      """,
      // Room for a thousand messages.
      needs: .send, body: .json(MessageRequest.form, upTo: 4 * 1024 * 1024),
      replies: .created("The message, or a list of them.", MessageReply.form),
      errors: [
        .error(
          "The app, the contact or the device is unknown.", RegistryError.appUnknown(appID: "com.acme.app"),
          SendoutError.recipientUnknown),
        .error(
          "Nothing can be sent to the app yet.",
          HTTPErrorResponse.noCredentials(
            CustomerID(1), PushAppID(1), appID: "com.acme.app", .ios, field: "signingKey")),
      ]
    ) { call, request in try await call.parts.messages().send(call.customer, request, allowed: call.appID).message }
    send.description.responses[0].content = .json(
      APIContent(
        Schema(.either([MessageReply.schema, [MessageResult].schema])),
        examples: [APIContent.json(MessageReply.example)]))
    return send
  }()

  package static let preview = Operation(
    showing: "/api/v1/messages/preview", id: "previewMessage", .messages,
    "Show a message as push services would get it",
    """
    Nothing is stored or sent. For each app the reply has the request with its size, what its owner sees, and what was left out of a \
    message that is too large. What signs in is masked, and the links lead to no push. The body can be that of a message, as it is.
    """,
    // Its texts show what is known of a contact, so `send` is not enough.
    needs: .backend, showsPersonal: true, body: .json(MessagePreviewRequest.form),
    replies: .ok("The requests.", MessagePreviewReply.form),
    errors: [
      .error(
        "The app, the contact or the device is unknown.", RegistryError.appUnknown(appID: "com.acme.app"),
        SendoutError.recipientUnknown)
    ]
  ) { call, request in try await call.parts.messages().preview(call.customer, request, allowed: call.appID) }

  static let id = Parameters.path("id", MessageID.schema, "The message's `messageId`.", example: "7-15")

  package static let show = Operation(
    get: "/api/v1/messages/{id}", id: "showMessage", .messages, "Show a message",
    "The states are those of this moment.", needs: .send,
    at: id,
    replies: .ok("The message.", MessageReply.form),
    errors: [.error("There is no such message.", SendoutError.messageUnknown(MessageID(SendoutID(7), 15)))]
  ) { call, id, _ in
    guard let id = MessageID(id) else { throw HTTPErrorResponse.notFound("There is no such message.") }
    return try await call.parts.messages().find(call.customer, id, allowed: call.appID)
  }
}
