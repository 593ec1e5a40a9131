import Sendouts
package import Wire

/// What became of single messages: `GET /api/v1/messages` and `/api/v1/messages/{id}/why`.
package enum MessageHistoryOperations: ManagedOperations {
  package static let all = [AnyOperation(list), AnyOperation(why)]

  package static let list = Operation(
    get: "/api/v1/messages", id: "listMessages", .messages, "List the single messages",
    """
    Stream by stream, the newest first: the messages of one day to the same apps with the same template, or by the same trigger, are a \
    stream. With `state` a page can have fewer than `limit`, or none, and still be followed by another one.
    """,
    at: Parameters.choice("state", "Only messages in this state.", example: MessageState.failed)
      .and(.namedPage(of: "message", example: "7-15")),
    replies: .ok("A page of messages.", Page<ListedMessage, String>(items: [ListedMessage.example]))
  ) { call, target, _ in
    let (state, page) = target
    var found = try await MessageHistories(call.slowReads).list(call.customer, state: state, page)
    if !call.seesPersonal { for index in found.items.indices { found.items[index].alert = nil } }
    return found
  }

  package static let why = Operation(
    get: "/api/v1/messages/{id}/why", id: "whyMessage", .messages, "Tell what became of a message",
    "Line by line, from the ledger: its pushes, the SMS that stands in for them, and what devices and providers reported.",
    at: MessageOperations.id,
    replies: .ok("The message and its lines.", MessageWhyReply.form),
    errors: [.error("There is no such message.", SendoutError.messageUnknown(MessageID(SendoutID(7), 15)))]
  ) { call, text, _ in
    guard let id = MessageID(text) else { throw HTTPErrorResponse.notFound("There is no such message.") }
    var reply = try await MessageHistories(call.slowReads).why(call.customer, id)
    // Senders write names and codes into their texts.
    if !call.seesPersonal { reply.message = MessageBody() }
    return reply
  }
}
