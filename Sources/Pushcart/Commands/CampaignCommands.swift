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

    func text(_ reply: PreflightReply) -> String {
      var steps = TextTable("Step", "#Contacts")
      for step in reply.steps { steps.add(step.name.rawValue, "\(step.contacts)") }
      if reply.held > 0 { steps.add("held until quiet hours end", "\(reply.held)") }
      var apps = TextTable("App", "Platform", "#Devices")
      for app in reply.apps { apps.add(app.appId, app.appType.name, "\(app.devices)") }
      var zones = TextTable("Zone", "Told by", "Planned (UTC)", "#Contacts")
      for zone in reply.zones {
        zones.add(zone.zone, zone.source.rawValue, zone.plannedAt?.forPeople, "\(zone.contacts)")
      }
      let moments = [reply.firstAt, reply.lastAt].compactMap { $0?.forPeople }
      let parts =
        [steps.text(empty: ""), apps.text(empty: "")]
        + (reply.zones.isEmpty ? [] : [zones.text(empty: "")])
        + (moments.count == 2 ? ["First at \(moments[0]), last at \(moments[1]) (UTC)\n"] : [])
        + (reply.warnings.isEmpty ? [] : [reply.warnings.map { "\($0.text.onOneLine)\n" }.joined()])
        + ["Digest: \(reply.digest)\n"]
      return parts.joined(separator: "\n")
    }
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
