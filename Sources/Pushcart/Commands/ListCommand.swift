public import ArgumentParser
import Operations
public import Wire

extension ListID: ExpressibleByArgument {}
extension ListOperations: CommandedOperations { static var commands: [Command] { [ListCommand.self] } }

struct ListCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Add and list lists of contacts, and change who is on one.",
    discussion:
      "A contact joins a list by the listId that its registration carries, or here, and can be on several.",
    subcommands: [Add.self, List.self, Show.self, Members.self, Change.self])

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

  struct Show: NamedCommand {
    static let operation = ListOperations.show
    static let configuration = CommandConfiguration(
      abstract: "Show a list with the count of its members.",
      discussion: "Example: pushcart list show 1000000005 --customer 1")

    @OptionGroup var which: ReferenceOptions<ListReply>
    @OptionGroup var options: ManagementOptions

    func text(_ list: ListReply) -> String {
      let members = list.members ?? 0
      let count = members == ListReply.mostCounted ? "\(members) or more" : "\(members)"
      return "List \(list.listId), \(list.name.onOneLine), has \(count) members.\n"
    }
  }

  struct Members: ContactsCommand {
    static let operation = ListOperations.members
    static let configuration = CommandConfiguration(
      abstract: "List the contacts on a list.", discussion: "Example: pushcart list members 1000000005 --customer 1")

    @OptionGroup var which: ReferenceOptions<ListReply>
    @OptionGroup var paging: PageOptions<ContactID>
    @OptionGroup var options: ManagementOptions
  }

  struct Change: MembersCommand {
    static let operation = ListOperations.changeMembers
    static let configuration = CommandConfiguration(
      abstract: "Put contacts on a list, or take them off it.",
      discussion: """
        Nobody joins or leaves another list by it.

        Example: pushcart list change 1000000005 --customer 1 --add lars@example.com --remove mia@example.com
        """)

    @OptionGroup var which: ReferenceOptions<ListReply>
    @OptionGroup var members: MembersOptions
    @OptionGroup var options: ManagementOptions
  }
}

/// A command that lists who is on a list, or in a segment.
protocol ContactsCommand: NamedCommand
where Target == (Thing.Number, PageRequest<ContactID>), Reply == Page<ContactDetails, ContactID> {
  var paging: PageOptions<ContactID> { get }
}

extension ContactsCommand {
  var target: Target { (which.number, paging.request) }

  func text(_ page: Page<ContactDetails, ContactID>) -> String {
    let nobody = "Nobody of \(Thing.noun) \(which.number) is here."
    return TextTable(ContactDetails.columns, of: page.items).text(empty: nobody) + page.more
  }
}

/// A command that says who joins and who leaves a list, or a static segment.
protocol MembersCommand: NamedCommand where Target == Thing.Number, Body == MembersRequest, Reply == MembersReply {
  var members: MembersOptions { get }
}

extension MembersCommand {
  var body: MembersRequest { members.request }

  func text(_ reply: MembersReply) -> String {
    let unknown = reply.unknownOriginalIds.map { "No contact has the original id \($0.onOneLine).\n" }.joined()
    return "\(reply.added) joined \(Thing.noun) \(which.number); \(reply.removed) left it.\n" + unknown
  }
}

struct MembersOptions: ParsableArguments {
  @Option(parsing: .upToNextOption, help: "Original ids of contacts that join.") var add: [String] = []
  @Option(parsing: .upToNextOption, help: "Original ids of contacts that leave.") var remove: [String] = []

  var request: MembersRequest {
    MembersRequest(add: add.isEmpty ? nil : add, remove: remove.isEmpty ? nil : remove)
  }
}
