import ArgumentParser
import FoundationEssentials
import Operations
import Registry
import Sendouts
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
  @OptionGroup var what: DraftOptions
  @Flag(help: "Create a draft and start it later: pushcart sendout start ID") var draft = false
  @Flag(help: "Stay until it ends, and show the progress.") var wait = false
  @OptionGroup var options: ManagementOptions

  func validate() throws {
    if draft, wait { throw ValidationError("--draft and --wait exclude each other.") }
  }

  func run(in stores: ManagementStores) async throws {
    var request = try what.request
    request.start = !draft
    let sendout = try await stores.call(SendoutOperations.add, of: customer, (), request)
    guard wait else {
      try options.output.show(sendout) { draft ? $0.text : "Sendout \($0.sendoutId) is started.\n" }
      return
    }
    let done = try await SendoutWatch(stores: stores, customer: customer).follow(sendout)
    try options.output.show(done) { $0.text }
    if done.state != .finished { throw ExitCode.failure }
  }
}

/// All that a sendout says.
struct DraftOptions: ParsableArguments {
  @Option(parsing: .upToNextOption, help: "Bundle id of the app, or of several.") var app: [String]
  @Option(help: "Platform. (default: all that the app id exists on)") var type: AppType?
  @OptionGroup(title: "Audience") var audience: AudienceOptions
  @OptionGroup(title: "Message") var message: MessageOptions
  @Option(parsing: .unconditional, help: "Display name. (default: the beginning of the alert)") var name: String?
  @Option(help: "Template of the rich page. (default: no page)") var template: String?
  @Option(help: "Whether uncertain pushes are resent after a crash: resend or skip. (default: resend)")
  var onUncertain: UncertainPolicy?

  /// - Throws: `CommandFailure` for a file of overrides that cannot be read.
  var request: SendoutRequest {
    get throws {
      SendoutRequest(
        name: name, appIds: app, appType: type, audience: audience.audience, message: try message.body,
        template: template, onUncertain: onUncertain)
    }
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
  @Option(help: "Address of a picture to show, by https.") var image: String?
  @Option(help: "Where a tap leads, if there is no template.") var url: String?
  @Option(help: "Seconds after which it is not sent any more, counted from when it is due or started.") var ttl: Int?
  @Option(help: "high or normal. (default: high)") var priority: MessagePriority?
  @Option(help: "A later message with the same key replaces this one on the screen.") var collapseKey: String?
  @Option(help: "Messages with the same name are shown as a group.") var threadId: String?
  @Flag(help: "Show nothing: the app alone gets it.") var silent = false
  @Flag(help: "Send texts as they are: they are no templates.") var verbatim = false
  @Flag(help: "Count no opens: pushes have no pushreadurl.") var noTracking = false
  @Option(
    help: ArgumentHelp("JSON file of changes for single push services; see the Message of the API.", valueName: "file"))
  var overrides: String?
  @Option(
    name: .customLong("field"), parsing: .upToNextOption,
    help: ArgumentHelp("Further fields for the app.", valueName: "name=value"))
  var fields: [String] = []
  @Option(
    name: .customLong("optional-field"), parsing: .upToNextOption,
    help: ArgumentHelp("Fields that are left out where the message is too large otherwise.", valueName: "name=value"))
  var optionalFields: [String] = []

  func validate() throws {
    if let ttl, !(0...MessageBody.maximumTTL).contains(ttl) {
      throw ValidationError("--ttl takes 0 to \(MessageBody.maximumTTL) seconds.")
    }
    _ = try Self.pairs(optionalFields, of: "optional-field") + Self.pairs(fields, of: "field")
  }

  /// - Throws: `CommandFailure` for a file of overrides that cannot be read.
  var body: MessageBody {
    get throws {
      let optional = try Self.pairs(optionalFields, of: "optional-field")
      let pairs = try Self.pairs(fields, of: "field") + optional
      return MessageBody(
        verbatim: verbatim ? true : nil, alert: alert, info: info, badge: badge, sound: sound, category: category,
        image: image, url: url, ttl: ttl, priority: priority, collapseKey: collapseKey, threadId: threadId,
        silent: silent ? true : nil, pushType: pushType, fields: pairs.isEmpty ? nil : Dictionary(named: pairs),
        optionalFields: optional.isEmpty ? nil : optional.map(\.0), trackOpens: noTracking ? false : nil,
        overrides: try overrides.map(Self.overrides))
    }
  }

  private static func pairs(_ fields: [String], of option: String) throws -> [(String, JSONValue)] {
    try NamedValue.all(fields, of: option).map { ($0.name, .string($0.value)) }
  }

  private static func overrides(_ path: String) throws -> MessageOverrides {
    let file = try InputFile(path).bytes
    do {
      try file.withUnsafeBytes { bytes in
        try JSONReader.read(bytes) { reader throws(JSONProblem) in try MessageOverrides.schema.check(&reader) }
      }
      return try JSONCoding.decode(MessageOverrides.self, from: file)
    } catch let problem as JSONProblem {
      let refusal = problem.path.isEmpty ? problem.problem : "is refused: \(problem.sentence)"
      throw CommandFailure("The file of --overrides \(refusal).")
    }
  }
}
