import ArgumentParser
import Content
import Delivery
import Operations
import Providers
import Registry
import Sendouts
import Wire

extension MessageOperations: CommandedOperations { static var commands: [Command] { [MessageCommand.self] } }

struct MessageCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "message",
    abstract: "Send a message to one contact or device, preview it, and show what became of it.",
    subcommands: [Send.self, Preview.self, List.self, Show.self, Why.self])

  struct Send: ManagementCommand {
    static let needsMasterKey = true
    static let configuration = CommandConfiguration(
      abstract: "Send a message to one contact or device.",
      discussion: """
        A running hub sends it. With --wait the command stays until the push services have answered, and the exit status is 0 \
        only if one accepted it.

        Example: pushcart message send --customer 1 --app com.acme.app --to lars@example.com --alert "Your parcel is here" --wait 10
        """)

    @Option(help: "Number of the customer.") var customer: CustomerID
    @Option(parsing: .upToNextOption, help: "Bundle id of the app, or of several.") var app: [String]
    @Option(help: "Platform. (default: all that the app id exists on)") var type: AppType?
    @Option(help: "The contact with this original id.") var to: String?
    @Option(help: "The device with this token alone.") var token: String?
    @OptionGroup(title: "Message") var message: MessageOptions
    @Option(help: "What it is for: transactional or marketing. (default: transactional)") var purpose: MessagePurpose?
    @Option(help: "Template of the rich page. (default: no page)") var template: String?
    @Option(
      help:
        "When it is due, up to \(MessageRequest.maximumDelay) days ahead, as in 2026-11-20T09:00:00Z. (default: now)")
    var at: Timestamp?
    @Option(help: "Your own name for it.") var reference: String?
    @Option(help: "Seconds to wait for the verdicts, up to \(MessageRequest.maximumWait).") var wait: Int?
    @OptionGroup var options: ManagementOptions

    func validate() throws {
      guard to != nil || token != nil else { throw ValidationError("Give --to ORIGINAL_ID or --token TOKEN.") }
      if at != nil, wait != nil { throw ValidationError("--at and --wait exclude each other.") }
      if let wait, !(0...MessageRequest.maximumWait).contains(wait) {
        throw ValidationError("--wait takes 0 to \(MessageRequest.maximumWait) seconds.")
      }
    }

    func run(in stores: ManagementStores) async throws {
      let request = MessageRequest(
        appIds: app, appType: type, to: MessageTarget(originalId: to, deviceToken: token, appType: type),
        message: try message.body, purpose: purpose, template: template, deliverAt: at, reference: reference)
      let messages = try stores.messages
      var reply = try await messages.send(customer, request).message
      let end = ContinuousClock.now + .seconds(wait ?? 0)
      while reply.state == .sending, .now < end {
        try await Task.sleep(for: .milliseconds(200))
        reply = try await messages.find(customer, reply.messageId)
      }
      try options.output.show(reply) { $0.text }
      if wait != nil, reply.state != .accepted { throw ExitCode.failure }
    }
  }

  struct Preview: ManagementCommand, OperationCalling {
    static let operationID = MessageOperations.preview.description.id
    static let needsMasterKey = true
    static let configuration = CommandConfiguration(
      abstract: "Show a message as push services would get it.",
      discussion: """
        Nothing is stored or sent. What signs in is masked.

        Example: pushcart message preview --customer 1 --app com.acme.app --to lars@example.com --alert "Hi {{firstName}}"
        """)

    @Option(help: "Number of the customer.") var customer: CustomerID
    @Option(parsing: .upToNextOption, help: "Bundle id of the app, or of several. (default: all apps)")
    var app: [String] = []
    @Option(help: "Platform. (default: all that the app id exists on)") var type: AppType?
    @Option(help: "The contact with this original id. (default: an empty one)") var to: String?
    @Option(help: "The device with this token.") var token: String?
    @OptionGroup(title: "Message") var message: MessageOptions
    @Option(help: "Template of the rich page. (default: no page)") var template: String?
    @OptionGroup var options: ManagementOptions

    func run(in stores: ManagementStores) async throws {
      let target =
        to == nil && token == nil ? nil : MessageTarget(originalId: to, deviceToken: token, appType: type)
      let request = MessagePreviewRequest(
        appIds: app.isEmpty ? nil : app, appType: type, to: target, message: try message.body, template: template)
      let preview = try await stores.call(MessageOperations.preview, of: customer, (), request)
      try options.output.show(preview) { preview in
        preview.requests.isEmpty
          ? "Customer \(customer) has no such app.\n" : preview.requests.map(\.text).joined(separator: "\n")
      }
    }
  }

  struct Show: ManagementCommand, OperationCalling {
    static let operationID = MessageOperations.show.description.id
    static let needsMasterKey = true
    static let configuration = CommandConfiguration(
      abstract: "Show what became of a message.", discussion: "Example: pushcart message show 7-15 --customer 1")

    @Argument(help: "The message's id.") var message: MessageID
    @Option(help: "Number of the customer.") var customer: CustomerID
    @OptionGroup var options: ManagementOptions

    func run(in stores: ManagementStores) async throws {
      let reply = try await stores.call(MessageOperations.show, of: customer, message.description, ())
      try options.output.show(reply) { $0.text }
    }
  }
}

