import ArgumentParser
import Registry
import Web
import Wire

struct CustomerCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "customer", abstract: "Add and list customers.",
    discussion: "A customer is a tenant: apps, contacts, keys and sendouts belong to exactly one.",
    subcommands: [Add.self, List.self])

  struct Add: ManagementCommand {
    static let configuration = CommandConfiguration(
      abstract: "Add a customer.", discussion: "Example: pushcart customer add --name ACME --json")

    @Option(parsing: .unconditional, help: "Display name; need not be unique.") var name: String
    @OptionGroup var options: ManagementOptions

    func run(in stores: ManagementStores) async throws {
      let customer = CustomerReply(try await stores.customers.add(name: name))
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
        var table = TextTable("#Customer", "Name", "Added (UTC)")
        for customer in page.items {
          table.add("\(customer.customerId)", customer.name, customer.createdAt.forPeople)
        }
        return table.text(empty: "There are no customers yet: pushcart customer add --name ACME")
      }
    }
  }
}
