import ArgumentParser
import Registry
import Web
import Wire

struct KeyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "key", abstract: "Make, list and revoke access keys.",
    discussion: """
      A key opens the APIs of one customer. Scope device ships inside an app: it registers devices and never reads. Scope \
      backend opens all of Carma's REST API, scope admin the management API too.
      """,
    subcommands: [Add.self, List.self, Revoke.self])

  struct Add: ManagementCommand {
    static let configuration = CommandConfiguration(
      abstract: "Make a key and show its token, this once.",
      discussion: "Example: pushcart key add --customer 1 --name \"app push user\" --scope backend --json")

    @Option(help: "Number of the customer it opens.") var customer: CustomerID
    @Option(help: "What it is for.") var name: String
    @Option(help: "What it opens.") var scope: AccessScope
    @OptionGroup var options: ManagementOptions

    func run(in stores: ManagementStores) async throws {
      let key = IssuedAccessKey(try await stores.keys.make(customer, name: name, scope: scope))
      try options.output.show(key) {
        """
        Key \($0.keyId), \($0.name.onOneLine), scope \($0.scope.rawValue), is made. Its token is shown this once:
        \($0.token)

        """
      }
    }
  }

  struct List: ManagementCommand {
    static let configuration = CommandConfiguration(
      abstract: "List a customer's keys, revoked ones too.", discussion: "Example: pushcart key list --customer 1")

    @Option(help: "Number of the customer.") var customer: CustomerID
    @OptionGroup var options: ManagementOptions

    func run(in stores: ManagementStores) async throws {
      let keys = try await stores.keys.list(customer).map { AccessKeyReply($0) }
      try options.output.show(Page<AccessKeyReply, AccessKeyID>(items: keys, next: nil)) { page in
        var table = TextTable("#Key", "Name", "Scope", "Made (UTC)", "Revoked (UTC)")
        for key in page.items {
          table.add(
            "\(key.keyId)", key.name, key.scope.rawValue, key.createdAt.forPeople, key.revokedAt?.forPeople)
        }
        return table.text(empty: "Customer \(customer) has no keys.")
      }
    }
  }

  struct Revoke: ManagementCommand {
    static let configuration = CommandConfiguration(
      abstract: "Make a key open nothing from now on.", discussion: "Example: pushcart key revoke 2 --customer 1")

    @Argument(help: "Number of the key.") var key: AccessKeyID
    @Option(help: "Number of the customer.") var customer: CustomerID
    @OptionGroup var options: ManagementOptions

    func run(in stores: ManagementStores) async throws {
      let revoked = AccessKeyReply(try await stores.keys.revoke(customer, key))
      try options.output.show(revoked) { "Key \($0.keyId), \($0.name.onOneLine), is revoked.\n" }
    }
  }
}
