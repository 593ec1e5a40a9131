import ArgumentParser
import Operations
import Wire

extension DataTreeAppOperations: CommandedOperations { static var commands: [Command] { [DataTreeCommand.self] } }

struct DataTreeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "datasync", abstract: "Give apps data trees, and list them.",
    discussion: """
      Back ends write small values into an app's data tree, and subscribed devices and webhooks are told what changed. The secret \
      opens /datasync/v2/APP.
      """,
    subcommands: [Enable.self, List.self, Webhook.self])

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

extension DataTreeCommand {
  struct Webhook: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "List, set and remove webhooks of an app's data tree.",
      discussion: "A subscription can name a webhook in place of a device. Then a back end is told what changed.",
      subcommands: [List.self, Set.self, Remove.self])

    struct List: OperationCommand {
      static let operation = DataTreeAppOperations.listWebhooks
      static let needsMasterKey = true
      static let configuration = CommandConfiguration(
        abstract: "List the webhooks.", discussion: "Example: pushcart datasync webhook list com.acme.app --customer 1")

      @Argument(help: "App id.") var app: String
      @Option(help: "Number of the customer.") var customer: CustomerID
      @OptionGroup var paging: PageOptions<String>
      @OptionGroup var options: ManagementOptions

      var target: (String, PageRequest<String>) { (app, paging.request) }

      func text(_ page: Page<WebhookReply, String>) -> String {
        let columns: [TableColumn<WebhookReply>] = [
          TableColumn("Webhook") { $0.name }, TableColumn("Enabled") { $0.enabled ? "yes" : "no" },
          TableColumn("Token") { $0.hasToken ? "yes" : "no" },
          TableColumn("Addresses") { $0.uris.joined(separator: " ") },
        ]
        return TextTable(columns, of: page.items).text(empty: "App \(app.onOneLine) has no webhooks.") + page.more
      }
    }

    struct Set: OperationCommand {
      static let operation = DataTreeAppOperations.saveWebhook
      static let needsMasterKey = true
      static let configuration = CommandConfiguration(
        abstract: "Add a webhook, or change what is given of it.",
        discussion: """
          Example: pushcart datasync webhook set com.acme.app orders --customer 1 --uri https://hooks.example.com/changes
          """)

      @Argument(help: "App id.") var app: String
      @Argument(help: "The webhook's name.") var name: String
      @Option(help: "Number of the customer.") var customer: CustomerID
      @Option(help: "https address; can be repeated. A new webhook needs one.") var uri: [String] = []
      @Option(help: "Whether anything is sent to it: true or false.") var enabled: Bool?
      @Option(help: "How long subscriptions last that do not say so, in seconds. (default: 30 days)")
      var subscribeDurationSeconds: Int?
      @Option(
        help: "File with the text that is sent as \(WebhookDestination.tokenHeader). An empty file removes it.",
        completion: .file())
      var tokenFile: String?
      @OptionGroup var options: ManagementOptions

      var target: (String, String) { (app, name) }
      var body: WebhookRequest {
        get throws {
          WebhookRequest(
            uris: uri.isEmpty ? nil : uri, enabled: enabled, subscribeDurationSeconds: subscribeDurationSeconds,
            token: try tokenFile.map { String(try InputFile($0).text.trimmed) })
        }
      }

      func text(_ webhook: WebhookReply) -> String {
        let place = webhook.uris.map(\.onOneLine).joined(separator: ", ")
        return
          "Webhook \(webhook.name.onOneLine) of \(app.onOneLine) leads to \(place)\(webhook.enabled ? "" : ", and is off").\n"
      }
    }

    struct Remove: OperationCommand {
      static let operation = DataTreeAppOperations.removeWebhook
      static let needsMasterKey = true
      static let configuration = CommandConfiguration(
        abstract: "Remove a webhook, which ends its subscriptions.",
        discussion: "Example: pushcart datasync webhook remove com.acme.app orders --customer 1")

      @Argument(help: "App id.") var app: String
      @Argument(help: "The webhook's name.") var name: String
      @Option(help: "Number of the customer.") var customer: CustomerID
      @OptionGroup var options: ManagementOptions

      var target: (String, String) { (app, name) }

      func text(_ webhook: WebhookReply) -> String {
        "Webhook \(webhook.name.onOneLine) of \(app.onOneLine) is removed.\n"
      }
    }
  }
}

extension MessagingService {
  /// `Its Firebase app serves fcm, …`
  fileprivate static var inWords: String {
    let apps = allCases.map { "its \($0.appType.platform) app serves \($0.rawValue)" }.joined(separator: ", ")
    return "\(apps.prefix(1).uppercased())\(apps.dropFirst())."
  }
}
