import Operations
import Registry
import Wire

/// Single messages: the newest, and what became of one.
enum MessagePages {
  static let pages = [messages, message]
  static let actions: [ConsoleAction] = []

  private static let messages = ConsolePage(
    path: "/console/messages", title: "Messages", section: .messages,
    reads: [AnyOperation(MessageHistoryOperations.list)], query: ["state", "after"]
  ) { call in
    let state = try call.given("state", MessageState.self)
    let after = call.query.value("after")
    let page = try await call.read(MessageHistoryOperations.list, (state, PageRequest(after: after, limit: 50)))
    return ConsoleView(
      title: "Messages", template: "messages",
      values: [
        "rows": page.items.map { message -> [String: Any] in
          [
            "href": "/console/messages/\(message.messageId)", "id": message.messageId,
            "state": shown(message.state), "contact": message.originalId ?? "",
            "contactHref": "/console/contacts/\(message.contactId)", "seesContact": call.allows(ContactOperations.show),
            "reference": message.reference ?? "", "alert": message.alert ?? "",
            "at": call.zone.time(message.createdAt), "due": message.deliverAt.map { [call.zone.time($0)] } ?? [],
          ]
        },
        "hasRows": !page.items.isEmpty, "hidesPersonal": !call.user.seesPersonal,
        "states": MessageState.allCases.map { each -> [String: Any] in
          ["value": each.rawValue, "label": shown(each)["text"] ?? "", "isSelected": each == state]
        },
        "pager": ConsolePath.pager("/console/messages", ["state": state?.rawValue], after: after, page.next),
        "nobody": page.items.isEmpty && (state != nil || page.next != nil),
        "first": page.items.isEmpty && state == nil && after == nil ? [firstSteps(call)] : [],
      ],
      sql: """
        SELECT sendout_id, message_no, contact_id, reference, created_at
          FROM message WHERE customer_id = \(call.customer) ORDER BY sendout_id DESC, message_no DESC LIMIT 50;
        """)
  }

  private static func firstSteps(_ call: ConsoleCall) -> [String: Any] {
    [
      "title": "There are no single messages yet",
      "text": "Back ends send one to a contact, such as a receipt or a code. So can you, from a contact's page.",
      "command": """
      pushcart message send --customer \(call.customer) --app com.acme.app --to lars@example.com \\
        --alert "Your parcel is here"
      """,
      "link": call.allows(ContactOperations.list)
        ? [["href": "/console/contacts", "label": "Look for a contact"]] : [],
    ]
  }

  /// For `{{>_state}}`.
  static func shown(_ state: MessageState) -> [String: Any] {
    switch state {
    case .queued: ["tone": "idle", "text": "Due later"]
    case .sending: ["tone": "warn", "text": "Sending"]
    case .waiting: ["tone": "warn", "text": "Tried again later"]
    case .accepted: ["tone": "ok", "text": "Accepted"]
    case .failed: ["tone": "bad", "text": "Failed"]
    case .noDevice: ["tone": "bad", "text": "No device"]
    }
  }

  private static func shown(_ state: PushState) -> [String: Any] {
    switch state {
    case .queued: ["tone": "idle", "text": "Queued"]
    case .waiting: ["tone": "warn", "text": "Waits"]
    case .accepted: ["tone": "ok", "text": "Accepted"]
    case .failed: ["tone": "bad", "text": "Failed"]
    case .uncertain: ["tone": "warn", "text": "Uncertain"]
    case .skipped: ["tone": "idle", "text": "Skipped"]
    case .cancelled: ["tone": "idle", "text": "Not needed"]
    }
  }

  // MARK: One message

  private static let message = ConsolePage(
    path: "/console/messages/{messageId}", title: "Message", section: .messages,
    reads: [AnyOperation(MessageHistoryOperations.why)]
  ) { call in
    let message = try await call.read(MessageHistoryOperations.why, call.path["messageId"] ?? "")
    let id = message.messageId
    return ConsoleView(
      title: "Message \(id)", template: "message",
      values: [
        "id": id, "state": shown(message.state), "contact": message.originalId ?? "",
        "contactHref": call.allows(ContactOperations.show) && message.originalId != nil
          ? "/console/contacts/\(message.contactId)" : "",
        "contactId": message.contactId, "reference": message.reference ?? "",
        "stream": "/console/sendouts/\(id.sendout)", "streamId": id.sendout,
        "alert": message.message.alert ?? "", "info": message.message.info ?? "",
        "hidesPersonal": !call.user.seesPersonal, "accepted": call.zone.time(message.createdAt),
        "due": message.deliverAt.map { [call.zone.time($0)] } ?? [],
        "expires": message.expiresAt.map { [call.zone.time($0)] } ?? [],
        "pushes": message.pushes.map { push -> [String: Any] in
          [
            "id": push.pushNo, "platform": push.appType.platform, "state": shown(push.state),
            "reason": push.reason ?? "", "isFallback": push.appType == .sms && message.pushes.count > 1,
          ]
        },
        "hasPushes": !message.pushes.isEmpty,
        "lines": message.lines.map { line -> [String: Any] in
          [
            "at": line.at.map { [call.zone.time($0)] } ?? [], "text": line.text,
            "push": line.pushNo?.description ?? "", "device": line.deviceId?.description ?? "",
          ]
        },
      ],
      sql: """
        SELECT * FROM message
         WHERE customer_id = \(call.customer) AND sendout_id = \(id.sendout) AND message_no = \(id.number);
        SELECT push_no, state, attempts, reason, sent_at, settled_at, opened_at FROM push
         WHERE customer_id = \(call.customer) AND sendout_id = \(id.sendout) AND message_no = \(id.number);
        """, isLive: [.sending, .waiting].contains(message.state))
  }
}
