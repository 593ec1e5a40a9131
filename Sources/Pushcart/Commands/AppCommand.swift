import ArgumentParser
import Delivery
import Operations
import Registry
import Wire

struct AppCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "app", abstract: "Add, list, change and check push apps.",
    subcommands: [Add.self, List.self, Update.self, Check.self, Identity.self])

  struct Add: ManagementCommand {
    static let needsMasterKey = true
    static let configuration = CommandConfiguration(
      abstract: "Add an app on one platform.",
      discussion: """
        \(PushService.all.flatMap(\.examples).map { "Example: pushcart app add --customer 1 \($0)" }.joined(separator: "\n\n"))

        Example: pushcart app add --customer 1 --type ios --app-id com.acme.phone --voip-app-id com.acme.phone.voip --name Phone \
        --team-id A1B2C3D4E5 --key-id F6G7H8J9K0 --signing-key AuthKey_F6G7H8J9K0.p8
        """)

    @Option(help: "Number of the customer.") var customer: CustomerID
    @Option(help: "Platform.") var type: AppType
    @Option(help: "Bundle id or package name.") var appId: String
    @Option(help: "What the app makes of its pushes. (default: app; softphone with --voip-app-id)") var kind:
      PushAppKind?
    @Option(help: "The softphone's PushKit AppId, which is added too, with the same credentials (iOS).")
    var voipAppId: String?
    @Option(parsing: .unconditional, help: "Display name.") var name: String
    @OptionGroup var service: PushServiceOptions
    @OptionGroup var device: DeviceKeyOptions
    @OptionGroup var options: ManagementOptions

    func run(in stores: ManagementStores) async throws {
      let app = NewPushApp(
        appID: appId, type: type, kind: kind ?? (voipAppId == nil ? .app : .softphone), name: name,
        service: try service.fields,
        identityRequired: device.identity == .required, deviceFields: device.fields)
      let vault = try stores.vault
      let added = try await stores.change(customer) {
        try await $0.addApp(app, voipAppID: voipAppId, vault: vault)
      }
      try options.output.show(added) {
        "App \($0.pushAppId), \($0.appId.onOneLine), is added.\n"
          + ($0.vapidPublicKey.map { "Pages give this key to subscribe: \($0)\n" } ?? "") + $0.warningLines
      }
    }
  }

  struct List: ManagementCommand {
    static let configuration = CommandConfiguration(
      abstract: "List a customer's apps.", discussion: "Example: pushcart app list --customer 1")

    @Option(help: "Number of the customer.") var customer: CustomerID
    @OptionGroup var options: ManagementOptions

    func run(in stores: ManagementStores) async throws {
      let apps = try await stores.apps.list(customer).map { PushAppReply($0) }
      try options.output.show(Page<PushAppReply, PushAppID>(items: apps, next: nil)) { page in
        var table = TextTable("#App", "App id", "Platform", "Kind", "Name", "Team", "Key", "Alarm")
        for app in page.items {
          table.add(
            "\(app.pushAppId)", app.appId, app.appType.name, app.kind.rawValue, app.name, app.teamId, app.keyId,
            app.alarms)
        }
        return table.text(empty: "Customer \(customer) has no apps.")
      }
    }
  }

  struct Update: ManagementCommand {
    static let needsMasterKey = true
    static let configuration = CommandConfiguration(
      abstract: "Change an app. Options that are left out change nothing.",
      discussion: "Example: pushcart app update 1 --customer 1 --key-id L1M2N3P4Q5 --signing-key AuthKey_L1M2N3P4Q5.p8")

    @Argument(help: "Number of the app, or its app id.") var app: AppName
    @Option(help: "Number of the customer.") var customer: CustomerID
    @Option(parsing: .unconditional, help: "Display name.") var name: String?
    @OptionGroup var service: PushServiceOptions
    @OptionGroup var device: DeviceKeyOptions
    @OptionGroup var options: ManagementOptions

    func run(in stores: ManagementStores) async throws {
      let update = PushAppUpdate(
        name: name, service: try service.fields, identityRequired: device.identity.map { $0 == .required },
        deviceFields: device.fields)
      let id = try await app.find(customer, in: stores).id
      let vault = try stores.vault
      let changed = try await stores.change(customer) { try await $0.changeApp(id, update, vault: vault) }
      try options.output.show(changed) { "App \($0.pushAppId), \($0.appId.onOneLine), is changed.\n" + $0.warningLines }
    }
  }

  struct Identity: ManagementCommand {
    static let needsMasterKey = true
    static let configuration = CommandConfiguration(
      abstract: "Make an app's identity secret and show it once.",
      discussion: """
        Your back end computes X-Pushcart-Identity with it, the HMAC-SHA256 of a user's original id:
        printf %s "$ORIGINAL_ID" | openssl dgst -sha256 -hmac "$SECRET"

        The secret before it is accepted for 30 days, or until the next one is made. If it has leaked, make a new one, then \
        run the command again with --revoke-previous. To refuse requests without the header, for all apps of the customer:
        pushcart app update APP --identity required

        Example: pushcart app identity com.acme.app --customer 1 --json
        """)

    @Argument(help: "Number of the app, or its app id.") var app: AppName
    @Option(help: "Number of the customer.") var customer: CustomerID
    @Flag(help: "Make no secret, but refuse the one before the current from now on.") var revokePrevious = false
    @OptionGroup var options: ManagementOptions

    func run(in stores: ManagementStores) async throws {
      let id = try await app.find(customer, in: stores).id
      let vault = try stores.vault
      if revokePrevious {
        let app = try await stores.change(customer) { try await $0.revokePreviousIdentity(of: id, vault: vault) }
        try options.output.show(app) {
          "App \($0.pushAppId), \($0.appId.onOneLine), accepts its current identity secret alone.\n"
        }
        return
      }
      let identity = try await stores.change(customer) { try await $0.rotateIdentity(of: id, vault: vault) }
      try options.output.show(identity) {
        """
        The identity secret of app \($0.pushAppId), \($0.appId.onOneLine), is shown this once:
        \($0.identitySecret)
        \($0.previousAccepted ? "The one before it is accepted for 30 days, or until the next one is made.\n" : "")
        """
      }
    }
  }

  struct Check: ManagementCommand {
    static let needsMasterKey = true
    static let configuration = CommandConfiguration(
      abstract: "Ask the push service whether it accepts an app's credentials.",
      discussion: """
        Nothing is sent to any phone. The exit status is 1 when no environment accepts them. For apps of the type web it says only \
        that the key can sign: push services of browsers check it with pushes alone.

        Example: pushcart app check com.acme.app --customer 1
        """)

    @Argument(help: "Number of the app, or its app id.") var app: AppName
    @Option(help: "Number of the customer.") var customer: CustomerID
    @OptionGroup(title: "Push services") var providers: ProviderFlags
    @OptionGroup var options: ManagementOptions

    var given: [Given] { options.given + providers.given }

    func run(in stores: ManagementStores) async throws {
      let app = try await app.find(customer, in: stores)
      guard let reply = try await stores.check(app) else { throw HTTPErrorResponse.noCredentials(of: app) }
      try options.output.show(reply) { reply in
        var table = TextTable("Environment", "Verdict", "Reason")
        for check in reply.checks { table.add(check.environment.rawValue, check.verdict.rawValue, check.reason) }
        let advice = reply.checks.compactMap(\.advice)
        return table.text(empty: "") + Set(advice).sorted().map { "\n\($0)\n" }.joined()
      }
      if !reply.checks.contains(where: { [.accepted, .unasked].contains($0.verdict) }) { throw ExitCode.failure }
    }
  }
}

