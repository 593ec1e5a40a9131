import ArgumentParser
import Operations
import Registry
import Wire

struct LinksCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "links", abstract: "Rotate and retire the keys that sign page links, and set how long links live.",
    subcommands: [Rotate.self, Retire.self, MaxAge.self])

  struct Rotate: ManagementCommand {
    static let needsMasterKey = true
    static let configuration = CommandConfiguration(
      abstract: "Sign all further page links with a new key.",
      discussion: """
        The key is shared by all customers. Hubs that serve take the new one up at once. Links that were signed before stay good \
        until they reach their customer's maximum age. If the key has leaked, retire it afterwards.

        Example: pushcart links rotate
        """)

    @OptionGroup var options: ManagementOptions

    func run(in stores: ManagementStores) async throws {
      let key = try await LinkKeys(stores.pool, vault: try stores.vault).rotate(by: ManagementStores.actor)
      try options.output.show(LinkKeyReply(linkKeyId: key)) {
        "Page links are signed with key \($0.linkKeyId) from now on.\n"
      }
    }
  }

  struct Retire: ManagementCommand {
    static let needsMasterKey = true
    static let configuration = CommandConfiguration(
      abstract: "Refuse every page link that a key signed.",
      discussion: """
        For a key that leaked. Run `pushcart links rotate` first: the key that signs cannot be retired. All links that the old \
        key signed answer 404 from now on, those in pushes that were sent, too.

        Example: pushcart links retire --key 1
        """)

    @Option(help: "Number of the key.") var key: Int64
    @OptionGroup var options: ManagementOptions

    func run(in stores: ManagementStores) async throws {
      try await LinkKeys(stores.pool, vault: try stores.vault).retire(key, by: ManagementStores.actor)
      try options.output.show(LinkKeyReply(linkKeyId: key)) { "Link key \($0.linkKeyId) is retired.\n" }
    }
  }

  struct MaxAge: OperationCommand {
    static let operation = CustomerOperations.change
    static let configuration = CommandConfiguration(
      commandName: "max-age", abstract: "Set after how many days a customer's page links answer 404.",
      discussion: "Example: pushcart links max-age --customer 1 --days 90")

    @Option(help: "Number of the customer.") var customer: CustomerID
    @Option(help: "Days, up to 3650; 0 for links that never expire.") var days: Int32
    @OptionGroup var options: ManagementOptions

    var body: CustomerChangeRequest { CustomerChangeRequest(linkMaxAgeDays: days) }

    func text(_ reply: CustomerReply) -> String {
      reply.linkMaxAgeDays.map { "Page links of customer \(customer) expire after \($0) days.\n" }
        ?? "Page links of customer \(customer) never expire.\n"
    }
  }
}
