import ArgumentParser
import Operations
import Registry
import Wire

struct ListCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Add and list lists of contacts.",
    discussion: "A contact joins a list by the listId that its registration carries.",
    subcommands: [Add.self, List.self])

  struct Add: ManagementCommand {
    static let configuration = CommandConfiguration(
      abstract: "Add a list.",
      discussion: """
        Give the number that shipped apps already send as --list-id, and they keep working.

        Example: pushcart list add --customer 1 --name newsletter --list-id 1000000005 --json
        """)

    @Option(help: "Number of the customer.") var customer: CustomerID
    @Option(help: "Display name, unique among the customer's lists.") var name: String
    @Option(help: "Number that apps already send. (default: the next free one)") var listId: ListID?
    @OptionGroup var options: ManagementOptions

    func run(in stores: ManagementStores) async throws {
      let request = ListRequest(name: name, listId: listId)
      let list = try await stores.change(customer) { try await $0.addList(request) }
      try options.output.show(list) { "List \($0.listId), \($0.name.onOneLine), is added.\n" }
    }
  }

  struct List: ManagementCommand {
    static let configuration = CommandConfiguration(
      abstract: "List a customer's lists.", discussion: "Example: pushcart list list --customer 1")

    @Option(help: "Number of the customer.") var customer: CustomerID
    @OptionGroup var options: ManagementOptions

    func run(in stores: ManagementStores) async throws {
      let lists = try await stores.lists.all(customer).map { ListReply($0) }
      try options.output.show(Page<ListReply, ListID>(items: lists, next: nil)) { page in
        var table = TextTable("#List", "Name", "Added (UTC)")
        for list in page.items { table.add("\(list.listId)", list.name, list.createdAt.forPeople) }
        return table.text(empty: "Customer \(customer) has no lists.")
      }
    }
  }
}
