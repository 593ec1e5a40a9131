public import ArgumentParser
import Operations
public import Wire

extension PushNumber: ExpressibleByArgument {}
extension SendoutID: ExpressibleByArgument {}
extension SendoutOperations: CommandedOperations {
  static var commands: [Command] { [SendCommand.self, SendoutCommand.self] }
}

struct SendoutCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sendout", abstract: "Show, change, start, pause, resume and cancel sendouts, and count audiences.",
    discussion: "Sendouts are created with pushcart send.",
    subcommands: [
      List.self, Show.self, Figures.self, Recipients.self, CountAudience.self, Change.self, Start.self, Pause.self,
      Resume.self, Cancel.self, Preflight.self, Test.self, Copy.self, Winner.self,
      Schedule.self, Unschedule.self, SeriesEnd.self, Campaign.self, Calendar.self,
    ])

  struct List: OperationCommand {
    static let operation = SendoutOperations.list
    static let configuration = CommandConfiguration(
      abstract: "List a customer's sendouts, the newest first.",
      discussion: "Example: pushcart sendout list --customer 1 --limit 20")

    @Option(help: "Number of the customer.") var customer: CustomerID
    @Option(help: "Only sendouts in this state.") var state: SendoutState?
    @Option(help: "Only broadcasts, or only streams of single messages.") var kind: SendoutKind?
    @Option(parsing: .unconditional, help: "Only sendouts whose name begins so, in upper or lower case.")
    var name: String?
    @Flag(help: "Count the pushes and first opens of broadcasts.") var figures = false
    @OptionGroup var paging: PageOptions<SendoutID>
    @OptionGroup var options: ManagementOptions

    var target: ((((SendoutState?, SendoutKind?), String?), Bool), PageRequest<SendoutID>) {
      ((((state, kind), name), figures), paging.request)
    }

    func text(_ page: Page<SendoutReply, SendoutID>) -> String {
      let columns: [TableColumn<SendoutReply>] =
        [
          TableColumn("#Sendout") { "\($0.sendoutId)" }, TableColumn("Name") { $0.name },
          TableColumn("Kind") { $0.kindInWords }, TableColumn("App") { $0.apps.named },
          TableColumn("State", Self.state),
        ] + (figures ? Self.counted : []) + [
          TableColumn("Created (UTC)") { $0.createdAt.forPeople }, TableColumn("Goes (UTC)") { $0.when },
          TableColumn("Finished (UTC)") { $0.finishedAt?.forPeople },
        ]
      return TextTable(columns, of: page.items).text(empty: "Customer \(customer) has no sendouts here.") + page.more
    }

    /// With the word of a hub's reason to pause it, as in `paused: late`.
    private static func state(_ sendout: SendoutReply) -> String {
      sendout.state.rawValue + (sendout.haltReason.map { ": \(HaltReason($0)?.rawValue ?? $0)" } ?? "")
    }

    private static var counted: [TableColumn<SendoutReply>] {
      [
        TableColumn("#Audience") { $0.counts.map { "\($0.audience)" } },
        TableColumn("#Accepted") { $0.counts.map { "\($0.accepted)" } },
        TableColumn("#Opened") { $0.counts.map { "\($0.opened)" } },
      ]
    }
  }

  struct Figures: OperationCommand {
    static let operation = SendoutOperations.figures
    static let configuration = CommandConfiguration(
      abstract: "Show how far a sendout is, why pushes failed and what helps, and opens by hour.",
      discussion: "Example: pushcart sendout figures 7 --customer 1")
    @OptionGroup var named: SendoutOptions

    var customer: CustomerID { named.customer }
    var target: SendoutID { named.sendout }
    var options: ManagementOptions { named.options }

    func text(_ figures: SendoutFigures) -> String {
      let counts = figures.counts
      var text = """
        Sendout \(figures.sendoutId), \(figures.name.onOneLine), is \(figures.state.rawValue).
        Audience \(counts.audience), sent \(counts.sent), accepted \(counts.accepted), opened \(counts.opened).

        """
      if let seconds = figures.secondsLeft {
        text += "\(figures.settledLately) within the last minute; the rest takes about \(seconds) seconds.\n"
      }
      var reasons = TextTable("State", "Reason", "#Pushes", "What helps")
      for reason in figures.reasons {
        reasons.add(
          reason.state.rawValue, reason.reason, "\(reason.isEstimate ? "about " : "")\(reason.pushes)", reason.advice)
      }
      var hours = TextTable("Hour (UTC)", "#Opens", "#First opens", "#By machines")
      for hour in figures.hours {
        hours.add(hour.hour.forPeople, "\(hour.opens)", "\(hour.firstOpens)", "\(hour.byMachines)")
      }
      return text + "\n" + reasons.text(empty: "Nothing failed.") + "\n" + hours.text(empty: "Nobody has opened it.")
    }
  }

  struct Recipients: OperationCommand {
    static let operation = SendoutOperations.recipients
    static let configuration = CommandConfiguration(
      abstract: "List whom a sendout went to, or search among them.",
      discussion: "Example: pushcart sendout recipients 7 --customer 1 --query lars@")

    @Argument(help: "Number of the sendout.") var sendout: SendoutID
    @Option(help: "Number of the customer.") var customer: CustomerID
    @Option(parsing: .unconditional, help: "How original ids begin, or a contact's number.") var query: String?
    @Option(help: "Only pushes in this state.") var state: PushState?
    @Flag(help: "Only pushes that a person opened.") var opened = false
    @OptionGroup var paging: PageOptions<PushNumber>
    @OptionGroup var options: ManagementOptions

    var target: ((((SendoutID, String?), PushState?), Bool), PageRequest<PushNumber>) {
      ((((sendout, query), state), opened), paging.request)
    }

    func text(_ page: Page<RecipientReply, PushNumber>) -> String {
      let columns: [TableColumn<RecipientReply>] = [
        TableColumn("#Push") { "\($0.pushNo)" }, TableColumn("Original id") { $0.originalId },
        TableColumn("State") { $0.state.rawValue }, TableColumn("Reason") { $0.reason },
        TableColumn("Sent (UTC)") { $0.sentAt?.forPeople }, TableColumn("Opened (UTC)") { $0.openedAt?.forPeople },
      ]
      return TextTable(columns, of: page.items).text(empty: "Sendout \(sendout) has no such recipients.") + page.more
    }
  }

  struct Show: ManagementCommand, OperationCalling {
    static let operationID = SendoutOperations.show.description.id
    static let configuration = CommandConfiguration(
      abstract: "Show a sendout and its progress, or its pushes.",
      discussion: "Example: pushcart sendout show 7 --customer 1 --watch")

    @Argument(help: "Number of the sendout.") var sendout: SendoutID
    @Option(help: "Number of the customer.") var customer: CustomerID
    @Flag(help: "Stay until it ends: a bar in a terminal, lines elsewhere.") var watch = false
    @Flag(help: "List its pushes instead.") var pushes = false
    @Option(help: "Of its pushes, only those in this state.") var state: PushState?
    @OptionGroup var paging: PageOptions<PushNumber>
    @OptionGroup var options: ManagementOptions

    func validate() throws {
      if watch, pushes { throw ValidationError("--watch and --pushes exclude each other.") }
      if !pushes, state != nil { throw ValidationError("--state belongs to --pushes.") }
    }

    func run(in stores: ManagementStores) async throws {
      if pushes { return try await showPushes(in: stores) }
      var reply = try await stores.call(SendoutOperations.show, of: customer, sendout, ())
      if watch { reply = try await SendoutWatch(stores: stores, customer: customer).follow(reply) }
      try options.output.show(reply) { $0.text }
    }

    private func showPushes(in stores: ManagementStores) async throws {
      let page = try await stores.call(
        SendoutOperations.pushes, of: customer, ((sendout, state), paging.request), ())
      try options.output.show(page) { page in
        var table = TextTable(
          "#Push", "#Device", "#Contact", "State", "#Attempts", "Reason", "Sent (UTC)", "Opened (UTC)")
        for push in page.items {
          table.add(
            "\(push.pushNo)", "\(push.deviceId)", "\(push.contactId)", push.state.rawValue,
            "\(push.attempts)",
            push.reason,
            push.sentAt?.forPeople, push.openedAt?.forPeople)
        }
        return table.text(empty: "Sendout \(sendout) has no such pushes.") + page.more
      }
    }
  }

  struct CountAudience: OperationCommand {
    static let operation = SendoutOperations.audience
    static let configuration = CommandConfiguration(
      commandName: "audience", abstract: "Count the devices that a sendout would go to.",
      discussion: "Example: pushcart sendout audience --customer 1 --app com.acme.app --all")

    @Option(help: "Number of the customer.") var customer: CustomerID
    @Option(parsing: .upToNextOption, help: "Bundle id of the app, or of several.") var app: [String]
    @Option(help: "Platform. (default: all that the app id exists on)") var type: AppType?
    @OptionGroup(title: "Audience") var audience: AudienceOptions
    @Option(help: "How far the devices of each app are counted. (default: \(AudienceRequest.usualLimit))")
    var limit: Int?
    @OptionGroup var options: ManagementOptions

    func validate() throws {
      if let limit, !(1...AudienceRequest.largestLimit).contains(limit) {
        throw ValidationError("--limit takes 1 to \(AudienceRequest.largestLimit).")
      }
    }

    var body: AudienceRequest {
      AudienceRequest(appIds: app, appType: type, audience: audience.audience, limit: limit)
    }

    func text(_ reply: AudienceReply) -> String {
      var table = TextTable("App", "Platform", "#Devices")
      for app in reply.apps { table.add(app.appId, app.appType.name, "\(app.devices)" + (app.isMore ? "+" : "")) }
      let unknown = reply.unknownOriginalIds.map { "Unknown original ids: \($0)\n" } ?? ""
      return table.text(empty: "There is no such app.") + unknown
    }
  }

  struct Change: OperationCommand {
    static let operation = SendoutOperations.change
    static let configuration = CommandConfiguration(
      abstract: "Replace all that a draft says, or one that is scheduled.",
      discussion: """
        What is not given is as it is in a new sendout. One that is scheduled needs a time.

        Example: pushcart sendout change 7 --customer 1 --app com.acme.app --all --alert "Hi {{firstName}}"
        """)

    @Argument(help: "Number of the sendout.") var sendout: SendoutID
    @Option(help: "Number of the customer.") var customer: CustomerID
    @OptionGroup var draft: DraftOptions
    @OptionGroup var options: ManagementOptions

    var target: SendoutID { sendout }
    var body: SendoutRequest { get throws { try draft.request } }
    func text(_ sendout: SendoutReply) -> String { sendout.text }
  }

  struct Start: SendoutVerbCommand {
    static let operation = SendoutOperations.start
    static let configuration = CommandConfiguration(
      abstract: "Start a draft, or what is scheduled, now.",
      discussion: "Example: pushcart sendout start 7 --customer 1 --digest \(SendoutStart.example.digest ?? "")")
    @OptionGroup var named: SendoutOptions
    @OptionGroup var conditions: StartOptions

    var body: SendoutStart { conditions.body }
  }

  struct Pause: SendoutVerbCommand {
    static let operation = SendoutOperations.pause
    static let configuration = CommandConfiguration(
      abstract: "Send no further push until the sendout is resumed.",
      discussion: "Example: pushcart sendout pause 7 --customer 1")
    @OptionGroup var named: SendoutOptions
  }

  struct Resume: SendoutVerbCommand {
    static let operation = SendoutOperations.resume
    static let configuration = CommandConfiguration(
      abstract: "Continue a paused sendout.", discussion: "Example: pushcart sendout resume 7 --customer 1")
    @OptionGroup var named: SendoutOptions
  }

  struct Cancel: SendoutVerbCommand {
    static let operation = SendoutOperations.cancel
    static let configuration = CommandConfiguration(
      abstract: "End a sendout for good; pushes that are not sent yet never are.",
      discussion: "Example: pushcart sendout cancel 7 --customer 1")
    @OptionGroup var named: SendoutOptions
  }
}

