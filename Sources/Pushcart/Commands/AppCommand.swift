public import ArgumentParser
import Operations
public import Wire

extension PushAppID: ExpressibleByArgument {}
extension AppOperations: CommandedOperations { static var commands: [Command] { [AppCommand.self] } }

struct AppCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "app", abstract: "Add, list, change, check and remove push apps.",
    subcommands: [Add.self, List.self, Devices.self, Update.self, Check.self, Identity.self, Remove.self])

  struct Add: OperationCommand {
    static let operation = AppOperations.add
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

    var body: PushAppRequest {
      get throws {
        PushAppRequest(
          name: name, appId: appId, appType: type, kind: kind, voipAppId: voipAppId,
          fields: try PushAppFields(service, device))
      }
    }

    func text(_ app: PushAppReply) -> String {
      let key = app.vapidPublicKey.map { "Pages give this key to subscribe: \($0)\n" } ?? ""
      return "App \(app.pushAppId), \(app.appId.onOneLine), is added.\n" + key + app.warningLines
    }
  }

  struct List: ListingCommand {
    static let operation = AppOperations.list
    static let configuration = CommandConfiguration(
      abstract: "List a customer's apps.", discussion: "Example: pushcart app list --customer 1")
    static let things = "apps"
    static var columns: [Column] {
      [
        Column("#App") { "\($0.pushAppId)" }, Column("App id") { $0.appId }, Column("Platform") { $0.appType.name },
        Column("Kind") { $0.kind.rawValue }, Column("Name") { $0.name }, Column("Team") { $0.teamId },
        Column("Key") { $0.keyId }, Column("Alarm") { $0.alarms },
      ]
    }

    @OptionGroup var common: CustomerOptions
  }

  struct Devices: OperationCommand {
    static let operation = AppOperations.devices
    static let configuration = CommandConfiguration(
      abstract: "Count the devices of a customer's apps.",
      discussion: """
        Few devices are counted at once, many once a day, soon after midnight UTC. --json shows the last days.

        Example: pushcart app devices --customer 1
        """)

    @Option(help: "Number of the customer.") var customer: CustomerID
    @Option(help: "Number of an app, to count its devices alone.") var app: PushAppID?
    @OptionGroup var options: ManagementOptions

    var target: (PageRequest<PushAppID>, PushAppID?) {
      (PageRequest(limit: PageRequest<PushAppID>.limits.upperBound), app)
    }

    func text(_ page: Page<DeviceCountReply, PushAppID>) -> String {
      var table = TextTable("#App", "Now", "Last count", "On")
      for count in page.items {
        let last = count.days.last
        table.add(
          "\(count.pushAppId)", "\(count.devices)\(count.areMore ? "+" : "")",
          last.map { "\($0.devices + $0.sandboxDevices)" }, last?.day)
      }
      return table.text(empty: "Customer \(customer) has no apps.")
    }
  }

  struct Remove: OperationCommand {
    static let operation = AppOperations.remove
    static let configuration = CommandConfiguration(
      abstract: "Remove an app that nothing was sent to, with its devices.",
      discussion: "Example: pushcart app remove com.acme.old --customer 1")

    @Argument(help: "Number of the app, or its app id.") var app: PushAppName
    @Option(help: "Number of the customer.") var customer: CustomerID
    @OptionGroup var options: ManagementOptions

    var target: PushAppName { app }

    func text(_ app: PushAppReply) -> String {
      "App \(app.pushAppId), \(app.appId.onOneLine), is removed with its devices.\n"
    }
  }

  struct Update: OperationCommand {
    static let operation = AppOperations.change
    static let needsMasterKey = true
    static let configuration = CommandConfiguration(
      abstract: "Change an app. Options that are left out change nothing.",
      discussion: "Example: pushcart app update 1 --customer 1 --key-id L1M2N3P4Q5 --signing-key AuthKey_L1M2N3P4Q5.p8")

    @Argument(help: "Number of the app, or its app id.") var app: PushAppName
    @Option(help: "Number of the customer.") var customer: CustomerID
    @Option(parsing: .unconditional, help: "Display name.") var name: String?
    @OptionGroup var service: PushServiceOptions
    @OptionGroup var device: DeviceKeyOptions
    @OptionGroup var options: ManagementOptions

    var target: PushAppName { app }
    var body: PushAppRequest {
      get throws { PushAppRequest(name: name, fields: try PushAppFields(service, device)) }
    }

    func text(_ app: PushAppReply) -> String {
      "App \(app.pushAppId), \(app.appId.onOneLine), is changed.\n" + app.warningLines
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

    @Argument(help: "Number of the app, or its app id.") var app: PushAppName
    @Option(help: "Number of the customer.") var customer: CustomerID
    @Flag(help: "Make no secret, but refuse the one before the current from now on.") var revokePrevious = false
    @OptionGroup var options: ManagementOptions

    func run(in stores: ManagementStores) async throws {
      if revokePrevious {
        let app = try await stores.call(AppOperations.revokePreviousIdentity, of: customer, app, ())
        return try options.output.show(app) {
          "App \($0.pushAppId), \($0.appId.onOneLine), accepts its current identity secret alone.\n"
        }
      }
      let identity = try await stores.call(AppOperations.rotateIdentity, of: customer, app, ())
      try options.output.show(identity) {
        """
        The identity secret of app \($0.pushAppId), \($0.appId.onOneLine), is shown this once:
        \($0.identitySecret)
        \($0.previousAccepted ? "The one before it is accepted for 30 days, or until the next one is made.\n" : "")
        """
      }
    }
  }

  struct Check: OperationCommand {
    static let operation = AppOperations.check
    static let needsMasterKey = true
    static let configuration = CommandConfiguration(
      abstract: "Ask the push service whether it accepts an app's credentials.",
      discussion: """
        Nothing is sent to any phone. The exit status is 1 when no environment accepts them. For apps of the type web it says only \
        that the key can sign: push services of browsers check it with pushes alone.

        Example: pushcart app check com.acme.app --customer 1
        """)

    @Argument(help: "Number of the app, or its app id.") var app: PushAppName
    @Option(help: "Number of the customer.") var customer: CustomerID
    @OptionGroup(title: "Push services") var providers: ProviderFlags
    @OptionGroup var options: ManagementOptions

    var given: [Given] { options.given + providers.given }

    var target: PushAppName { app }

    func text(_ reply: PushAppCheckReply) -> String {
      var table = TextTable("Environment", "Verdict", "Reason")
      for check in reply.checks { table.add(check.environment.rawValue, check.verdict.rawValue, check.reason) }
      return table.text(empty: "") + reply.advice
    }

    func isSuccess(_ reply: PushAppCheckReply) -> Bool { reply.isAccepted }
  }
}

