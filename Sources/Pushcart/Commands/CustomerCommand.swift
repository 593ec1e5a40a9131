import ArgumentParser
import Postgres
import Registry
import Web
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
          .record(.addCustomer, "customer \(added.customerId)", after: added)
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
        var table = TextTable("#Customer", "Name", "#Devices per contact", "#Link days", "Added (UTC)")
        for customer in page.items {
          table.add(
            "\(customer.customerId)", customer.name, "\(customer.devicesPerContact)",
            customer.linkMaxAgeDays.map { "\($0)" }, customer.createdAt.forPeople)
        }
        return table.text(empty: "There are no customers yet: pushcart customer add --name ACME")
      }
    }
  }

  struct Update: ManagementCommand {
    static let configuration = CommandConfiguration(
      abstract: "Change a customer's settings.",
      discussion: "Example: pushcart customer update --customer 1 --devices-per-contact 20")

    @Option(help: "Number of the customer.") var customer: CustomerID
    @Option(help: "Most valid devices of a contact, up to 1000; one more invalidates the oldest one.")
    var devicesPerContact: Int32
    @OptionGroup var options: ManagementOptions

    func run(in stores: ManagementStores) async throws {
      let request = CustomerChangeRequest(devicesPerContact: devicesPerContact)
      let changed = try await stores.change(customer) { try await $0.changeCustomer(request) }
      try options.output.show(changed) {
        "Contacts of customer \($0.customerId) have up to \($0.devicesPerContact) devices.\n"
      }
    }
  }
}
