import ArgumentParser
import Operations
import Postgres
import Registry
import Wire

struct CustomerCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "customer", abstract: "Add, list and change customers.",
    discussion: "A customer is a tenant: apps, contacts, keys and sendouts belong to exactly one.",
    subcommands: [Add.self, List.self, Update.self])

  struct Add: ManagementCommand {
    static let configuration = CommandConfiguration(
      abstract: "Add a customer.", discussion: "Example: pushcart customer add --name ACME --json")

    @Option(parsing: .unconditional, help: "Display name; need not be unique.") var name: String
    @OptionGroup var options: ManagementOptions

    func run(in stores: ManagementStores) async throws {
      let name = name
      let customer = try await stores.pool.transaction { transaction in
        let added = CustomerReply(try await Customers(transaction).add(name: name))
        try await ManagementChange(transaction, customer: added.customerId, actor: ManagementStores.actor)
          .record(.other(.addCustomer), "customer \(added.customerId)", after: added)
        return added
      }
      try options.output.show(customer) { "Customer \($0.customerId), \($0.name.onOneLine), is added.\n" }
    }
  }

  struct List: ManagementCommand {
    static let configuration = CommandConfiguration(
      abstract: "List the customers.", discussion: "Example: pushcart customer list")

    @OptionGroup var options: ManagementOptions

    func run(in stores: ManagementStores) async throws {
      let customers = try await stores.customers.all().map { CustomerReply($0) }
      try options.output.show(Page<CustomerReply, CustomerID>(items: customers, next: nil)) { page in
        var table = TextTable(
          "#Customer", "Name", "#Devices per contact", "#Link days", "#Retention days", "Time zone", "Quiet hours",
          "Caps", "Added (UTC)")
        for customer in page.items {
          table.add(
            "\(customer.customerId)", customer.name, "\(customer.devicesPerContact)",
            customer.linkMaxAgeDays.map { "\($0)" }, customer.retentionDays.map { "\($0)" }, customer.timeZone,
            customer.quietHours?.argument, customer.caps.isEmpty ? nil : customer.caps.named,
            customer.createdAt.forPeople)
        }
        return table.text(empty: "There are no customers yet: pushcart customer add --name ACME")
      }
    }
  }

  struct Update: OperationCommand {
    static let operation = CustomerOperations.change
    static let configuration = CommandConfiguration(
      abstract: "Change a customer's settings.",
      discussion: """
        Quiet hours are about marketing, and caps about what they say. --quiet-hours "" and --cap "" remove them.

        Example: pushcart customer update --customer 1 --devices-per-contact 20

        Example: pushcart customer update --customer 1 --time-zone Europe/Stockholm --quiet-hours 21:00-08:00 \
        --cap 3/24h/marketing 10/7d
        """)

    @Option(help: "Number of the customer.") var customer: CustomerID
    @Option(parsing: .unconditional, help: "A name for people.") var name: String?
    @Option(help: "Most valid devices of a contact, up to 1000; one more invalidates the oldest one.")
    var devicesPerContact: Int32?
    @Option(
      help: """
        Days after its end that a sendout keeps its pushes, up to 36500; 0 for as long as the hub keeps them \
        (\(Setting.retentionDays.variable)).
        """)
    var retentionDays: Int32?
    @Option(help: "Time zone of the console's times, and of contacts whose own is not known, as in Europe/Berlin.")
    var timeZone: String?
    @Option(
      help: "Whether a second person has to start a sendout that somebody wrote in the console: true or false.")
    var approval: Bool?
    @Option(help: "The console sends to more devices than this only after somebody has typed their number.")
    var sendThreshold: Int32?
    @Option(
      help: """
        When marketing waits, as in 21:00-08:00, or is not sent, as in 21:00-08:00/skip, by the recipient's clock; "" for never.
        """, transform: { try Change(option: $0) { try QuietHours(option: $0) } })
    var quietHours: Change<QuietHours>?
    @Option(
      name: .customLong("cap"), parsing: .upToNextOption,
      help: """
        How often a contact is reached at most, as in 3/24h, or 3/24h/marketing for messages of that purpose; up to \
        \(Cap.maximumCount), which replace those there are. "" for no limit.
        """, transform: { try Change(option: $0) { try Cap(option: $0) } })
    var caps: [Change<Cap>] = []
    @OptionGroup var options: ManagementOptions

    func validate() throws {
      guard body != CustomerChangeRequest() else {
        throw ValidationError(
          """
          Give --name, --devices-per-contact, --retention-days, --time-zone, --approval, --send-threshold, --quiet-hours or --cap.
          """)
      }
    }

    var body: CustomerChangeRequest {
      CustomerChangeRequest(
        name: name, devicesPerContact: devicesPerContact, retentionDays: retentionDays, timeZone: timeZone,
        approval: approval, sendThreshold: sendThreshold, quietHours: quietHours,
        caps: caps.isEmpty ? nil : caps.compactMap(\.value))
    }

    func text(_ customer: CustomerReply) -> String {
      let days = customer.retentionDays.map { "for \($0) days at most" } ?? "as long as the hub keeps them"
      return """
        Contacts of customer \(customer.customerId) have up to \(customer.devicesPerContact) devices.
        Pushes of ended sendouts are kept \(days).
        Quiet hours: \(customer.quietHours?.argument ?? "none"). Caps: \(customer.caps.isEmpty ? "none" : customer.caps.named).
        The console shows times of \(customer.timeZone.onOneLine), where contacts without a zone of their own are, too.
        It asks for the number of devices above \(customer.sendThreshold).
        \(customer.approval ? "A second person starts what one has written in it." : "Whoever has written a sendout in it can start it.")

        """
    }
  }
}

extension QuietHours {
  /// As the option takes it.
  var argument: String { "\(start)-\(end)/\((policy ?? .hold).rawValue)" }
}

extension [Cap] {
  /// As in `3/24h marketing, 10/7d`.
  fileprivate var named: String { map(\.name).joined(separator: ", ") }
}
