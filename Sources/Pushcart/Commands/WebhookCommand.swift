public import ArgumentParser
import Operations
public import Wire

extension EventWebhookID: ExpressibleByArgument {}
extension EventDeliveryID: ExpressibleByArgument {}
extension WebhookEvent: ExpressibleByArgument {}
extension EventWebhookForm: ExpressibleByArgument {}
extension EventWebhookOperations: CommandedOperations { static var commands: [Command] { [WebhookCommand.self] } }

struct WebhookCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "webhook", abstract: "Tell addresses what happens, and see what came of it.",
    discussion: """
      Posts are signed as Standard Webhooks has it, and repeated until they are taken. Webhooks of data trees are those of \
      pushcart datasync webhook.
      """,
    subcommands: [
      Add.self, Update.self, List.self, Show.self, Remove.self, Rotate.self, Test.self, Deliveries.self,
      ShowDelivery.self, Redeliver.self,
    ])

  struct Add: OperationCommand {
    static let operation = EventWebhookOperations.add
    static let needsMasterKey = true
    static let configuration = CommandConfiguration(
      abstract: "Add a webhook, and show its secret once.",
      discussion: """
        Example: pushcart webhook add --customer 1 --url https://hooks.example.com/pushcart --event sendout.finished push.failed
        """)

    @Option(help: "Number of the customer.") var customer: CustomerID
    @Option(help: "https address that is posted to.") var url: String
    @Option(parsing: .upToNextOption, help: "What it is told; can be several.") var event: [WebhookEvent]
    @Option(parsing: .unconditional, help: "What it is for.") var description: String?
    @Option(help: "What posts look like: standard or carma. (default: standard)") var form: EventWebhookForm?
    @OptionGroup var options: ManagementOptions

    var body: EventWebhookRequest {
      EventWebhookRequest(url: url, events: event, description: description, form: form)
    }

    func text(_ webhook: EventWebhookReply) -> String {
      "Webhook \(webhook.webhookId) is added. Its secret is shown this once:\n\(webhook.secret ?? "")\n"
    }
  }

  struct Update: NumberedCommand {
    static let operation = EventWebhookOperations.change
    static let configuration = CommandConfiguration(
      abstract: "Change a webhook. Options that are left out change nothing.",
      discussion: "Example: pushcart webhook update 3 --customer 1 --enabled true")

    @OptionGroup var which: NumberOptions<EventWebhookReply>
    @Option(help: "https address that is posted to.") var url: String?
    @Option(parsing: .upToNextOption, help: "What it is told; can be several.") var event: [WebhookEvent] = []
    @Option(parsing: .unconditional, help: "What it is for; \"\" removes it.") var description: String?
    @Option(help: "Whether it is told anything: true or false.") var enabled: Bool?
    @OptionGroup var options: ManagementOptions

    var body: EventWebhookRequest {
      EventWebhookRequest(
        url: url, events: event.isEmpty ? nil : event, description: description, enabled: enabled)
    }

    func text(_ webhook: EventWebhookReply) -> String { "Webhook \(webhook.webhookId) is changed.\n" }
  }

  struct List: ListingCommand {
    static let operation = EventWebhookOperations.list
    static let configuration = CommandConfiguration(
      abstract: "List a customer's webhooks.", discussion: "Example: pushcart webhook list --customer 1")
    static let things = "webhooks"
    static var columns: [Column] {
      [
        Column("#Webhook") { "\($0.webhookId)" },
        Column("Address") { $0.url.text },
        Column("Events") { $0.events.map(\.rawValue).joined(separator: " ") },
        Column("State") { $0.state },
      ]
    }

    @OptionGroup var common: CustomerOptions
  }

  struct Show: NumberedCommand {
    static let operation = EventWebhookOperations.show
    static let configuration = CommandConfiguration(
      abstract: "Show a webhook.", discussion: "Example: pushcart webhook show 3 --customer 1")

    @OptionGroup var which: NumberOptions<EventWebhookReply>
    @OptionGroup var options: ManagementOptions

    func text(_ webhook: EventWebhookReply) -> String {
      var table = TextTable("Field", "Value")
      table.add("address", webhook.url.text)
      table.add("events", webhook.events.map(\.rawValue).joined(separator: " "))
      table.add("form", webhook.form.rawValue)
      table.add("description", webhook.description)
      table.add("state", webhook.state)
      if let until = webhook.formerSecretUntil { table.add("former secret", "signs until \(until.forPeople)") }
      return "Webhook \(webhook.webhookId)\n" + table.text(empty: "")
    }
  }

  struct Remove: NumberedCommand {
    static let operation = EventWebhookOperations.remove
    static let configuration = CommandConfiguration(
      abstract: "Remove a webhook. What is due to it is dropped.",
      discussion: "Example: pushcart webhook remove 3 --customer 1")

    @OptionGroup var which: NumberOptions<EventWebhookReply>
    @OptionGroup var options: ManagementOptions

    func text(_ webhook: EventWebhookReply) -> String { "Webhook \(webhook.webhookId) is removed.\n" }
  }

  struct Rotate: NumberedCommand {
    static let operation = EventWebhookOperations.rotate
    static let needsMasterKey = true
    static let configuration = CommandConfiguration(
      abstract: "Make a new secret. The one before signs beside it for 24 hours.",
      discussion: "Example: pushcart webhook rotate 3 --customer 1")

    @OptionGroup var which: NumberOptions<EventWebhookReply>
    @OptionGroup var options: ManagementOptions

    func text(_ webhook: EventWebhookReply) -> String {
      "Webhook \(webhook.webhookId) has a new secret, which is shown this once:\n\(webhook.secret ?? "")\n"
    }
  }

  struct Test: NumberedCommand {
    static let operation = EventWebhookOperations.test
    static let configuration = CommandConfiguration(
      abstract: "Post a test.",
      discussion: """
        A hub posts it within a second. pushcart webhook deliveries shows what came of it.

        Example: pushcart webhook test 3 --customer 1
        """)

    @OptionGroup var which: NumberOptions<EventWebhookReply>
    @OptionGroup var options: ManagementOptions

    func text(_ delivery: EventDeliveryReply) -> String { "Delivery \(delivery.deliveryId) is to be posted.\n" }
  }

  struct Deliveries: NumberedCommand {
    static let operation = EventWebhookOperations.deliveries
    static let configuration = CommandConfiguration(
      abstract: "List the deliveries of a webhook, the newest first.",
      discussion: "Example: pushcart webhook deliveries 3 --customer 1")

    @OptionGroup var which: NumberOptions<EventWebhookReply>
    @OptionGroup var paging: PageOptions<EventDeliveryID>
    @OptionGroup var options: ManagementOptions

    var target: (EventWebhookID, PageRequest<EventDeliveryID>) { (which.number, paging.request) }

    func text(_ page: Page<EventDeliveryReply, EventDeliveryID>) -> String {
      let columns: [TableColumn<EventDeliveryReply>] = [
        TableColumn("#Delivery") { "\($0.deliveryId)" },
        TableColumn("Event") { $0.event.rawValue },
        TableColumn("#Items") { "\($0.items)" },
        TableColumn("State") { $0.state.rawValue },
        TableColumn("#Attempts") { "\($0.attempts)" },
        TableColumn("Problem") { $0.problem },
        TableColumn("Made (UTC)") { $0.createdAt.forPeople },
        TableColumn("Next (UTC)") { $0.nextAt?.forPeople },
      ]
      return TextTable(columns, of: page.items).text(empty: "Webhook \(which.number) has no deliveries.") + page.more
    }
  }

  struct ShowDelivery: NumberedCommand {
    static let operation = EventWebhookOperations.delivery
    static let configuration = CommandConfiguration(
      commandName: "delivery", abstract: "Show a delivery with the body that its posts have.",
      discussion: "Example: pushcart webhook delivery 3 12 --customer 1")

    @OptionGroup var which: NumberOptions<EventWebhookReply>
    @Argument(help: "Number of the delivery.") var delivery: EventDeliveryID
    @OptionGroup var options: ManagementOptions

    var target: (EventWebhookID, EventDeliveryID) { (which.number, delivery) }

    func text(_ delivery: EventDeliveryReply) -> String {
      var table = TextTable("Field", "Value")
      table.add("webhook-id", delivery.messageId)
      table.add("event", delivery.event.rawValue)
      table.add("state", delivery.state.rawValue)
      table.add("attempts", "\(delivery.attempts)")
      table.add("problem", delivery.problem)
      table.add("next", delivery.nextAt?.forPeople)
      let body = delivery.body.map { String(decoding: $0.json, as: UTF8.self) }
      return "Delivery \(delivery.deliveryId)\n" + table.text(empty: "")
        + (body ?? "What it tells of has been deleted.") + "\n"
    }
  }

  struct Redeliver: NumberedCommand {
    static let operation = EventWebhookOperations.redeliver
    static let configuration = CommandConfiguration(
      abstract: "Post a delivery again, with the same webhook-id.",
      discussion: "Example: pushcart webhook redeliver 3 12 --customer 1")

    @OptionGroup var which: NumberOptions<EventWebhookReply>
    @Argument(help: "Number of the delivery.") var delivery: EventDeliveryID
    @OptionGroup var options: ManagementOptions

    var target: (EventWebhookID, EventDeliveryID) { (which.number, delivery) }

    func text(_ delivery: EventDeliveryReply) -> String { "Delivery \(delivery.deliveryId) is to be posted again.\n" }
  }
}

extension EventWebhookReply {
  /// In a few words.
  fileprivate var state: String {
    if let disabledReason { return "disabled: \(disabledReason)" }
    if !enabled { return "disabled" }
    return failingSince.map { "has taken nothing since \($0.forPeople)" } ?? "enabled"
  }
}
