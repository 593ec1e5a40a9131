public import ArgumentParser
import Operations
public import Wire

extension ListID: ExpressibleByArgument {}

struct ListCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Add and list lists of contacts.",
    discussion: "A contact joins a list by the listId that its registration carries.",
    subcommands: [Add.self, List.self])

  struct Add: ChangingCommand {
    static let operation = ListOperations.add
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

    var body: ListRequest { ListRequest(name: name, listId: listId) }
  }

  struct List: ListingCommand {
    static let operation = ListOperations.list
    static let configuration = CommandConfiguration(
      abstract: "List a customer's lists.", discussion: "Example: pushcart list list --customer 1")
    static let things = "lists"
    static var columns: [Column] {
      [
        Column("#List") { "\($0.listId)" }, Column("Name") { $0.name },
        Column("Added (UTC)") { $0.createdAt.forPeople },
      ]
    }

    @OptionGroup var common: CustomerOptions
  }
}
