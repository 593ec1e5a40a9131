import Operations
import Registry
import Wire

/// One delivery of a webhook of events: what came of it, and what it says.
enum EventDeliveryPages {
  static let pages = [one]
  static let actions = [redeliver]

  private static let root = "/console/webhooks/{id}/deliveries/{delivery}"

  static func path(_ webhook: EventWebhookID, _ delivery: EventDeliveryID) -> String {
    "\(EventWebhookPages.path(webhook))/deliveries/\(delivery)"
  }

  /// Most items of a body that the page has: a page stays small.
  private static let mostItems = 20

  private static let one = ConsolePage(
    path: root, title: "Delivery", section: .settings,
    reads: [AnyOperation(EventWebhookOperations.show), AnyOperation(EventWebhookOperations.delivery)]
  ) { call in
    let (id, number): (EventWebhookID, EventDeliveryID) = (try call.number(), try call.number("delivery"))
    let webhook = try await call.read(EventWebhookOperations.show, id)
    let delivery = try await call.read(EventWebhookOperations.delivery, (id, number))
    let (shown, left) = shortened(delivery.body)
    var values = delivery.row(call, isEnabled: webhook.enabled)
    values.merge([
      "back": EventWebhookPages.path(id), "backText": "Webhook \(id)", "messageId": delivery.messageId,
      "url": webhook.url.text, "body": shown.map { [["text": $0]] } ?? [],
      "left": left == 0 ? "" : ChartText.grouped(left), "isPersonal": call.user.seesPersonal,
      "redeliver": webhook.enabled && call.allows(EventWebhookOperations.redeliver)
        ? "\(path(id, number))/redeliver" : "",
      "isDisabled": !webhook.enabled, "errors": call.refusals,
    ]) { $1 }
    return ConsoleView(
      title: "Delivery \(number)", template: "event-delivery", values: values,
      sql: """
        SELECT * FROM webhook_delivery
         WHERE customer_id = \(call.customer) AND webhook_id = \(id) AND delivery_id = \(number);
        """,
      isLive: webhook.enabled && delivery.state == .waiting)
  }

  /// A body's text, indented, with its first items; and how many are left out.
  static func shortened(_ body: JSONValue?) -> (text: String?, left: Int) {
    guard let body else { return (nil, 0) }
    var (shown, left) = (body, 0)
    func first(_ items: [JSONValue]) -> JSONValue {
      left = max(0, items.count - mostItems)
      return .array(Array(items.prefix(mostItems)))
    }
    if case .array(let items) = body { shown = first(items) }
    if case .object(var members) = body, case .array(let items)? = members["data"] {
      members["data"] = first(items)
      shown = .object(members)
    }
    return (String(decoding: PrettyJSON.bytes(shown.json), as: UTF8.self), left)
  }

  private static let redeliver = ConsoleAction(
    path: "\(root)/redeliver", operation: AnyOperation(EventWebhookOperations.redeliver), form: root
  ) { call in
    let (id, number): (EventWebhookID, EventDeliveryID) = (try call.number(), try call.number("delivery"))
    _ = try await call.change(EventWebhookOperations.redeliver, (id, number), ())
    return .see(
      path(id, number), notice: "Delivery \(number) is posted again within a second, with the same webhook-id.")
  }
}

extension EventDeliveryReply {
  /// What lists and pages show of it.
  /// - Parameter isEnabled: whether its webhook is; nothing leaves to one that is not.
  func row(_ call: ConsoleCall, isEnabled: Bool) -> [String: Any] {
    [
      "delivery": "\(deliveryId)", "event": event.rawValue, "items": ChartText.grouped(items),
      "deliveryState": badge(isEnabled), "attempts": ChartText.grouped(attempts), "answer": answer,
      "made": call.zone.time(createdAt), "tried": triedAt.map { [call.zone.time($0)] } ?? [],
      "next": nextAt.map { isEnabled ? [call.zone.time($0)] : [] } ?? [],
    ]
  }

  private func badge(_ isEnabled: Bool) -> [String: Any] {
    switch state {
    case .delivered: ["text": "Delivered", "tone": "ok"]
    case .failed: ["text": "Given up", "tone": "bad"]
    case .waiting where !isEnabled: ["text": "Until it is enabled", "tone": "idle"]
    case .waiting: problem == nil ? ["text": "Waiting", "tone": "idle"] : ["text": "Trying again", "tone": "warn"]
    }
  }

  /// What the address answered to the last attempt, in a sentence.
  private var answer: String {
    if let status { return "It answered \(status)." }
    guard let problem else { return state == .delivered ? "It was taken." : "" }
    guard let reason = HubReason(rawValue: problem) else { return problem }
    return reason == .requestTimeout
      ? "No answer came within ten seconds." : reason.meaning.replacing("`", with: "")
  }
}
