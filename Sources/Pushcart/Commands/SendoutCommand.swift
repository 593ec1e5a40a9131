import ArgumentParser
import Operations
import Registry
import Sendouts
import Wire

struct SendoutCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sendout", abstract: "Show, start, pause, resume and cancel sendouts.",
    discussion: "Sendouts are created with pushcart send.",
    subcommands: [List.self, Show.self, Start.self, Pause.self, Resume.self, Cancel.self])

  struct List: ManagementCommand {
    static let configuration = CommandConfiguration(
      abstract: "List a customer's sendouts, the newest first.",
      discussion: "Example: pushcart sendout list --customer 1 --limit 20")

    @Option(help: "Number of the customer.") var customer: CustomerID
    @OptionGroup var paging: PageOptions<SendoutID>
    @OptionGroup var options: ManagementOptions

    func run(in stores: ManagementStores) async throws {
      let page = try await stores.sendouts.list(customer, paging.request)
      try options.output.show(page) { page in
        var table = TextTable("#Sendout", "Name", "App", "State", "Created (UTC)", "Finished (UTC)")
        for sendout in page.items {
          table.add(
            "\(sendout.sendoutId)", sendout.name, sendout.apps.named, sendout.state.rawValue,
            sendout.createdAt.forPeople,
            sendout.finishedAt?.forPeople)
        }
        return table.text(empty: "Customer \(customer) has no sendouts here.") + page.more
      }
    }
  }

  struct Show: ManagementCommand {
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
      var reply = try await stores.sendouts.find(customer, sendout)
      if watch { reply = try await SendoutWatch(stores: stores, customer: customer).follow(reply) }
      try options.output.show(reply) { $0.text }
    }

    private func showPushes(in stores: ManagementStores) async throws {
      let page = try await stores.sendouts.pushes(customer, sendout, state: state, paging.request)
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

  struct Start: SendoutVerbCommand {
    static let configuration = CommandConfiguration(
      abstract: "Start a draft.", discussion: "Example: pushcart sendout start 7 --customer 1")
    @OptionGroup var target: SendoutTarget
    var verb: SendoutVerb { .start }
  }

  struct Pause: SendoutVerbCommand {
    static let configuration = CommandConfiguration(
      abstract: "Send no further push until the sendout is resumed.",
      discussion: "Example: pushcart sendout pause 7 --customer 1")
    @OptionGroup var target: SendoutTarget
    var verb: SendoutVerb { .pause }
  }

  struct Resume: SendoutVerbCommand {
    static let configuration = CommandConfiguration(
      abstract: "Continue a paused sendout.", discussion: "Example: pushcart sendout resume 7 --customer 1")
    @OptionGroup var target: SendoutTarget
    var verb: SendoutVerb { .resume }
  }

  struct Cancel: SendoutVerbCommand {
    static let configuration = CommandConfiguration(
      abstract: "End a sendout for good; pushes that are not sent yet never are.",
      discussion: "Example: pushcart sendout cancel 7 --customer 1")
    @OptionGroup var target: SendoutTarget
    var verb: SendoutVerb { .cancel }
  }
}

/// The sendout of a verb.
struct SendoutTarget: ParsableArguments {
  @Argument(help: "Number of the sendout.") var sendout: SendoutID
  @Option(help: "Number of the customer.") var customer: CustomerID
  @OptionGroup var options: ManagementOptions
}

/// A command that applies one verb to a sendout and shows the result.
protocol SendoutVerbCommand: ManagementCommand {
  var target: SendoutTarget { get }
  var verb: SendoutVerb { get }
}

extension SendoutVerbCommand {
  var options: ManagementOptions { target.options }

  func run(in stores: ManagementStores) async throws {
    let (id, verb) = (target.sendout, verb)
    let reply = try await stores.change(target.customer) { try await $0.apply(verb, to: id) }
    try options.output.show(reply) { $0.text }
  }
}

struct WhyCommand: ManagementCommand {
  static let configuration = CommandConfiguration(
    commandName: "why", abstract: "Tell what became of a sendout for one recipient, or why there is no push.",
    discussion: "Example: pushcart why --customer 1 --sendout 7 --to lars@example.com")

  @Option(help: "Number of the customer.") var customer: CustomerID
  @Option(help: "Number of the sendout.") var sendout: SendoutID
  @Option(name: .customLong("to"), parsing: .unconditional, help: "Original id of the contact.") var originalID: String
  @OptionGroup var options: ManagementOptions

  func run(in stores: ManagementStores) async throws {
    let reply = try await stores.sendouts.why(customer, sendout, originalID: originalID)
    try options.output.show(reply) { reply in
      var table = TextTable("When (UTC)", "#Push", "#Device", "What")
      for line in reply.lines {
        table.add(line.at?.forPeople, line.pushNo.map { "\($0)" }, line.deviceId.map { "\($0)" }, line.text)
      }
      return table.text(empty: "There is nothing to tell.")
    }
  }
}
