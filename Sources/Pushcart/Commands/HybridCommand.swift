public import ArgumentParser
import Operations
import Registry
public import Wire

extension RegistrationID: ExpressibleByArgument {}
extension HybridAppOperations: CommandedOperations { static var commands: [Command] { [HybridCommand.self] } }

struct HybridCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "hybrid", abstract: "Enable CM Hybrid Messaging for apps, change and show them.",
    discussion: """
      Phones of such an app verify their numbers by PIN. Messages to a number go by push where it has the app, and by SMS where not.
      """,
    subcommands: [Enable.self, Update.self, Rotate.self, List.self, Show.self, Phones.self])

  /// What `enable` and `update` set.
  struct Settings: ParsableArguments {
    @Option(help: "When an SMS stands in for a push: default, otp or critical. (default: default)")
    var messageType: HybridMessageType?
    @Option(help: "Sender of PINs by SMS: \(SMSAccount.senderForm); \"\" for the provider's own.") var sender: String?
    @Option(parsing: .unconditional, help: "Text of a PIN by SMS. (default: Your code is {{pin}})") var pinText: String?
    @Option(parsing: .unconditional, help: "What a call says. (default: Your code is {{pin}})") var voiceText: String?
    @Option(
      parsing: .unconditional,
      help: "Push to a phone that gets the messages of its number no more; \"\" for the hub's own.")
    var movedText: String?
    @Option(help: "Digits of new PINs, 4 to 8. (default: \(HybridAppRequest.defaultPINDigits), as shipped apps expect)")
    var pinDigits: Int?
    @Option(help: "Time zone of moments that phones send without one. (default: UTC)") var clockZone: String?
    @Option(help: "Most PINs an hour for all the app's phones. (default: \(HybridAppRequest.defaultPINsPerHour))")
    var pinsPerHour: Int?
    @Option(
      help:
        "Most phones that register within an hour; of one address a tenth as many. (default: \(HybridAppRequest.defaultRegistrationsPerHour))"
    )
    var registrationsPerHour: Int?
    @Option(help: "https address that gets status reports of the app's messages; \"\" for none.") var statusURL: String?

    func request(for app: String? = nil) -> HybridAppRequest {
      HybridAppRequest(
        appId: app, messageType: messageType, sender: sender, pinText: pinText, voiceText: voiceText,
        movedText: movedText, pinDigits: pinDigits, clockZone: clockZone, pinsPerHour: pinsPerHour,
        registrationsPerHour: registrationsPerHour, statusUrl: statusURL)
    }
  }

  struct Enable: OperationCommand {
    static let operation = HybridAppOperations.enable
    static let needsMasterKey = true
    static let configuration = CommandConfiguration(
      abstract: "Enable Hybrid Messaging for an app, on all its platforms.",
      discussion: """
        Prints the app key and the app secret that the app is built with. The secret is never shown again.

        Example: pushcart hybrid enable --customer 1 --app com.acme.app --sender ACME --clock-zone Europe/Amsterdam
        """)

    @Option(help: "Number of the customer.") var customer: CustomerID
    @Option(help: "Bundle id of the app.") var app: String
    @OptionGroup(title: "Settings") var settings: Settings
    @OptionGroup var options: ManagementOptions

    var body: HybridAppRequest { settings.request(for: app) }

    func text(_ issued: IssuedHybridApp) -> String { issued.text }
  }

  struct Update: OperationCommand {
    static let operation = HybridAppOperations.change
    static let configuration = CommandConfiguration(
      abstract: "Change an app's settings. Options that are left out change nothing.",
      discussion: "Example: pushcart hybrid update com.acme.app --customer 1 --message-type critical")

    @Argument(help: "Bundle id of the app.") var app: String
    @Option(help: "Number of the customer.") var customer: CustomerID
    @OptionGroup(title: "Settings") var settings: Settings
    @OptionGroup var options: ManagementOptions

    var target: String { app }
    var body: HybridAppRequest { settings.request() }

    func text(_ app: HybridAppReply) -> String { "App \(app.appId.onOneLine) is changed.\n" }
  }

  struct Rotate: OperationCommand {
    static let operation = HybridAppOperations.rotate
    static let needsMasterKey = true
    static let configuration = CommandConfiguration(
      abstract: "Make a new app secret. The one before it works until the next rotation.",
      discussion: "Example: pushcart hybrid rotate com.acme.app --customer 1")

    @Argument(help: "Bundle id of the app.") var app: String
    @Option(help: "Number of the customer.") var customer: CustomerID
    @OptionGroup var options: ManagementOptions

    var target: String { app }

    func text(_ issued: IssuedHybridApp) -> String { issued.text }
  }

  struct List: ListingCommand {
    static let operation = HybridAppOperations.list
    static let configuration = CommandConfiguration(
      abstract: "List a customer's apps of Hybrid Messaging.", discussion: "Example: pushcart hybrid list --customer 1")
    static let things = "apps of Hybrid Messaging"
    static var columns: [Column] {
      [
        Column("App") { $0.appId }, Column("App key") { $0.appKey }, Column("Type") { $0.messageType.rawValue },
        Column("Clock zone") { $0.clockZone }, Column("Changed (UTC)") { $0.updatedAt.forPeople },
        Column("Alarm") { $0.alarm?.reason },
      ]
    }

    @OptionGroup var common: CustomerOptions
  }

  struct Show: OperationCommand {
    static let operation = HybridAppOperations.show
    static let configuration = CommandConfiguration(
      abstract: "Show an app of Hybrid Messaging.",
      discussion: "Example: pushcart hybrid show com.acme.app --customer 1")

    @Argument(help: "Bundle id of the app.") var app: String
    @Option(help: "Number of the customer.") var customer: CustomerID
    @OptionGroup var options: ManagementOptions

    var target: String { app }

    func text(_ app: HybridAppReply) -> String {
      var table = TextTable("Field", "Value")
      table.add("app key", app.appKey)
      table.add("message type", app.messageType.rawValue)
      table.add("sender", app.sender)
      table.add("PIN text", app.pinText)
      table.add("voice text", app.voiceText)
      table.add("moved text", app.movedText)
      table.add("PIN digits", "\(app.pinDigits)")
      table.add("clock zone", app.clockZone)
      table.add("PINs an hour", "\(app.pinsPerHour)")
      table.add("registrations an hour", "\(app.registrationsPerHour)")
      table.add("status URL", app.statusUrl?.text)
      table.add("previous secret", app.hasPreviousSecret ? "signs still" : "none")
      if let alarm = app.alarm { table.add("alarm", alarm.reason) }
      return "App \(app.appId.onOneLine)\n" + table.text(empty: "")
    }
  }

  struct Phones: OperationCommand {
    static let operation = HybridAppOperations.phones
    static let configuration = CommandConfiguration(
      abstract: "List an app's phones: how far their numbers are verified, and where their push tokens changed.",
      discussion: "Example: pushcart hybrid phones com.acme.app --customer 1 --number 0031612345678")

    @Argument(help: "Bundle id of the app.") var app: String
    @Option(help: "Number of the customer.") var customer: CustomerID
    @Option(help: "Only phones that gave this telephone number last.") var number: PhoneNumber?
    @OptionGroup var paging: PageOptions<RegistrationID>
    @OptionGroup var options: ManagementOptions

    var target: ((String, PageRequest<RegistrationID>), PhoneNumber?) { ((app, paging.request), number) }

    func text(_ phones: Page<HybridPhoneReply, RegistrationID>) -> String {
      let columns: [TableColumn<HybridPhoneReply>] = [
        TableColumn("#Registration") { "\($0.registrationId)" }, TableColumn("Number") { $0.number },
        TableColumn("Status") { $0.status }, TableColumn("Platform") { $0.platform },
        TableColumn("Pushes") { $0.getsPushes ? "yes" : "no" },
        TableColumn("Token changed (UTC)") { $0.tokenChangedAt?.forPeople },
        TableColumn("From") { $0.tokenChangedFrom }, TableColumn("Changed (UTC)") { $0.changedAt.forPeople },
      ]
      return TextTable(columns, of: phones.items).text(empty: "App \(app.onOneLine) has no such phones.") + phones.more
    }
  }
}

extension IssuedHybridApp {
  fileprivate var text: String {
    """
    App key:    \(appKey)
    App secret: \(appSecret)
    Build the app with both. The secret is not shown again.

    """
  }
}
