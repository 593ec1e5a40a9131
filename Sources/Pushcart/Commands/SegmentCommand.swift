import ArgumentParser
import Operations
import Wire

extension SegmentOperations: CommandedOperations { static var commands: [Command] { [SegmentCommand.self] } }

struct SegmentCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "segment", abstract: "Add, change, list and remove segments, and count and explain filters.",
    discussion: """
      A segment is a named set of contacts: those that meet a filter at the moment, or those that were put into a static segment.

      A filter is a line such as: country in ('SE', 'NO') and properties.visits >= 3
      """,
    subcommands: [
      Add.self, Update.self, List.self, Show.self, Contacts.self, Change.self, Delete.self, Count.self, Explain.self,
      Search.self,
    ])

  struct Add: ChangingCommand {
    static let operation = SegmentOperations.add
    static let configuration = CommandConfiguration(
      abstract: "Add a segment.",
      discussion: """
        Example: pushcart segment add --customer 1 --name "Nordic regulars" --filter "country in ('SE', 'NO') and received >= 1"
        """)

    @Option(help: "Number of the customer.") var customer: CustomerID
    @Option(parsing: .unconditional, help: "Display name, unique among the customer's segments.") var name: String
    @Option(parsing: .unconditional, help: "What it is for.") var description: String?
    @Option(parsing: .unconditional, help: "Who is in it.", transform: { try Filter(textOrTree: $0) })
    var filter: Filter?
    @Flag(name: .customLong("static"), help: "Contacts are put into it, by hand or by imports.") var isStatic = false
    @OptionGroup var options: ManagementOptions

    func validate() throws {
      guard isStatic != (filter != nil) else { throw ValidationError("Give either --filter FILTER or --static.") }
    }

    var body: SegmentRequest {
      SegmentRequest(name: name, description: description, filter: filter, static: isStatic ? true : nil)
    }
  }

  struct Update: ChangingCommand, NamedCommand {
    static let operation = SegmentOperations.change
    static let configuration = CommandConfiguration(
      abstract: "Change a segment. Options that are left out change nothing.",
      discussion: "Example: pushcart segment update 3 --customer 1 --filter \"country = 'SE'\"")

    @OptionGroup var which: ReferenceOptions<SegmentReply>
    @Option(parsing: .unconditional, help: "Display name.") var name: String?
    @Option(parsing: .unconditional, help: "What it is for; \"\" removes it.") var description: String?
    @Option(parsing: .unconditional, help: "Who is in it.", transform: { try Filter(textOrTree: $0) })
    var filter: Filter?
    @OptionGroup var options: ManagementOptions

    var body: SegmentRequest { SegmentRequest(name: name, description: description, filter: filter) }
  }

  struct List: ListingCommand {
    static let operation = SegmentOperations.list
    static let configuration = CommandConfiguration(
      abstract: "List a customer's segments.", discussion: "Example: pushcart segment list --customer 1")
    static let things = "segments"
    static var columns: [Column] {
      [
        Column("#Segment") { "\($0.segmentId)" },
        Column("Name") { $0.name },
        Column("Filter") { $0.text ?? "static" },
        Column("Changed (UTC)") { $0.updatedAt.forPeople },
      ]
    }

    @OptionGroup var common: CustomerOptions
  }

  struct Show: NamedCommand {
    static let operation = SegmentOperations.show
    static let configuration = CommandConfiguration(
      abstract: "Show a segment.", discussion: "Example: pushcart segment show 3 --customer 1")

    @OptionGroup var which: ReferenceOptions<SegmentReply>
    @OptionGroup var options: ManagementOptions

    func text(_ segment: SegmentReply) -> String {
      var table = TextTable("Field", "Value")
      table.add("name", segment.name)
      table.add("description", segment.description)
      table.add("static", segment.static ? "yes" : "no")
      table.add("filter", segment.text)
      return "Segment \(segment.segmentId)\n" + table.text(empty: "")
    }
  }

  struct Contacts: ContactsCommand {
    static let operation = SegmentOperations.contacts
    static let configuration = CommandConfiguration(
      abstract: "List who is in a segment now.", discussion: "Example: pushcart segment contacts 3 --customer 1")

    @OptionGroup var which: ReferenceOptions<SegmentReply>
    @OptionGroup var paging: PageOptions<ContactID>
    @OptionGroup var options: ManagementOptions
  }

  struct Change: MembersCommand {
    static let operation = SegmentOperations.changeContacts
    static let configuration = CommandConfiguration(
      abstract: "Put contacts into a static segment, or take them out of it.",
      discussion: """
        Example: pushcart segment change 3 --customer 1 --add lars@example.com --remove mia@example.com
        """)

    @OptionGroup var which: ReferenceOptions<SegmentReply>
    @OptionGroup var members: MembersOptions
    @OptionGroup var options: ManagementOptions
  }

  struct Delete: ChangingCommand, NamedCommand {
    static let operation = SegmentOperations.remove
    static let configuration = CommandConfiguration(
      abstract: "Remove a segment that nothing uses.", discussion: "Example: pushcart segment delete 3 --customer 1")

    @OptionGroup var which: ReferenceOptions<SegmentReply>
    @OptionGroup var options: ManagementOptions
  }

  struct Search: OperationCommand {
    static let operation = SegmentOperations.search
    static let configuration = CommandConfiguration(
      abstract: "List who meets a filter.",
      discussion: "Example: pushcart segment search --customer 1 --filter \"in list 'newsletter'\"")

    @Option(help: "Number of the customer.") var customer: CustomerID
    @Option(parsing: .unconditional, help: "Whom to list.", transform: { try Filter(textOrTree: $0) })
    var filter: Filter
    @OptionGroup var paging: PageOptions<ContactID>
    @OptionGroup var options: ManagementOptions

    var body: ContactSearchRequest {
      ContactSearchRequest(filter: filter, after: paging.request.after, limit: paging.request.limit)
    }

    func text(_ page: Page<ContactDetails, ContactID>) -> String {
      TextTable(ContactDetails.columns, of: page.items).text(empty: "Nobody meets the filter here.") + page.more
    }
  }

  struct Count: ManagementCommand, OperationCalling {
    static let operationID = SegmentOperations.count.description.id
    static let configuration = CommandConfiguration(
      abstract: "Count who is in a segment, or meets a filter.",
      discussion: """
        An estimate with its interval; with --exact all contacts are looked at, which can take seconds.

        Example: pushcart segment count 3 --customer 1 --exact
        """)

    @OptionGroup var which: FilterOptions
    @Option(help: "Number of the customer.") var customer: CustomerID
    @Flag(help: "Look at all contacts.") var exact = false
    @OptionGroup var options: ManagementOptions

    func run(in stores: ManagementStores) async throws {
      let filter = try await which.resolved(of: customer, in: stores).filter
      let request = SegmentCountRequest(filter: filter, exact: exact ? true : nil)
      var reply = try await stores.call(SegmentOperations.count, of: customer, (), request)
      while reply.isUnfinished {
        try await Task.sleep(for: .milliseconds(500))
        reply = try await stores.call(SegmentOperations.count, of: customer, (), request)
      }
      try options.output.show(reply) { count in
        let interval = count.exact ? "" : ", from \(count.low ?? 0) to \(count.high ?? 0) with 95 % certainty"
        var table = TextTable("App", "Platform", "#Devices")
        for app in count.apps ?? [] { table.add(app.appId, app.appType.platform, "\(app.devices)") }
        return "\(count.contacts ?? 0) contacts\(interval), with \(count.devices ?? 0) valid devices.\n"
          + table.text(empty: "")
      }
    }
  }

  struct Explain: OperationCommand {
    static let operation = SegmentOperations.explain
    static let configuration = CommandConfiguration(
      abstract: "Tell why a contact is in a segment, or meets a filter, or not.",
      discussion: "Example: pushcart segment explain 3 --customer 1 --to lars@example.com")

    @OptionGroup var which: FilterOptions
    @Option(help: "Number of the customer.") var customer: CustomerID
    @Option(parsing: .unconditional, help: "The contact with this original id.") var to: String
    @OptionGroup var options: ManagementOptions

    func resolved(in stores: ManagementStores) async throws -> Self {
      var command = self
      command.which = try await which.resolved(of: customer, in: stores)
      return command
    }

    var body: SegmentExplainRequest { SegmentExplainRequest(filter: which.filter, originalId: to) }

    func text(_ reply: SegmentExplainReply) -> String {
      var table = TextTable("Met", "Condition", "The contact has")
      for node in reply.nodes { table.add(node.result ? "yes" : "no", node.text, node.value) }
      return "The contact \(reply.result ? "meets" : "does not meet") the filter.\n" + table.text(empty: "")
    }
  }
}

/// A segment or a filter.
struct FilterOptions: ParsableArguments {
  @Argument(help: "Name or number of the segment.") var segment: FilterReference?
  @Option(
    name: .customLong("filter"), parsing: .unconditional, help: "A filter, in place of a segment.",
    transform: { try Filter(textOrTree: $0) })
  var given: Filter?

  func validate() throws {
    guard (segment == nil) != (given == nil) else {
      throw ValidationError("Give either a segment or --filter FILTER.")
    }
  }

  func resolved(of customer: CustomerID, in stores: ManagementStores) async throws -> Self {
    guard let segment else { return self }
    var options = self
    let number = try await stores.number(of: segment, SegmentReply.self, customer, argument: "<segment>")
    options.segment = .number(number.rawValue)
    return options
  }

  var filter: Filter { given ?? segment.map { Filter.segment($0) } ?? .everyone }
}
