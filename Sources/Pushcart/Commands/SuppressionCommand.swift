public import ArgumentParser
import FoundationEssentials
import Operations
public import Wire

extension SuppressionID: ExpressibleByArgument {}
extension SuppressionScope: ExpressibleByArgument {}
extension MessagePurpose: ExpressibleByArgument {}
extension SuppressionOperations: CommandedOperations { static var commands: [Command] { [SuppressionCommand.self] } }

struct SuppressionCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "suppression", abstract: "Say who gets no marketing, or nothing at all.",
    discussion: """
      A suppression names a contact, a telephone number or a device, and is kept as a keyed hash: it outlives the contact. Pushes that \
      it stops are in the ledger, skipped for the reason suppressed.
      """,
    subcommands: [Add.self, List.self, Lift.self, Remove.self])

  struct Add: OperationCommand {
    static let operation = SuppressionOperations.add
    static let needsMasterKey = true
    static let configuration = CommandConfiguration(
      abstract: "Suppress a contact, a number or a device.",
      discussion: """
        Example: pushcart suppression add --customer 1 --original-id lars@example.com --reason "asked by telephone"
        """)

    @Option(help: "Number of the customer.") var customer: CustomerID
    @OptionGroup var whose: SuppressedOptions
    @Option(help: "What is stopped: marketing, or all. (default: marketing)") var scope: SuppressionScope?
    @Option(parsing: .unconditional, help: "Why, in your own words. It may name no person.") var reason: String?
    @Option(help: "When it ends, as in 2027-01-31T00:00:00Z. (default: never)") var until: Timestamp?
    @OptionGroup var options: ManagementOptions

    func validate() throws { try whose.requireOne() }

    var body: SuppressionRequest {
      var request = whose.request
      (request.scope, request.reason, request.until) = (scope, reason, until)
      return request
    }

    func text(_ suppression: SuppressionReply) -> String {
      "Suppression \(suppression.suppressionId) of a \(suppression.kind.rawValue), scope \(suppression.scope.rawValue), is in force"
        + (suppression.until.map { " until \($0.forPeople)" } ?? "") + ".\n"
    }
  }

  struct List: OperationCommand {
    static let operation = SuppressionOperations.list
    static let needsMasterKey = true
    static let configuration = CommandConfiguration(
      abstract: "List the suppressions in force, or those that concern one person.",
      discussion: "Example: pushcart suppression list --customer 1 --original-id lars@example.com")

    @Option(help: "Number of the customer.") var customer: CustomerID
    @OptionGroup var whose: SuppressedOptions
    @OptionGroup var paging: PageOptions<SuppressionID>
    @OptionGroup var options: ManagementOptions

    var target: (SuppressionRequest, PageRequest<SuppressionID>) { (whose.request, paging.request) }

    func text(_ page: Page<SuppressionReply, SuppressionID>) -> String {
      TextTable(SuppressionReply.columns, of: page.items).text(empty: "Nothing is suppressed here.") + page.more
    }
  }

  struct Lift: OperationCommand {
    static let operation = SuppressionOperations.lift
    static let needsMasterKey = true
    static let configuration = CommandConfiguration(
      abstract: "Lift the suppressions of a contact, a number or a device.",
      discussion: """
        Do this only when the person asks for it.

        Example: pushcart suppression lift --customer 1 --original-id lars@example.com
        """)

    @Option(help: "Number of the customer.") var customer: CustomerID
    @OptionGroup var whose: SuppressedOptions
    @Option(help: "What is lifted: marketing, or all. (default: both)") var scope: SuppressionScope?
    @OptionGroup var options: ManagementOptions

    func validate() throws { try whose.requireOne() }

    var body: SuppressionRequest {
      var request = whose.request
      request.scope = scope
      return request
    }

    func text(_ reply: SuppressionsLifted) -> String {
      reply.lifted.isEmpty ? "There was nothing to lift.\n" : "Lifted: \(reply.lifted.count).\n"
    }
  }

  struct Remove: NumberedCommand {
    static let operation = SuppressionOperations.remove
    static let configuration = CommandConfiguration(
      abstract: "Lift a suppression by its number.",
      discussion: "Example: pushcart suppression remove 7 --customer 1")

    @OptionGroup var which: NumberOptions<SuppressionReply>
    @OptionGroup var options: ManagementOptions

    func text(_ suppression: SuppressionReply) -> String {
      "Suppression \(suppression.suppressionId) of a \(suppression.kind.rawValue), scope \(suppression.scope.rawValue), is lifted.\n"
    }
  }
}

/// Whom a suppression names: at most one of three.
struct SuppressedOptions: ParsableArguments {
  @Option(help: "The contact with this original id.") var originalId: String?
  @Option(help: "The telephone number, with its country code, as in 0031612345678.") var number: String?
  @Option(name: .customLong("token"), help: "The device with this token of --app.") var deviceToken: String?
  @Option(help: "Bundle id of the device's app.") var app: String?
  @Option(help: "Platform of the device, if the app exists on several.") var type: AppType?

  var request: SuppressionRequest {
    SuppressionRequest(originalId: originalId, number: number, deviceToken: deviceToken, appId: app, appType: type)
  }

  func requireOne() throws {
    guard [originalId, number, deviceToken].count(where: { $0 != nil }) == 1 else {
      throw ValidationError("Give exactly one of --original-id, --number, and --token with --app.")
    }
  }
}

extension SuppressionReply {
  fileprivate static var columns: [TableColumn<SuppressionReply>] {
    [
      TableColumn("#Suppression") { "\($0.suppressionId)" },
      TableColumn("Kind") { $0.kind.rawValue },
      TableColumn("Scope") { $0.scope.rawValue },
      TableColumn("Reason") { $0.reason },
      TableColumn("By page") { $0.byPage ? "yes" : "no" },
      TableColumn("Since (UTC)") { $0.at.forPeople },
      TableColumn("Until (UTC)") { $0.until?.forPeople },
    ]
  }
}