/// The sendout of a verb.
struct SendoutOptions: ParsableArguments {
  @Argument(help: "Number of the sendout.") var sendout: SendoutID
  @Option(help: "Number of the customer.") var customer: CustomerID
  @OptionGroup var options: ManagementOptions
}

/// A command that applies one verb to a sendout and shows the result.
protocol SendoutVerbCommand: OperationCommand where Target == SendoutID, Reply == SendoutReply {
  var named: SendoutOptions { get }
}

extension SendoutVerbCommand {
  var customer: CustomerID { named.customer }
  var target: SendoutID { named.sendout }
  var options: ManagementOptions { named.options }
  func text(_ sendout: SendoutReply) -> String { sendout.text }
}

struct WhyCommand: OperationCommand {
  static let operation = SendoutOperations.why
  static let configuration = CommandConfiguration(
    commandName: "why", abstract: "Tell what became of a sendout for one recipient, or why there is no push.",
    discussion: "Example: pushcart why --customer 1 --sendout 7 --to lars@example.com")

  @Option(help: "Number of the customer.") var customer: CustomerID
  @Option(help: "Number of the sendout.") var sendout: SendoutID
  @Option(name: .customLong("to"), parsing: .unconditional, help: "Original id of the contact.") var originalID: String
  @OptionGroup var options: ManagementOptions

  var target: (SendoutID, String) { (sendout, originalID) }

  func text(_ reply: WhyReply) -> String {
    var table = TextTable("When (UTC)", "#Push", "#Device", "What")
    for line in reply.lines {
      table.add(line.at?.forPeople, line.pushNo.map { "\($0)" }, line.deviceId.map { "\($0)" }, line.text)
    }
    return table.text(empty: "There is nothing to tell.")
  }
}
