import ArgumentParser
import Registry
import Sendouts
import Web
import Wire

struct SendCommand: ManagementCommand {
  static let configuration = CommandConfiguration(
    commandName: "send", abstract: "Send a message to all, to a list, or to some contacts of an app.",
    discussion: """
      Every text is a Mustache template with the recipient's fields. A running hub sends. With --wait the command stays until \
      the sendout ends, and the exit status is 0 only if it finished.

      Example: pushcart send --customer 1 --app com.acme.app --to lars@example.com --alert "Hi {{firstName}}" \
      --field campaign=friday --template offer --wait --json
      """)

  @Option(help: "Number of the customer.") var customer: CustomerID
  @Option(parsing: .upToNextOption, help: "Bundle id of the app, or of several.") var app: [String]
  @Option(help: "Platform. (default: all that the app id exists on)") var type: AppType?
  @OptionGroup(title: "Audience") var audience: AudienceOptions
  @OptionGroup(title: "Message") var message: MessageOptions
  @Option(parsing: .unconditional, help: "Display name. (default: the beginning of the alert)") var name: String?
  @Option(help: "Template of the rich page. (default: no page)") var template: String?
  @Option(help: "Whether uncertain pushes are resent after a crash: resend or skip. (default: resend)")
  var onUncertain: UncertainPolicy?
  @Flag(help: "Create a draft and start it later: pushcart sendout start ID") var draft = false
  @Flag(help: "Stay until it ends, and show the progress.") var wait = false
  @OptionGroup var options: ManagementOptions

  func validate() throws {
    if draft, wait { throw ValidationError("--draft and --wait exclude each other.") }
  }

  func run(in stores: ManagementStores) async throws {
    let request = SendoutRequest(
      name: name, appIds: app, appType: type, audience: audience.audience, message: try message.body,
      template: template, onUncertain: onUncertain, start: !draft)
    let sendout = try await stores.change(customer) { try await $0.addSendout(request) }
    guard wait else {
      try options.output.show(sendout) { draft ? $0.text : "Sendout \($0.sendoutId) is started.\n" }
      return
    }
    let done = try await SendoutWatch(stores: stores, customer: customer).follow(sendout)
    try options.output.show(done) { $0.text }
    if done.state != .finished { throw ExitCode.failure }
  }
}

/// The audience of a sendout: exactly one of three.
struct AudienceOptions: ParsableArguments {
  @Flag(name: .customLong("all"), help: "Every contact of the customer.") var isAll = false
  @Option(help: "The contacts on this list, by its number.") var list: ListID?
  @Option(name: .customLong("to"), parsing: .upToNextOption, help: "The contacts with these original ids.")
  var originalIDs: [String] = []

  func validate() throws {
    let given = [isAll, list != nil, !originalIDs.isEmpty].filter { $0 }
    guard given.count == 1 else {
      throw ValidationError("Give exactly one of --all, --list ID and --to ORIGINAL_ID ….")
    }
  }

  var audience: Audience { list.map { .list($0) } ?? (isAll ? .all : .originalIds(originalIDs)) }
}

/// The message of a sendout.
struct MessageOptions: ParsableArguments {
  // A text may well begin with a hyphen: "-20 % today".
  @Option(parsing: .unconditional, help: "The line next to the icon.") var alert: String?
  @Option(parsing: .unconditional, help: "The line under it.") var info: String?
  @Option(help: "Number on the app's icon, or a template that gives one; 0 removes it.") var badge: Badge?
  @Option(parsing: .unconditional, help: "Name of the sound.") var sound: String?
  @Option(parsing: .unconditional, help: "Which actions the notification offers.") var category: String?
  @Option(help: "Kind of push at Apple's push service. (default: alert, or background if nothing is shown or heard)")
  var pushType: PushType?
  @Option(
    name: .customLong("field"), parsing: .upToNextOption,
    help: ArgumentHelp("Further fields for the app.", valueName: "name=value"))
  var fields: [String] = []

  func validate() throws {
    if fields.contains(where: { $0.prefix { $0 != "=" }.isEmpty || !$0.contains("=") }) {
      throw ValidationError("--field takes name=value.")
    }
  }

  var body: MessageBody {
    get throws {
      let pairs = fields.map { field in
        (String(field.prefix { $0 != "=" }), JSONValue.string(String(field.drop { $0 != "=" }.dropFirst())))
      }
      return MessageBody(
        alert: alert, info: info, badge: badge, sound: sound, category: category, pushType: pushType,
        fields: pairs.isEmpty ? nil : Dictionary(pairs) { $1 })
    }
  }
}
