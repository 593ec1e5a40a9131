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

      Example: pushcart audit --customer 1 --limit 20
      """)

  @Option(help: "Number of the customer.") var customer: CustomerID
  @OptionGroup var paging: PageOptions<AuditEntryID>
  @OptionGroup var options: ManagementOptions

  var target: PageRequest<AuditEntryID> { paging.request }

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
