public import ArgumentParser
import FoundationEssentials
import Operations
public import Wire

extension AccessKeyID: ExpressibleByArgument {}
extension KeyOperations: CommandedOperations { static var commands: [Command] { [KeyCommand.self] } }

struct KeyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "key", abstract: "Create, list and revoke access keys.",
    discussion: """
      A key opens the APIs of one customer. Scope device ships inside an app: it registers devices and never reads. Scope \
      backend opens all of Carma's REST API, scope admin the management API too. Scope gateway opens the gateway of Hybrid \
      Messaging alone; its token is a GUID, the product token of requests. Scope datasync opens the data tree of its app alone; \
      pushcart datasync enable makes such a key, too.
      """,
    subcommands: [Add.self, List.self, Revoke.self])

  struct Add: OperationCommand {
    static let operation = KeyOperations.add
    static let configuration = CommandConfiguration(
      abstract: "Create a key and show its token once.",
      discussion: """
        Example: pushcart key add --customer 1 --name "iOS app" --scope device --app com.acme.app --days 365 --json
        """)

    @Option(help: "Number of the customer it opens.") var customer: CustomerID
    @Option(help: "What it is for.") var name: String
    @Option(help: "What it opens.") var scope: AccessScope
    @Option(
      help: "App id; the key opens no other app's routes. Not for scopes admin and gateway; scope datasync needs it.")
    var app: String?
    @Option(help: "Days after which the key expires. (default: never)") var days: Int?
    @OptionGroup var options: ManagementOptions

    func validate() throws {
      if let days, !(1...3650).contains(days) { throw ValidationError("--days is a number from 1 to 3650.") }
      if scope == .datasync, app == nil {
        throw ValidationError("--app is missing. A key of scope datasync opens the data tree of one app: name it.")
      }
    }

    var body: AccessKeyRequest {
      AccessKeyRequest(
        name: name, scope: scope, appId: app,
        expiresAt: days.map { Timestamp(Date(timeIntervalSinceNow: Double($0) * 86_400)) })
    }

    func text(_ key: AccessKeyReply) -> String {
      """
      Key \(key.keyId), \(key.name.onOneLine), scope \(key.scope.rawValue), is created. Its token is shown this once:
      \(key.token ?? "")

      """
    }
  }

  struct List: ListingCommand {
    static let operation = KeyOperations.list
    static let configuration = CommandConfiguration(
      abstract: "List a customer's keys, revoked ones too.", discussion: "Example: pushcart key list --customer 1")
    static let things = "keys"
    static var columns: [Column] {
      [
        Column("#Key") { "\($0.keyId)" },
        Column("Name") { $0.name },
        Column("Scope") { $0.scope.rawValue },
        Column("App") { $0.appId },
        Column("Created by") { $0.createdBy.map { "key \($0)" } ?? "command line" },
        Column("Created (UTC)") { $0.createdAt.forPeople },
        Column("Expires (UTC)") { $0.expiresAt?.forPeople },
        Column("Last used (UTC)") { $0.lastUsedAt?.forPeople },
        Column("Revoked (UTC)") { $0.revokedAt?.forPeople },
      ]
    }

    @OptionGroup var common: CustomerOptions
  }

  struct Revoke: OperationCommand {
    static let operation = KeyOperations.revoke
    static let configuration = CommandConfiguration(
      abstract: "Revoke a key: it opens nothing from now on.",
      discussion: """
        A key of scope admin may have created others. --with-created revokes those too, and those that they created.

        Example: pushcart key revoke 2 --customer 1 --with-created
        """)

    @Argument(help: "Number of the key.") var key: AccessKeyID
    @Option(help: "Number of the customer.") var customer: CustomerID
    @Flag(help: "Revoke also the keys that it created.") var withCreated = false
    @OptionGroup var options: ManagementOptions

    var target: (AccessKeyID, Bool) { (key, withCreated) }

    func text(_ key: AccessKeyReply) -> String {
      var text = "Key \(key.keyId), \(key.name.onOneLine), is revoked.\n"
      if let others = key.alsoRevoked, !others.isEmpty {
        text += "So are the keys that it created: \(others.map(\.description).joined(separator: ", ")).\n"
      }
      if let valid = key.validKeysCreated, valid > 0 {
        text += """
          Keys that it created and that are still valid: \(valid). To revoke them:
          pushcart key revoke \(key.keyId) --customer \(customer) --with-created

          """
      }
      return text
    }
  }
}