extension PushAppCheckReply {
  /// What to do about refusals, a paragraph each.
  var advice: String { Set(checks.compactMap(\.advice)).sorted().map { "\n\($0)\n" }.joined() }

  /// Whether the credentials are accepted in an environment, or the service cannot be asked.
  var isAccepted: Bool { checks.contains { [.accepted, .unasked].contains($0.verdict) } }
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

extension PushAppFields {
  fileprivate init(_ service: PushServiceOptions, _ device: DeviceKeyOptions) throws {
    self.init()
    identity = device.identity
    deviceFields = device.deviceFields.map { $0.split(separator: ",").map(String.init) }
    for (field, (_, value)) in zip(CredentialField.all, service.values) {
      guard let value else { continue }
      credentials[field] =
        switch field.input {
        case .text: Array(value.utf8)
        case .file: try InputFile(value).bytes
        // Editors end a line.
        case .line: Array(try InputFile(value).bytes.prefix { $0 != 0x0A && $0 != 0x0D })
        }
    }
  }
}

extension PushAppReply {
  /// The app's warnings, a line each.
  fileprivate var warningLines: String { warnings.map { "Note: \($0.onOneLine)\n" }.joined() }

  /// Its alarms for people; nil if all is well.
  fileprivate var alarms: String? {
    let reasons = [alarm?.reason, sandboxAlarm.map { "sandbox: \($0.reason)" }].compactMap(\.self)
    return reasons.isEmpty ? nil : reasons.joined(separator: "; ")
  }
}

/// A command names an app by its number or its app id. If several platforms have the id, the platform follows a slash, as in
/// `com.acme.app/ios`.
extension PushAppName: ExpressibleByArgument {
  package init?(argument: String) {
    let parts = argument.split(separator: "/", maxSplits: 1).map(String.init)
    if let id = PushAppID(argument) {
      self = .number(id)
    } else if parts.count == 2, let type = AppType(argument: parts[1]) {
      self = .appID(parts[0], type)
    } else {
      self = .appID(argument, nil)
    }
  }
}
