import ArgumentParser
import Operations
import Wire

struct DataTreeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "datasync", abstract: "Give apps data trees, and list them.",
    discussion: """
      Back ends write small values into an app's data tree, and subscribed devices and webhooks are told what changed. The secret \
      opens /datasync/v2/APP.
      """,
    subcommands: [Enable.self, List.self])

  struct Enable: OperationCommand {
    static let operation = DataTreeAppOperations.enable
    static let configuration = CommandConfiguration(
      abstract: "Give an app a data tree, and show a new secret once.",
      discussion: """
        Secrets made before stay valid. A secret is an access key of scope datasync: it opens the app's data tree and nothing else. \
        pushcart key add makes one that expires, pushcart key revoke ends it.

        Example: pushcart datasync enable --customer 1 --app com.acme.app --json
        """)

    @Option(help: "Number of the customer.") var customer: CustomerID
    @Option(help: "App id. \(MessagingService.inWords)") var app: String
    @OptionGroup var options: ManagementOptions

    var body: DataTreeRequest { DataTreeRequest(app: app) }

    func text(_ secret: DataTreeSecret) -> String {
      """
      The data tree of \(secret.app) is enabled. Its secret, key \(secret.keyId), is shown this once:
      \(secret.secret)

      """
    }
  }

  struct List: ListingCommand {
    static let operation = DataTreeAppOperations.list
    static let configuration = CommandConfiguration(
      abstract: "List the apps that have a data tree.", discussion: "Example: pushcart datasync list --customer 1")
    static let things = "data trees"
    static var columns: [Column] {
      [Column("App") { $0.app }, Column("Enabled (UTC)") { $0.createdAt.forPeople }]
    }

    @OptionGroup var common: CustomerOptions
  }
}

extension MessagingService {
  /// `Its Firebase app serves fcm, …`
  fileprivate static var inWords: String {
    let apps = allCases.map { "its \($0.appType.platform) app serves \($0.rawValue)" }.joined(separator: ", ")
    return "\(apps.prefix(1).uppercased())\(apps.dropFirst())."
  }
}
