import ArgumentParser
import Operations
import Wire

extension CampaignOperations: CommandedOperations { static var commands: [Command] { [] } }

extension SendoutCommand {
  struct Preflight: OperationCommand {
    static let operation = CampaignOperations.preflight
    static let needsMasterKey = true
    static let configuration = CommandConfiguration(
      abstract: "Tell what a sendout would do now, and what is worth a look before.",
      discussion: """
        Nothing is stored or sent. A start with the digest is refused once the sendout would do anything else.

        Example: pushcart sendout preflight 7 --customer 1
        """)
    @OptionGroup var named: SendoutOptions

    var customer: CustomerID { named.customer }
    var target: SendoutID { named.sendout }
    var options: ManagementOptions { named.options }

    func text(_ reply: PreflightReply) -> String { reply.text }
  }

  struct Test: OperationCommand {
    static let operation = CampaignOperations.test
    static let needsMasterKey = true
    static let configuration = CommandConfiguration(
      abstract: "Send a sendout to a few contacts as a test.",
      discussion: """
        A running hub sends real pushes. No figures, caps, quiet hours or opens count them. The exit status is 0 only if somebody gets one.

        Example: pushcart sendout test 7 --customer 1 --to lars@example.com --language sv
        """)
    @OptionGroup var named: SendoutOptions
    @Option(name: .customLong("to"), parsing: .upToNextOption, help: "The contacts with these original ids, up to 20.")
    var originalIDs: [String]
    @Option(parsing: .unconditional, help: "The variant that they get. (default: the sendout's own message)")
    var variant: String?
    @Option(help: "The language in which they get it. (default: each contact's own)") var language: String?

    var customer: CustomerID { named.customer }
    var target: SendoutID { named.sendout }
    var options: ManagementOptions { named.options }

    func validate() throws {
      let most = SendoutTestRequest.fieldTable.maximum(of: "originalIds")
      guard (1...most).contains(originalIDs.count) else {
        throw ValidationError("--to takes 1 to \(most) original ids.")
      }
    }

    var body: SendoutTestRequest {
      SendoutTestRequest(originalIds: originalIDs, variant: variant, language: language)
    }

    func isSuccess(_ reply: SendoutTestReply) -> Bool { !reply.messageIds.isEmpty }

    func text(_ reply: SendoutTestReply) -> String {
      let lines = [
        ("Sent", reply.messageIds.map(\.description)), ("Unknown", reply.unknownOriginalIds),
        ("Suppressed", reply.suppressedOriginalIds), ("Without a device", reply.withoutDevice),
      ]
      return lines.filter { !$0.1.isEmpty }.map { "\($0): \($1.map(\.onOneLine).joined(separator: ", "))\n" }.joined()
    }
  }

  struct Copy: OperationCommand {
    static let operation = CampaignOperations.copy
    static let configuration = CommandConfiguration(
      abstract: "Make a draft of what a sendout says, without its times.",
      discussion: "Example: pushcart sendout copy 7 --customer 1 --audience notOpened")
    @OptionGroup var named: SendoutOptions
    @Option(
      help: """
        Which of its contacts the draft is for: \(CopiedAudience.allCases.map(\.rawValue).asList("or")). \
        (default: the sendout's audience as it is now)
        """)
    var audience: CopiedAudience?

    var customer: CustomerID { named.customer }
    var target: SendoutID { named.sendout }
    var options: ManagementOptions { named.options }
    var body: SendoutCopyRequest { SendoutCopyRequest(audience: audience) }
    func text(_ sendout: SendoutReply) -> String { sendout.text }
  }

  struct Winner: OperationCommand {
    static let operation = CampaignOperations.winner
    static let configuration = CommandConfiguration(
      abstract: "Choose the variant that those get who wait for a winner.",
      discussion: "Example: pushcart sendout winner 7 --customer 1 --variant B")
    @OptionGroup var named: SendoutOptions
    @Option(parsing: .unconditional, help: "The variant's name.") var variant: String

    var customer: CustomerID { named.customer }
    var target: SendoutID { named.sendout }
    var options: ManagementOptions { named.options }
    var body: WinnerChoice { WinnerChoice(variant: variant) }
    func text(_ sendout: SendoutReply) -> String { sendout.text }
  }
}

extension PreflightReply {
  /// For people: from everybody to those who are left, devices, moments, and what is worth a look.
  fileprivate var text: String {
    var apps = TextTable("App", "Platform", "#Devices")
    for app in self.apps { apps.add(app.appId, app.appType.name, "\(app.devices)") }
    var parts = [waterfall.text(empty: "")]
    if held > 0 { parts.append("Held until quiet hours end, of those left: \(held)\n") }
    parts.append(apps.text(empty: "The sendout has no apps."))
    if !self.zones.isEmpty {
      var zones = TextTable("Zone", "Told by", "Planned (UTC)", "#Contacts")
      for zone in self.zones {
        zones.add(zone.zone, zone.source.rawValue, zone.plannedAt?.forPeople, "\(zone.contacts)")
      }
      parts.append(zones.text(empty: ""))
    }
    if let firstAt, let lastAt { parts.append("First at \(firstAt.forPeople), last at \(lastAt.forPeople) (UTC)\n") }
    if !warnings.isEmpty { parts.append("Worth a look:\n" + warnings.map { "- \($0.text.onOneLine)\n" }.joined()) }
    parts.append("Digest: \(digest)\n")
    return parts.joined(separator: "\n")
  }

  /// Each step with its contacts, and a bar that begins where the bar of the step below ends. So the bars of what is left out and of who is left
  /// are together as long as that of everyone.
  private var waterfall: TextTable {
    var table = TextTable("Step", "#Contacts", "")
    let everyone = steps.first?.contacts ?? 0
    var rest = everyone
    for step in steps {
      let end = step.name == .left ? step.contacts : rest
      let start = step.name == .everyone || step.name == .left ? 0 : rest - step.contacts
      if step.name != .everyone { rest = start }
      table.add(step.name.rawValue, "\(step.contacts)", Self.bar(from: start, to: end, of: everyone))
    }
    return table
  }

  private static let barWidth = 40

  private static func bar(from start: Int, to end: Int, of all: Int) -> String {
    func place(_ contacts: Int) -> Int {
      all == 0 ? 0 : Int((Double(contacts * barWidth) / Double(all)).rounded())
    }
    return String(repeating: " ", count: place(start)) + String(repeating: "█", count: place(end) - place(start))
  }
}
