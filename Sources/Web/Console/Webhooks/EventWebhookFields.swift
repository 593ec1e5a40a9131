import Operations
import Wire

/// Forms of webhooks of events: where they lead, and what they are told.
enum EventWebhookFields {
  static let added = [
    EventWebhookRequest.form.field(
      "url", label: "Address", kind: .text,
      hint: "https, at a host of the internet. It has to answer 200 to 299 within ten seconds. No redirect is followed."
    ),
    events(of: .standard),
    EventWebhookRequest.form.field(
      "form", label: "Form",
      kind: .choice([
        FormField.Choice(EventWebhookForm.standard.rawValue, "Standard Webhooks: type, timestamp and data"),
        FormField.Choice(EventWebhookForm.carma.rawValue, "Carma: its own events and names"),
      ]), hint: "It stays as it is chosen now. Carma has events for those alone that name Carma's.", isRequired: true),
    EventWebhookRequest.form.field("description", label: "Description", kind: .text),
  ]

  static func changed(_ form: EventWebhookForm) -> [FormField] {
    [
      EventWebhookRequest.change.field(
        "url", label: "Address", kind: .text,
        hint: "It is shown without its query, and keeps that if it is saved as it is shown.", isRequired: true),
      events(of: form),
      EventWebhookRequest.change.field("description", label: "Description", kind: .text, hint: "Empty for none."),
    ]
  }

  /// What an action knows before it knows the webhook.
  static let anyChanged = changed(.standard)

  private static func events(of form: EventWebhookForm) -> FormField {
    let events = WebhookEvent.allCases.filter { form == .standard || $0.carmaName != nil }
    return FormField(
      "events", label: "Events",
      kind: .choices(
        events.map { event in
          let name = event.carmaName.map { " Carma calls it \($0)." } ?? ""
          return FormField.Choice(event.rawValue, "\(event.rawValue): \(event.meaning)\(name)")
        }), isRequired: true)
  }

  /// The events that are ticked.
  /// - Throws: `HTTPErrorResponse` (400), naming the field.
  static func events(_ form: FormValues) throws -> [WebhookEvent] {
    let events = try form.all("events").map { name in
      guard let event = WebhookEvent(rawValue: name) else {
        throw HTTPErrorResponse.badRequest("events has one that the hub does not know: choose among these.")
      }
      return event
    }
    guard !events.isEmpty else { throw HTTPErrorResponse.badRequest("events is empty: tick one at least.") }
    return events
  }

  /// The address as it was typed; `nil` where it is still as the webhook's is shown, which may lack a part.
  static func url(_ form: FormValues, of webhook: EventWebhookReply) throws -> String? {
    guard let url = form.text("url").map({ String($0.trimmed) }), !url.isEmpty else {
      throw HTTPErrorResponse.badRequest("url is missing: give the address that is posted to.")
    }
    return url.hasSameBytes(as: webhook.url.text) ? nil : url
  }
}

extension WebhookEvent {
  /// One sentence.
  var meaning: String {
    switch self {
    case .sendoutStarted: "A sendout's audience is fixed, and its pushes begin to leave."
    case .sendoutPaused: "A person or the hub has paused a sendout."
    case .sendoutFinished: "A sendout has ended, or was cancelled after its start."
    case .pushAccepted: "A push service has accepted a push."
    case .pushFailed: "A push has failed for good."
    case .pushOpened: "A person has opened a push for the first time."
    case .messageDelivered: "A provider says that an SMS has arrived, or a phone that a message has."
    case .deviceInvalidated: "A device is sent to no more."
    case .contactUpdated: "Fields of a contact have changed."
    case .contactSuppressed: "Somebody gets no marketing from now on, or nothing at all."
    case .triggerFailed: "A trigger's message has failed on all devices."
    case .importFinished: "An import has ended."
    case .appRefused: "An app has an alarm, such as refused credentials."
    case .certificateExpiring: "A push certificate ends in 30, 14, 7 or 1 days, or has ended."
    case .webhookTest: "Somebody has asked for a test. Tests that are asked for here come without it, too."
    }
  }
}
