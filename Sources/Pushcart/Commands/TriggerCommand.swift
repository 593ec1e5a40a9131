import ArgumentParser
import FoundationEssentials
import Operations
import Sendouts
import Wire

extension TriggerOperations: CommandedOperations { static var commands: [Command] { [TriggerCommand.self] } }

struct TriggerCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "trigger", abstract: "Add, change, list, show and remove triggers, and send their messages.",
    discussion: "A trigger is a named message that back ends send to one contact at a time, by Carma's routes.",
    subcommands: [Add.self, Update.self, List.self, Show.self, Figures.self, Remove.self, Send.self])

  struct Add: ChangingCommand {
    static let operation = TriggerOperations.add
    static let configuration = CommandConfiguration(
      abstract: "Add a trigger.",
      discussion: """
        Example: pushcart trigger add --customer 1 --name "Order shipped" --app com.acme.app \
        --alert "{{firstName}}, your order {{orderNo}} is on its way"
        """)

    @Option(help: "Number of the customer.") var customer: CustomerID
    @Option(parsing: .unconditional, help: "Display name, unique among the customer's triggers.") var name: String
    @Option(parsing: .unconditional, help: "What it is for.") var description: String?
    @Option(parsing: .upToNextOption, help: "Bundle id of the app, or of several.") var app: [String]
    @OptionGroup(title: "Message") var message: MessageOptions
    @Option(help: "What its messages are for: transactional or marketing. (default: transactional)")
    var purpose: MessagePurpose?
    @Option(help: "Template of the rich page. (default: no page)") var template: String?
    @OptionGroup var options: ManagementOptions

    var body: TriggerRequest {
      get throws {
        TriggerRequest(
          name: name, description: description, appIds: app, message: try message.body, purpose: purpose,
          template: template)
      }
    }
  }

  struct Update: ChangingCommand, NamedCommand {
    static let operation = TriggerOperations.change
    static let configuration = CommandConfiguration(
      abstract: "Change a trigger. Options that are left out change nothing.",
      discussion: """
        One option of the message replaces the message as a whole. An inactive trigger refuses messages.

        Example: pushcart trigger update 1 --customer 1 --active false
        """)

    @OptionGroup var which: ReferenceOptions<TriggerReply>
    @Option(parsing: .unconditional, help: "Display name.") var name: String?
    @Option(parsing: .unconditional, help: "What it is for; \"\" removes it.") var description: String?
    @Option(parsing: .upToNextOption, help: "Bundle id of the app, or of several.") var app: [String] = []
    @OptionGroup(title: "Message") var message: MessageOptions
    @Option(help: "What its messages are for: transactional or marketing.") var purpose: MessagePurpose?
    @Option(help: "Template of the rich page; \"\" removes it.") var template: String?
    @Option(help: "Whether it takes messages: true or false.") var active: Bool?
    @OptionGroup var options: ManagementOptions

    var body: TriggerRequest {
      get throws {
        let message = try message.body
        return TriggerRequest(
          name: name, description: description, appIds: app.isEmpty ? nil : app,
          message: message == MessageBody() ? nil : message, purpose: purpose,
          template: template, active: active)
      }
    }
  }

  struct List: ListingCommand {
    static let operation = TriggerOperations.list
    static let configuration = CommandConfiguration(
      abstract: "List a customer's triggers.", discussion: "Example: pushcart trigger list --customer 1")
    static let things = "triggers"
    static var columns: [Column] {
      [
        Column("#Trigger") { "\($0.triggerId)" },
        Column("Name") { $0.name },
        Column("Apps") { $0.appIds.joined(separator: ", ") },
        Column("Active") { $0.active ? "yes" : "no" },
        Column("Changed (UTC)") { $0.updatedAt.forPeople },
      ]
    }

    @OptionGroup var common: CustomerOptions
  }

  struct Show: NamedCommand {
    static let operation = TriggerOperations.show
    static let configuration = CommandConfiguration(
      abstract: "Show a trigger.", discussion: "Example: pushcart trigger show 1 --customer 1")

    @OptionGroup var which: ReferenceOptions<TriggerReply>
    @OptionGroup var options: ManagementOptions

    func text(_ trigger: TriggerReply) -> String {
      var table = TextTable("Field", "Value")
      table.add("name", trigger.name)
      table.add("description", trigger.description)
      table.add("apps", trigger.appIds.joined(separator: ", "))
      table.add("alert", trigger.message.alert)
      table.add("info", trigger.message.info)
      table.add("purpose", trigger.purpose.rawValue)
      table.add("template", trigger.template)
      table.add("active", trigger.active ? "yes" : "no")
      return "Trigger \(trigger.triggerId)\n" + table.text(empty: "")
    }
  }

  struct Figures: NamedCommand {
    static let operation = TriggerOperations.figures
    static let configuration = CommandConfiguration(
      abstract: "Show what became of a trigger's messages, by day.",
      discussion: "Example: pushcart trigger figures 1 --customer 1 --days 7")

    @OptionGroup var which: ReferenceOptions<TriggerReply>
    @Option(help: "How many days. (default: 30)") var days: Int32?
    @OptionGroup var options: ManagementOptions

    var target: (TriggerID, Int32?) { (which.number, days) }

    func text(_ figures: TriggerFigures) -> String {
      let columns: [TableColumn<TriggerDay>] = [
        TableColumn("Day (UTC)") { $0.day }, TableColumn("#Messages") { $0.messages.map { "\($0)" } },
        TableColumn("#Pushes") { "\($0.pushes)" }, TableColumn("#Accepted") { "\($0.accepted)" },
        TableColumn("#Failed") { "\($0.failed)" }, TableColumn("#Opened") { "\($0.opened)" },
      ]
      let days = figures.days.filter { $0.pushes > 0 || $0.messages ?? 0 > 0 }
      return "Trigger \(figures.triggerId), \(figures.name.onOneLine)\n"
        + TextTable(columns, of: days).text(empty: "It has caused nothing in these days.")
    }
  }

  struct Remove: ChangingCommand, NamedCommand {
    static let operation = TriggerOperations.remove
    static let configuration = CommandConfiguration(
      abstract: "Remove a trigger. What it has sent stays in reports.",
      discussion: "Example: pushcart trigger remove 1 --customer 1")

    @OptionGroup var which: ReferenceOptions<TriggerReply>
    @OptionGroup var options: ManagementOptions
  }

  struct Send: ManagementCommand {
    static let needsMasterKey = true
    static let configuration = CommandConfiguration(
      abstract: "Send a trigger's message to one contact.",
      discussion: """
        A running hub sends it.

        Example: pushcart trigger send 1 --customer 1 --to lars@example.com --property orderNo=A-17 --at 2026-11-20T09:00:00Z
        """)

    @OptionGroup var which: ReferenceOptions<TriggerReply>
    @Option(parsing: .unconditional, help: "The contact with this original id.") var to: String
    @Option(
      name: .customLong("property"), parsing: .upToNextOption,
      help: ArgumentHelp("What the texts can name, before the contact's own properties.", valueName: "name=value"))
    var properties: [String] = []
    @Option(
      help:
        "When it is due, up to \(MessageRequest.maximumDelay) days ahead, as in 2026-11-20T09:00:00Z. (default: now)")
    var at: Timestamp?
    @OptionGroup var options: ManagementOptions

    func validate() throws { _ = try NamedValue.all(properties, of: "property") }

    func run(in stores: ManagementStores) async throws {
      let pairs = try NamedValue.all(properties, of: "property").map { ($0.name, $0.value) }
      var message = TriggerMessage()
      message.originalId = to
      message.properties = String(decoding: try JSONCoding.encode(Dictionary(pairs) { $1 }), as: UTF8.self)
      if let at {
        guard let date = CarmaDate(milliseconds: at.milliseconds) else {
          throw ValidationError("--at must be \(Timestamp.expectation).")
        }
        message.deliveryTime = .set(date)
      }
      let number = try await which.number(in: stores)
      let trigger = try await stores.call(TriggerOperations.show, of: which.customer, number, ())
      let reply = try await stores.messages.send(which.customer, message, by: trigger).message
      try options.output.show(reply) { $0.text }
    }
  }
}
