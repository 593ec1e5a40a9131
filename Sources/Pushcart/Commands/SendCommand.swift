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
      Every text is a Mustache template with the recipient's fields. A running hub sends. With --start-at or --local-time the \
      sendout is scheduled. With --wait the command stays until the sendout ends, and the exit status is 0 only if it finished.

      Example: pushcart send --customer 1 --app com.acme.app --to lars@example.com --alert "Hi {{firstName}}" \
      --field campaign=friday --template offer --wait --json

      Example: pushcart send --customer 1 --app com.acme.app --all --alert "Merry Christmas" \
      --local-time 2026-12-24T18:30 --on-missed now
      """)

  @Option(help: "Number of the customer.") var customer: CustomerID
  @OptionGroup var what: DraftOptions
  @Flag(help: "Create a draft, to start or to schedule it later: pushcart sendout start ID") var draft = false
  @Flag(help: "Stay until it ends, and show the progress.") var wait = false
  @OptionGroup var options: ManagementOptions

  func validate() throws {
    if draft, wait { throw ValidationError("--draft and --wait exclude each other.") }
  }

  func run(in stores: ManagementStores) async throws {
    var request = try what.request
    // What has a time starts by itself.
    if request.campaign.hasTime { request.draft = draft } else { request.start = !draft }
    let sendout = try await stores.call(SendoutOperations.add, of: customer, (), request)
    guard wait else {
      try options.output.show(sendout) { sendout in
        sendout.state == .freezing ? "Sendout \(sendout.sendoutId) is started.\n" : sendout.text
      }
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
  @Option(help: "What it is for: marketing or transactional. (default: marketing)") var purpose: MessagePurpose?
  @Option(help: "Template of the rich page. (default: no page)") var template: String?
  @Option(help: "Whether uncertain pushes are resent after a crash: resend or skip. (default: resend)")
  var onUncertain: UncertainPolicy?
  @OptionGroup(title: "Times, limits and variants") var campaign: CampaignOptions

  /// - Throws: `CommandFailure` for a file of overrides, translations or variants that cannot be read.
  var request: SendoutRequest {
    get throws {
      SendoutRequest(
        name: name, appIds: app, appType: type, audience: audience.audience, message: try message.body,
        purpose: purpose, template: template, onUncertain: onUncertain, campaign: try campaign.fields)
    }
  }
}

/// The audience of a sendout: exactly one of five, and perhaps without some.
struct AudienceOptions: ParsableArguments {
  @Flag(name: .customLong("all"), help: "Every contact of the customer.") var isAll = false
  @Option(
    parsing: .upToNextOption, help: "The contacts on this list, by its name or number, or on at least one of several.")
  var list: [FilterReference] = []
  @Option(name: .customLong("to"), parsing: .upToNextOption, help: "The contacts with these original ids.")
  var originalIDs: [String] = []
  @Option(parsing: .unconditional, help: "The contacts in this segment, by its name or number.")
  var segment: FilterReference?
  @Option(
    parsing: .unconditional, help: "The contacts that meet this filter: a line of text, or a tree as JSON.",
    transform: { try Filter(textOrTree: $0) })
  var filter: Filter?
  @Option(
    parsing: .unconditional, help: "Leaves out the contacts that meet this filter.",
    transform: { try Filter(textOrTree: $0) })
  var exclude: Filter?

  func validate() throws {
    guard named.count == 1 else {
      throw ValidationError(
        "Give exactly one of --all, --list LIST …, --segment SEGMENT, --filter FILTER and --to ORIGINAL_ID ….")
    }
    guard list.count <= Audience.listLimit else {
      throw ValidationError("--list takes at most \(Audience.listLimit) lists.")
    }
  }

  /// Names are looked up as those of any filter.
  private var lists: Audience? {
    let numbers = list.compactMap { $0.number.map { ListID($0) } }
    guard let first = list.first else { return nil }
    guard numbers.count == list.count else {
      return .filter(list.count == 1 ? .list(first) : .or(list.map { .list($0) }))
    }
    return numbers.count == 1 ? .list(numbers[0]) : .lists(numbers)
  }

  private static func audience(_ segment: FilterReference) -> Audience {
    segment.number.map { .segment(SegmentID($0)) } ?? .filter(.segment(segment))
  }

  private var named: [Audience] {
    let others: [Audience?] = [
      isAll ? .all : nil, originalIDs.isEmpty ? nil : .originalIds(originalIDs), lists,
      segment.map(Self.audience), filter.map { .filter($0) },
    ]
    return others.compactMap(\.self)
  }

  var audience: Audience { exclude.map { .excluding(named[0], $0) } ?? named[0] }
}

/// The message of a sendout.
struct MessageOptions: ParsableArguments {
  @OptionGroup var given: MessageFieldOptions
  @Option(
    help: ArgumentHelp("JSON file of changes for single push services; see the Message of the API.", valueName: "file"))
  var overrides: String?
  @Option(
    help: ArgumentHelp(
      "JSON file of what it says in other languages, by their tags; see the Message of the API.", valueName: "file"))
  var translations: String?
  @Option(
    name: .customLong("field"), parsing: .upToNextOption,
    help: ArgumentHelp("Further fields for the app.", valueName: "name=value"))
  var fields: [String] = []
  @Option(
    name: .customLong("optional-field"), parsing: .upToNextOption,
    help: ArgumentHelp("Fields that are left out where the message is too large otherwise.", valueName: "name=value"))
  var optionalFields: [String] = []

  func validate() throws {
    _ = try Self.pairs(optionalFields, of: "optional-field") + Self.pairs(fields, of: "field")
  }

  /// - Throws: `CommandFailure` for a file of overrides or translations that cannot be read.
  var body: MessageBody {
    get throws {
      let optional = try Self.pairs(optionalFields, of: "optional-field")
      let pairs = try Self.pairs(fields, of: "field") + optional
      var body = try given.body
      if !pairs.isEmpty { body.fields = Dictionary(named: pairs) }
      if !optional.isEmpty { body.optionalFields = optional.map(\.0) }
      body.overrides = try overrides.map { try InputFile($0).json(of: "overrides") }
      body.translations = try translations.map { try InputFile($0).json(of: "translations") }
      return body
    }
  }

  private static func pairs(_ fields: [String], of option: String) throws -> [(String, JSONValue)] {
    try NamedValue.all(fields, of: option).map { ($0.name, .string($0.value)) }
  }
}
