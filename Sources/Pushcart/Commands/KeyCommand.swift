import ArgumentParser
import FoundationEssentials
import Registry
import Web
import Wire

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

  struct Add: ManagementCommand {
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

    func run(in stores: ManagementStores) async throws {
      let request = AccessKeyRequest(
        name: name, scope: scope, appId: app,
        expiresAt: days.map { Timestamp(Date(timeIntervalSinceNow: Double($0) * 86_400)) })
      let key = try await stores.change(customer) { try await $0.addKey(request) }
      try options.output.show(key) {
        """
        Key \($0.keyId), \($0.name.onOneLine), scope \($0.scope.rawValue), is created. Its token is shown this once:
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
        var table = TextTable(
          "#Key", "Name", "Scope", "App", "Created by", "Created (UTC)", "Expires (UTC)", "Last used (UTC)",
          "Revoked (UTC)")
        for key in page.items {
          table.add(
            "\(key.keyId)", key.name, key.scope.rawValue, key.appId,
            key.createdBy.map { "key \($0)" } ?? "command line",
            key.createdAt.forPeople, key.expiresAt?.forPeople, key.lastUsedAt?.forPeople, key.revokedAt?.forPeople)
        }
        return table.text(empty: "Customer \(customer) has no keys.")
      }
    }
  }

  struct Revoke: ManagementCommand {
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

    func run(in stores: ManagementStores) async throws {
      let (id, withCreated) = (key, withCreated)
      let revoked = try await stores.change(customer) { try await $0.revokeKey(id, withCreated: withCreated) }
      try options.output.show(revoked) { $0.text(customer) }
    }
  }
}

extension RevokedAccessKey {
  fileprivate func text(_ customer: CustomerID) -> String {
    var text = "Key \(keyId), \(name.onOneLine), is revoked.\n"
    if !alsoRevoked.isEmpty {
      text += "So are the keys that it created: \(alsoRevoked.map(\.description).joined(separator: ", ")).\n"
    }
    if validKeysCreated > 0 {
      text += """
        Keys that it created and that are still valid: \(validKeysCreated). To revoke them:
        pushcart key revoke \(keyId) --customer \(customer) --with-created

        """
    }
    return text
  }
}
