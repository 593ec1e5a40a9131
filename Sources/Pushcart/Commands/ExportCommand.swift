import ArgumentParser
import DataInOut
import Operations
import Postgres
import Registry
import Wire

extension ExportRequest.Subject: ExpressibleByArgument {}
extension ExportRequest.Format: ExpressibleByArgument {}

struct ExportCommand: ManagementCommand {
  static let configuration = CommandConfiguration(
    commandName: "export", abstract: "Write contacts, devices or pushes to standard output, as CSV or NDJSON.",
    discussion: """
      An import reads such a file of contacts or devices back. Cells that a spreadsheet would take for formulas begin with an apostrophe, \
      unless --exact is given.

      Example: pushcart export contacts --customer 1 --filter "country = 'SE'" > contacts.csv
      """)

  @Argument(help: "What to export.") var subject: ExportRequest.Subject
  @Option(help: "Number of the customer.") var customer: CustomerID
  @Option(
    parsing: .unconditional,
    help: "Only of contacts that meet this: a line of text, or a tree as JSON. (default: of all)",
    transform: { try Filter(textOrTree: $0) })
  var filter: Filter?
  @Option(help: "Number of the sendout, of pushes.") var sendout: SendoutID?
  @Option(parsing: .unconditional, help: "Names of columns, with commas between them. (default: the usual ones)")
  var columns: String?
  @Option(help: "The form of the file.") var format: ExportRequest.Format = .csv
  @Flag(help: "Leave texts as they are, formulas too.") var exact = false
  @OptionGroup var options: ManagementOptions

  func run(in stores: ManagementStores) async throws {
    var request = ExportRequest(subject)
    request.filter = filter
    request.sendout = sendout
    request.columns = columns.map { $0.split(atEach: ",").map(String.init) }
    request.format = format
    request.isExact = exact
    let exports = Exports(stores.pool, retentionDays: stores.settings.retentionDays)
    let pages = try await exports.begin(customer, request)
    try await stores.pool.transaction(of: customer.rawValue) { [subject] transaction in
      let change = ManagementChange(transaction, customer: customer, actor: ManagementStores.actor)
      try await change.record(.other(.export), subject.rawValue, after: pages.audited)
    }
    let progress = StandardStream.error
    var rows = pages.makeAsyncIterator()
    while let page = try await rows.next() {
      options.output.showExactly(String(decoding: page, as: UTF8.self))
      if progress.isTerminal { progress.writeUnescaped("\r\u{1B}[K\(rows.rows) \(subject.rawValue)") }
    }
    if progress.isTerminal { progress.write("\n") }
    if !progress.isTerminal { progress.line("\(rows.rows) \(subject.rawValue) exported.") }
  }
}
