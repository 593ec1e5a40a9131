import ArgumentParser
import Operations
import Wire

extension SMSOperations: CommandedOperations { static var commands: [Command] { [SMSCommand.self] } }

struct SMSCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sms", abstract: "Set, show and check a customer's provider of SMS.",
    subcommands: [Set.self, Show.self, Check.self, Rotate.self, Allow.self])

  struct Set: OperationCommand {
    static let operation = SMSOperations.save
    static let needsMasterKey = true
    static let configuration = CommandConfiguration(
      abstract: "Set the provider that sends a customer's SMS, and makes its calls.",
      discussion: """
        All options are set anew. Enter the address that is printed at the provider, so that it reports which messages were \
        delivered. Twilio gets it with each message. Addresses are https and of the internet, unless PUSHCART_SMS_ALLOWED_HOSTS \
        names their hosts.

        Example: pushcart sms set --customer 1 --provider cm --product-token-file token.txt --sender Acme
        """)

    @Option(help: "Number of the customer.") var customer: CustomerID
    @Option(help: "cm, twilio, or http for any other.") var provider: SMSProviderKind
    @Option(
      help: "Sender of messages that name none: \(SMSAccount.senderForm).") var sender: String
    @Option(help: "Full address that messages are posted to. (default: the provider's own)") var url: String?
    @Option(help: "Full address that calls are posted to, by CM or Twilio. (default: no calls)") var voiceURL: String?
    @Option(help: "File that holds CM's product token.", completion: .file()) var productTokenFile: String?
    @Option(help: "Twilio's Account SID.") var accountSid: String?
    @Option(help: "File that holds Twilio's Auth Token.", completion: .file()) var authTokenFile: String?
    @Option(help: "File with the request of another provider, in JSON.", completion: .file(extensions: ["json"]))
    var templateFile: String?
    @OptionGroup var options: ManagementOptions

    var body: SMSSettingsRequest {
      get throws {
        var template: JSONValue?
        if let templateFile {
          let text = try InputFile(templateFile).text
          do throws(JSONProblem) {
            template = try JSONValue(json: Array(text.utf8))
          } catch {
            throw CommandFailure("The file \(templateFile) of --template-file is no JSON.")
          }
        }
        return SMSSettingsRequest(
          provider: provider, sender: sender, url: url, voiceUrl: voiceURL,
          productToken: try productTokenFile.map { try InputFile($0).text }, accountSid: accountSid,
          authToken: try authTokenFile.map { try InputFile($0).text }, template: template)
      }
    }

    func text(_ settings: SMSSettingsReply) -> String { settings.text }
  }

  struct Show: OperationCommand {
    static let operation = SMSOperations.show
    static let needsMasterKey = true
    static let configuration = CommandConfiguration(
      abstract: "Show a customer's provider of SMS, without its sign-in.",
      discussion: "Example: pushcart sms show --customer 1")

    @Option(help: "Number of the customer.") var customer: CustomerID
    @OptionGroup var options: ManagementOptions

    func text(_ settings: SMSSettingsReply) -> String { settings.text }
  }

  struct Check: OperationCommand {
    static let operation = SMSOperations.check
    static let needsMasterKey = true
    static let configuration = CommandConfiguration(
      abstract: "Ask a customer's provider of SMS whether it accepts the sign-in.",
      discussion: """
        Nobody gets a message. The exit status is 1 when the provider refuses the sign-in or cannot be reached. A provider of the kind \
        http cannot be asked.

        Example: pushcart sms check --customer 1
        """)

    @Option(help: "Number of the customer.") var customer: CustomerID
    @OptionGroup(title: "Push services") var providers: ProviderFlags
    @OptionGroup var options: ManagementOptions

    var given: [Given] { options.given + providers.given }

    func text(_ reply: PushAppCheckReply) -> String {
      var table = TextTable("Verdict", "Reason")
      for check in reply.checks { table.add(check.verdict.rawValue, check.reason) }
      return table.text(empty: "") + reply.advice
    }

    func isSuccess(_ reply: PushAppCheckReply) -> Bool { reply.isAccepted }
  }

  struct Rotate: OperationCommand {
    static let operation = SMSOperations.rotate
    static let needsMasterKey = true
    static let configuration = CommandConfiguration(
      abstract: "Renew the address where the provider posts status reports. The one before is refused from now on.",
      discussion: """
        Enter the new address at the provider; until then its reports are lost. Twilio gets it with each message.

        Example: pushcart sms rotate --customer 1
        """)

    @Option(help: "Number of the customer.") var customer: CustomerID
    @OptionGroup var options: ManagementOptions

    func text(_ settings: SMSSettingsReply) -> String { settings.text }
  }

  struct Allow: OperationCommand {
    static let operation = SMSOperations.allow
    static let configuration = CommandConfiguration(
      abstract: "Let a telephone number get SMS again that has opted out.",
      discussion: """
        Do this when the number's owner asks for it. The provider may have the opt-out in a list of its own.

        Example: pushcart sms allow 0031612345678 --customer 1
        """)

    @Argument(help: "The number with its country code.") var number: PhoneNumber
    @Option(help: "Number of the customer.") var customer: CustomerID
    @OptionGroup var options: ManagementOptions

    var target: PhoneNumber { number }

    func text(_ undone: SMSOptOutReply) -> String {
      let reason = (undone.reason ?? "no reason").onOneLine
      return "\(undone.number) gets SMS again. It had opted out at \(undone.optedOutAt.forPeople): \(reason)\n"
    }
  }
}

extension SMSSettingsReply {
  fileprivate var text: String {
    var table = TextTable("", "")
    table.add("Provider", account)
    table.add("Sender", sender)
    table.add("Messages", url.text)
    table.add("Calls", voiceUrl?.text ?? "none")
    table.add("Status reports", statusUrl)
    if let alarm { table.add("Alarm", alarm.reason) }
    return table.text(empty: "")
  }
}
