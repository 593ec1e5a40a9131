public import ArgumentParser
import Operations
public import Wire

extension AuditEntryID: ExpressibleByArgument {}

struct AuditCommand: OperationCommand {
  static let operation = CustomerOperations.audit
  static let configuration = CommandConfiguration(
    commandName: "audit", abstract: "Show who changed what, the newest first.",
    discussion: """
      Every management change is listed, by API, console and command line: keys, apps, lists, templates, sendouts, settings. --json \
      shows the state before and after each change.

      Example: pushcart audit --customer 1 --action sendout. --since 2026-11-20T00:00:00Z
      """)

  @Option(help: "Number of the customer.") var customer: CustomerID
  @Option(help: "Only changes by this access key.") var key: AccessKeyID?
  @Option(help: "Only changes by this user of the console.") var user: UserID?
  @Option(help: "Only actions that begin with this.") var action: String?
  @Option(help: "Only changes since this moment.") var since: Timestamp?
  @OptionGroup var paging: PageOptions<AuditEntryID>
  @OptionGroup var options: ManagementOptions

  var target: ((((PageRequest<AuditEntryID>, AccessKeyID?), UserID?), String?), Timestamp?) {
    ((((paging.request, key), user), action), since)
  }

  func text(_ page: Page<AuditEntryReply, AuditEntryID>) -> String {
    var table = TextTable("#Line", "When (UTC)", "Who", "Address", "Action", "Target")
    for entry in page.items {
      table.add(
        "\(entry.auditId)", entry.at.forPeople,
        entry.keyId.map { "key \($0)" } ?? entry.userEmail ?? "\(entry.osUser ?? "–"), command line",
        entry.address, entry.action, entry.target)
    }
    return table.text(empty: "Nothing of customer \(customer) has been changed yet.") + page.more
  }
}
