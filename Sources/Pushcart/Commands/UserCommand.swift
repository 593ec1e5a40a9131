public import ArgumentParser
import Operations
public import Wire

extension UserID: ExpressibleByArgument {}
extension UserOperations: CommandedOperations { static var commands: [Command] { [UserCommand.self] } }

struct UserCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "user", abstract: "Add, list, show, change and remove users of the console.",
    discussion: """
      A user signs in to the console with an e-mail address and a password, for one customer or several. An owner may do everything, a \
      marketer works with contacts, content and sendouts, an analyst reads sendouts and reports, and an operator manages apps, keys and \
      settings.
      """,
    subcommands: [
      Add.self, List.self, Show.self, Change.self, Disable.self, Enable.self, Reset.self, Remove.self,
    ])

  struct Add: InvitingCommand {
    static let operation = UserOperations.add
    static let configuration = CommandConfiguration(
      abstract: "Add a user, and show the link that sets the password once.",
      discussion: """
        The link works once, within 24 hours. Give it to nobody but the user. Somebody who works for another customer already sets a new \
        password by it, and their sessions end, so that nobody there knows how to sign in as them.

        Example: pushcart user add --customer 1 --email mia@example.com --role marketer
        """)

    @Option(help: "Number of the customer.") var customer: CustomerID
    @Option(help: "E-mail address to sign in with.") var email: String
    @Option(parsing: .unconditional, help: "Display name. (default: the e-mail address)") var name: String?
    @Option(help: "What the user may do.") var role: Role
    @Option(help: "Whether the user sees personal fields of contacts: true or false. (default: all but an analyst do)")
    var seesPersonal: Bool?
    @OptionGroup var options: ManagementOptions

    var body: UserRequest { UserRequest(email: email, name: name, role: role, seesPersonal: seesPersonal) }
    static let done = "added"
  }

  struct List: ListingCommand {
    static let operation = UserOperations.list
    static let configuration = CommandConfiguration(
      abstract: "List a customer's users.", discussion: "Example: pushcart user list --customer 1")
    static let things = "users"
    static var columns: [Column] {
      [
        Column("#User") { "\($0.userId)" },
        Column("E-mail") { $0.email },
        Column("Name") { $0.name },
        Column("Role") { $0.role.rawValue },
        Column("Personal fields") { $0.seesPersonal ? "yes" : "no" },
        Column("State") { $0.stateForPeople },
        Column("Last sign-in (UTC)") { $0.lastSignInAt?.forPeople },
      ]
    }

    @OptionGroup var common: CustomerOptions
  }

  struct Show: NumberedCommand {
    static let operation = UserOperations.show
    static let configuration = CommandConfiguration(
      abstract: "Show a user.", discussion: "Example: pushcart user show 3 --customer 1")

    @OptionGroup var which: NumberOptions<UserReply>
    @OptionGroup var options: ManagementOptions

    func text(_ user: UserReply) -> String {
      var table = TextTable("Field", "Value")
      table.add("e-mail", user.email)
      table.add("name", user.name)
      table.add("role", user.role.rawValue)
      table.add("personal fields", user.seesPersonal ? "yes" : "no")
      table.add("state", user.stateForPeople)
      table.add("authenticator app", user.totp ? "yes" : "no")
      table.add("added (UTC)", user.createdAt.forPeople)
      table.add("last sign-in (UTC)", user.lastSignInAt?.forPeople)
      return "User \(user.userId)\n" + table.text(empty: "")
    }
  }

  struct Change: UserChangingCommand {
    static let configuration = CommandConfiguration(
      abstract: "Change a user. Options that are left out change nothing.",
      discussion: """
        With another role the user sees personal fields as is usual for it, unless --sees-personal says otherwise.

        Example: pushcart user change 3 --customer 1 --role analyst
        """)

    @OptionGroup var which: NumberOptions<UserReply>
    @Option(parsing: .unconditional, help: "Display name, for all customers of the user.") var name: String?
    @Option(help: "What the user may do.") var role: Role?
    @Option(help: "Whether the user sees personal fields of contacts: true or false.") var seesPersonal: Bool?
    @OptionGroup var options: ManagementOptions

    func validate() throws {
      guard body != UserRequest() else { throw ValidationError("Give --name, --role or --sees-personal.") }
    }

    var body: UserRequest { UserRequest(name: name, role: role, seesPersonal: seesPersonal) }
  }

  struct Disable: UserChangingCommand {
    static let configuration = CommandConfiguration(
      abstract: "Keep a user from signing in for this customer.",
      discussion: "Example: pushcart user disable 3 --customer 1")

    @OptionGroup var which: NumberOptions<UserReply>
    @OptionGroup var options: ManagementOptions

    var body: UserRequest { UserRequest(disabled: true) }
  }

  struct Enable: UserChangingCommand {
    static let configuration = CommandConfiguration(
      abstract: "Let a disabled user sign in again.", discussion: "Example: pushcart user enable 3 --customer 1")

    @OptionGroup var which: NumberOptions<UserReply>
    @OptionGroup var options: ManagementOptions

    var body: UserRequest { UserRequest(disabled: false) }
  }

  struct Reset: InvitingCommand, NumberedCommand {
    static let operation = UserOperations.reset
    static let configuration = CommandConfiguration(
      abstract: "Take a user's password, and show a link that sets another once.",
      discussion: """
        Password, authenticator app and recovery codes open nothing any more, and every session ends. The link works once, within 24 \
        hours.

        Example: pushcart user reset 3 --customer 1
        """)

    @OptionGroup var which: NumberOptions<UserReply>
    @OptionGroup var options: ManagementOptions

    static let done = "reset"
  }

  struct Remove: NumberedCommand {
    static let operation = UserOperations.remove
    static let configuration = CommandConfiguration(
      abstract: "Remove a user from a customer.", discussion: "Example: pushcart user remove 3 --customer 1")

    @OptionGroup var which: NumberOptions<UserReply>
    @OptionGroup var options: ManagementOptions

    func text(_ user: UserReply) -> String { "User \(user.userId), \(user.email.onOneLine), is removed.\n" }
  }
}

/// A command that shows the link by which a user sets a password.
protocol InvitingCommand: OperationCommand where Reply == UserReply {
  /// What has been done to the user.
  static var done: String { get }
}

extension InvitingCommand {
  func run(in stores: ManagementStores) async throws {
    var user = try await stores.call(Self.operation, of: customer, try target, try body)
    user.link = user.link.map { stores.settings.consoleURL + $0 }
    try options.output.show(user, for: text)
  }

  func text(_ user: UserReply) -> String {
    """
    User \(user.userId), \(user.email.onOneLine), is \(Self.done). The link that sets the password works once, within 24 hours, and is \
    shown this once:
    \(user.link ?? "")

    """
  }
}

/// A command that changes a user, and shows what has become of them.
protocol UserChangingCommand: NumberedCommand
where Thing == UserReply, Target == UserID, Body == UserRequest, Reply == UserReply {}

extension UserChangingCommand {
  static var operation: Operation<UserID, UserRequest, UserReply> { UserOperations.change }

  func text(_ user: UserReply) -> String {
    let personal = user.seesPersonal ? "" : " without personal fields"
    return
      "User \(user.userId), \(user.email.onOneLine), is \(user.role.rawValue)\(personal) and \(user.stateForPeople).\n"
  }
}

extension UserReply {
  /// Whether the user can sign in.
  fileprivate var stateForPeople: String {
    if disabled { return "disabled" }
    if hasPassword || singleSignOn { return "enabled" }
    return linkExpiresAt == nil ? "without a password" : "invited"
  }
}