/// Options of what a device key may do, which lies in every copy of the app.
struct DeviceKeyOptions: ParsableArguments {
  @Option(help: "Whether requests with a device key must carry X-Pushcart-Identity, to any app of the customer.")
  var identity: IdentityMode?
  @Option(
    help: ArgumentHelp(
      "Contact fields and properties that a device key may write, by comma; all for no limit.",
      valueName: "firstName,properties.food"))
  var deviceFields: String?

  var fields: [String]? { deviceFields.map { $0.split(separator: ",").map(String.init) } }
}

/// Options of what opens an app's push service.
typealias PushServiceOptions = TableOptions<CredentialOptions>

enum CredentialOptions: OptionTable {
  static var options: [(name: String, option: Option<String?>)] {
    CredentialField.all.map { field in
      let completion: CompletionKind? =
        switch field.input {
        case .text: nil
        case .file(let extensions): .file(extensions: extensions)
        case .line: .file()
        }
      return (
        field.option,
        Option(name: .customLong(field.option), help: ArgumentHelp(field.helpText), completion: completion)
      )
    }
  }
}

extension TableOptions<CredentialOptions> {
  var fields: PushServiceFields {
    get throws {
      var fields = PushServiceFields()
      for (field, (_, value)) in zip(CredentialField.all, values) {
        guard let value else { continue }
        fields[field] =
          switch field.input {
          case .text: Secret(value)
          case .file: Secret(bytes: try InputFile(value).bytes)
          // Editors end a line.
          case .line: Secret(bytes: Array(try InputFile(value).bytes.prefix { $0 != 0x0A && $0 != 0x0D }))
          }
      }
      return fields
    }
  }
}

extension PushAppReply {
  /// The app's warnings, a line each.
  fileprivate var warningLines: String { warnings.map { "Note: \($0.onOneLine)\n" }.joined() }
}

/// How a command names an app: by its number or its app id. If several platforms have the id, the platform follows a slash, as
/// in `com.acme.app/ios`.
struct AppName: ExpressibleByArgument {
  private let text: String

  init?(argument: String) { text = argument }

  /// - Throws: `RegistryError.pushAppUnknown`, `.appUnknown`, `.appAmbiguous`.
  func find(_ customer: CustomerID, in stores: ManagementStores) async throws -> PushApp {
    if let id = PushAppID(text) {
      guard let app = try await stores.apps.find(customer, id) else { throw RegistryError.pushAppUnknown(id) }
      return app
    }
    let parts = text.split(separator: "/", maxSplits: 1).map(String.init)
    if parts.count == 2, let type = AppType(argument: parts[1]) {
      return try await stores.apps.resolve(customer, appID: parts[0], type: type)
    }
    return try await stores.apps.resolve(customer, appID: text)
  }
}

extension PushAppReply {
  /// Its alarms for people; nil if all is well.
  fileprivate var alarms: String? {
    let reasons = [alarm?.reason, sandboxAlarm.map { "sandbox: \($0.reason)" }].compactMap(\.self)
    return reasons.isEmpty ? nil : reasons.joined(separator: "; ")
  }
}
