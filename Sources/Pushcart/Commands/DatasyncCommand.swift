import ArgumentParser
import Operations
import Registry
import Subscriptions
import Wire

struct DatasyncCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "datasync", abstract: "Give apps data trees, and list them.",
    discussion: """
      Back ends write small values into an app's data tree, and subscribed devices and webhooks are told what changed. The secret \
      opens /datasync/v2/APP.
      """,
    subcommands: [Enable.self, List.self])

  struct Enable: ManagementCommand {
    static let configuration = CommandConfiguration(
      abstract: "Give an app a data tree, and show a new secret once.",
      discussion: """
        Secrets made before stay valid. A secret is an access key of scope datasync: it opens the app's data tree and nothing else. \
        pushcart key add makes one that expires, pushcart key revoke ends it.

        Example: pushcart datasync enable --customer 1 --app com.acme.app --json
        """)

    @Option(help: "Number of the customer.") var customer: CustomerID
    @Option(help: "App id. Its Firebase app serves fcm, its Huawei app hms.") var app: String
    @OptionGroup var options: ManagementOptions

    func run(in stores: ManagementStores) async throws {
      let request = DatasyncRequest(app: app)
      let secret = try await stores.change(customer) { try await $0.enableDatasync(request) }
      try options.output.show(secret) {
        """
        The data tree of \($0.app) is enabled. Its secret, key \($0.keyId), is shown this once:
        \($0.secret)

        """
      }
    }
  }

  struct List: ManagementCommand {
    static let configuration = CommandConfiguration(
      abstract: "List the apps that have a data tree.", discussion: "Example: pushcart datasync list --customer 1")

    @Option(help: "Number of the customer.") var customer: CustomerID
    @OptionGroup var options: ManagementOptions

    func run(in stores: ManagementStores) async throws {
      let apps = try await DatasyncApps(stores.pool).list(customer)
      try options.output.show(Page<DatasyncApp, String>(items: apps, next: nil)) { page in
        var table = TextTable("App", "Enabled (UTC)")
        for app in page.items { table.add(app.app, app.createdAt.forPeople) }
        return table.text(empty: "Customer \(customer) has no data trees.")
      }
    }
  }
}