extension MessageCommand {
  struct List: OperationCommand {
    static let operation = MessageHistoryOperations.list
    static let configuration = CommandConfiguration(
      abstract: "List single messages, stream by stream, the newest first.",
      discussion: "Example: pushcart message list --customer 1 --state failed")

    @Option(help: "Number of the customer.") var customer: CustomerID
    @Option(help: "Only messages in this state.") var state: MessageState?
    @OptionGroup var paging: PageOptions<String>
    @OptionGroup var options: ManagementOptions

    var target: (MessageState?, PageRequest<String>) { (state, paging.request) }

    func text(_ page: Page<ListedMessage, String>) -> String {
      let columns: [TableColumn<ListedMessage>] = [
        TableColumn("Message") { $0.messageId.description }, TableColumn("State") { $0.state.rawValue },
        TableColumn("Contact") { $0.originalId }, TableColumn("Reference") { $0.reference },
        TableColumn("Alert") { $0.alert }, TableColumn("Accepted (UTC)") { $0.createdAt.forPeople },
      ]
      return TextTable(columns, of: page.items).text(empty: "Customer \(customer) has no such messages here.")
        + page.more
    }
  }

  struct Why: OperationCommand {
    static let operation = MessageHistoryOperations.why
    static let configuration = CommandConfiguration(
      abstract: "Tell what became of a message, line by line.",
      discussion: "Example: pushcart message why 7-15 --customer 1")

    @Argument(help: "The message's id.") var message: MessageID
    @Option(help: "Number of the customer.") var customer: CustomerID
    @OptionGroup var options: ManagementOptions

    var target: String { message.description }

    func text(_ reply: MessageWhyReply) -> String {
      var table = TextTable("When (UTC)", "#Push", "#Device", "What")
      for line in reply.lines {
        table.add(line.at?.forPeople, line.pushNo.map { "\($0)" }, line.deviceId.map { "\($0)" }, line.text)
      }
      return "Message \(reply.messageId): \(reply.state.rawValue)\n" + table.text(empty: "There is nothing to tell.")
    }
  }
}

extension MessageReply {
  /// The message for people, with its pushes.
  var text: String {
    var table = TextTable("#Push", "Platform", "State", "Reason")
    for push in pushes { table.add("\(push.pushNo)", push.appType.name, push.state.rawValue, push.reason) }
    let name = reference.map { ", \($0.onOneLine)" } ?? ""
    let due = deliverAt.map { ", due \($0)" } ?? ""
    let held = heldUntil.map { ", held by quiet hours until \($0)" } ?? ""
    return "Message \(messageId)\(name): \(state.rawValue)\(due)\(held)\n"
      + table.text(empty: "The contact has no valid device in these apps.")
  }
}

extension PreviewedRequest {
  /// The request for people, line by line.
  fileprivate var text: String {
    var lines = ["\(appId.onOneLine), \(appType.name)" + (service.map { " by \($0)" } ?? "")]
    if let bytes, let limit { lines[0] += ": \(bytes) of \(limit) bytes" + (dropped.map { ", \($0)" } ?? "") }
    if let parts, let mostParts {
      lines[0] += ": \(parts) of \(mostParts) SMS" + (dropped.map { ", \($0)" } ?? "")
    }
    if let problem { lines.append(problem.onOneLine) }
    if let method, let url { lines.append("\(method) \(url.onOneLine)") }
    for (name, value) in (headers ?? [:]).sorted(by: { $0.key < $1.key }) {
      lines.append("\(name): \(value.onOneLine)")
    }
    if let body { lines.append(String(decoding: body.json, as: UTF8.self).onOneLine) }
    return lines.joined(separator: "\n") + "\n"
  }
}

extension ManagementStores {
  /// Accepts messages and leaves them to the hubs.
  var messages: MessageService {
    get throws {
      let vault = try vault
      // None is used: the hubs send, sign the links, and look suppressions up.
      let signer = LinkSigner(keys: [1: Array(repeating: 0, count: 32)])
      let dispatcher = Dispatcher(
        pool,
        services: try PushServices(
          settings.pushServices, tokens: ProviderTokenVault(pool, vault: vault), logger: logger),
        links: PublicLinks(base: settings.publicURL, signer: signer),
        suppressions: SuppressionKey(key: Array(repeating: 0, count: 32)), logger: logger)
      return MessageService(
        pool, dispatcher: dispatcher, messages: MessageDispatcher(dispatcher, sendsItself: false),
        apps: PushAppCache(pool), credentials: PushCredentialVault(pool, vault: vault),
        registrations: RegistrationBatcher(
          pool, endpoints: settings.pushServices.endpoints)
      )
    }
  }
}
