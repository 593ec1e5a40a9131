public import ArgumentParser
import DataInOut
import FoundationEssentials
import Operations
import Postgres
import Providers
import Registry
public import Wire

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

extension ImportID: ExpressibleByArgument {}
extension ImportMode: ExpressibleByArgument {}
extension ImportIdentity: ExpressibleByArgument {}
extension ImportOthers: ExpressibleByArgument {}
extension ImportEncoding: ExpressibleByArgument {}
extension ImportOperations: CommandedOperations {
  static var commands: [Command] { [ImportCommand.self, ExportCommand.self] }
}

struct ImportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import", abstract: "Import a file of contacts, and list, show and cancel imports.",
    discussion:
      "Example: pushcart import customers.csv --customer 1 --list newsletter --map Färg=properties.colour --dry-run",
    subcommands: [Send.self, List.self, Show.self, Start.self, Rejects.self, Cancel.self], defaultSubcommand: Send.self)

  struct Send: ManagementCommand, OperationCalling {
    static let operationID = ImportOperations.add.description.id
    static let configuration = CommandConfiguration(
      commandName: "file", abstract: "Import a file of contacts. A hub merges its rows; this command waits for that.",
      discussion: """
        Headings that are names of fields need no --map. Exit status 1: the import failed.

        Example: pushcart import customers.csv --customer 1 --list newsletter --map Färg=properties.colour --dry-run
        """)

    @Argument(help: "The file, CSV or CSV packed by gzip; - for standard input.", completion: .file()) var file: String
    @Option(help: "Number of the customer.") var customer: CustomerID
    @Option(parsing: .unconditional, help: "A name for people.") var name: String?
    @Option(parsing: .unconditional, help: "Name or number of the list that those in the file join.")
    var list: FilterReference?
    @Option(parsing: .unconditional, help: "Name or number of the static segment that those in the file join.")
    var segment: FilterReference?
    @Option(help: "What is done with the rows.") var mode: ImportMode = .upsert
    @Option(help: "Which column says whom a row is about.") var identity: ImportIdentity = .originalId
    @Option(
      parsing: .unconditionalSingleValue,
      help: "What a column is, as in HEADING=FIELD; HEADING= passes it over. Can be repeated.")
    var map: [String] = []
    @Option(help: "What becomes of other columns.") var others: ImportOthers = .refuse
    @Option(parsing: .unconditional, help: "What stands between cells. (default: found by the first rows)")
    var delimiter: String?
    @Option(help: "What the file is encoded in. (default: guessed)") var encoding: ImportEncoding?
    @Option(help: "How dates are written, such as DD.MM.YYYY.") var dateFormat: String?
    @Flag(help: "Cells of properties such as 3,14 are numbers.") var decimalComma = false
    @Flag(help: "An empty cell clears what is known.") var emptyClears = false
    @Flag(help: "A file of headings alone may empty the list, in mode replace.") var allowEmpty = false
    @Option(parsing: .unconditional, help: "App id of tokens in rows that name none.") var app: String?
    @Option(help: "Platform of tokens in rows that name none.") var type: AppType?
    @Flag(help: "Tokens are of APNs' development environment, where rows do not say.") var sandbox = false
    @Flag(help: "Check and count everything, and merge nothing.") var dryRun = false
    @OptionGroup var options: ManagementOptions

    func validate() throws { try ColumnMap.validate(map) }

    func run(in stores: ManagementStores) async throws {
      let input = try FileInput(file)
      let request = try await request(stores)
      let new = try await stores.call(ImportOperations.add, of: customer, (), request)
      var progress = ImportProgress()
      let upload = ImportUpload(stores.pool, endpoints: stores.settings.pushServices.endpoints)
      let received = try await upload.receive(customer, new.importId, input.chunks, length: input.length)
      var current = try await stores.pool.transaction(of: customer.rawValue) { transaction in
        let reply = try await Imports(transaction).finish(customer, received)
        let change = ManagementChange(transaction, customer: customer, actor: ManagementStores.actor)
        try await change.record(.other(.receiveImport), "import \(new.importId)", after: reply.audited)
        return reply
      }
      if !current.state.hasEnded, try await stores.pool.query(HubQueries.serving, HubQueries.applicationName).isEmpty {
        StandardStream.error.line("No hub seems to serve this database, and the import waits for one: pushcart serve")
      }
      while !current.state.hasEnded {
        progress.show(current)
        try await Task.sleep(for: .milliseconds(500))
        current = try await stores.call(ImportOperations.show, of: customer, new.importId, ())
      }
      progress.finish(current)
      try options.output.show(current) { $0.text }
      if current.state != .finished { throw ExitCode.failure }
    }

    private func request(_ stores: ManagementStores) async throws -> ImportRequest {
      var request = ImportRequest(
        name: name, mode: mode, identity: identity, columns: ColumnMap.columns(map), others: others,
        delimiter: delimiter,
        encoding: encoding,
        dateFormat: dateFormat, decimalComma: decimalComma ? true : nil, emptyClears: emptyClears ? true : nil,
        allowEmpty: allowEmpty ? true : nil, appId: app, appType: type, sandbox: sandbox ? true : nil,
        dryRun: dryRun ? true : nil)
      if let list {
        request.listId = try await stores.number(of: list, ListReply.self, customer, argument: "--list")
      }
      if let segment {
        request.segmentId = try await stores.number(of: segment, SegmentReply.self, customer, argument: "--segment")
      }
      return request
    }
  }

  struct List: ListingCommand {
    static let operation = ImportOperations.list
    static let configuration = CommandConfiguration(
      abstract: "List a customer's imports.", discussion: "Example: pushcart import list --customer 1")
    static let things = "imports"
    static var columns: [Column] {
      [
        Column("#Import") { "\($0.importId)" }, Column("Name") { $0.name ?? "" }, Column("State") { $0.state.rawValue },
        Column("#Rows") { "\($0.rows)" }, Column("#Added") { "\($0.added)" }, Column("#Updated") { "\($0.updated)" },
        Column("#Rejected") { "\($0.rejected)" }, Column("Added (UTC)") { $0.createdAt.forPeople },
      ]
    }

    @OptionGroup var common: CustomerOptions
  }

  struct Show: NumberedCommand {
    static let operation = ImportOperations.show
    static let configuration = CommandConfiguration(
      abstract: "Show how far an import is, and what has become of its rows.",
      discussion: "Example: pushcart import show 1 --customer 1")

    @OptionGroup var which: NumberOptions<ImportReply>
    @OptionGroup var options: ManagementOptions

    func text(_ reply: ImportReply) -> String { reply.text }
  }

  struct Start: ManagementCommand, OperationCalling {
    static let operationID = ImportOperations.start.description.id
    static let configuration = CommandConfiguration(
      abstract: "Start an import that is in review, as one that was begun in the console is.",
      discussion: "Example: pushcart import start 1 --customer 1 --map Kundnr=originalId --dry-run")

    @OptionGroup var which: NumberOptions<ImportReply>
    @Option(
      parsing: .unconditionalSingleValue,
      help: "What a column is, as in HEADING=FIELD; HEADING= passes it over. Can be repeated.")
    var map: [String] = []
    @Option(help: "What becomes of other columns. (default: as before)") var others: ImportOthers?
    @Flag(help: "Check and count everything, and merge nothing.") var dryRun = false
    @OptionGroup var options: ManagementOptions

    func validate() throws { try ColumnMap.validate(map) }

    func run(in stores: ManagementStores) async throws {
      let request = ImportRequest(columns: ColumnMap.columns(map), others: others, dryRun: dryRun)
      let reply = try await stores.call(ImportOperations.start, of: which.customer, which.number, request)
      try options.output.show(reply) { $0.text }
    }
  }

  struct Rejects: ManagementCommand {
    static let configuration = CommandConfiguration(
      abstract: "Write what was rejected of an import, as CSV.",
      discussion: "Example: pushcart import rejects 1 --customer 1 > rejects.csv")

    @OptionGroup var which: NumberOptions<ImportReply>
    @OptionGroup var options: ManagementOptions

    func run(in stores: ManagementStores) async throws {
      var after: Int64? = 0
      while let start = after {
        let (csv, next) = try await Imports(stores.pool).rejects(which.customer, which.number, after: start)
        var text = String(decoding: csv, as: UTF8.self)
        // Further pages have the line of headings, too.
        if start > 0 { text = String(text.unicodeScalars.drop { $0 != "\n" }.dropFirst()) }
        options.output.showExactly(text)
        after = next
      }
    }
  }

  struct Cancel: NumberedCommand {
    static let operation = ImportOperations.cancel
    static let configuration = CommandConfiguration(
      abstract: "Cancel an import. What is merged already stays.",
      discussion: "Example: pushcart import cancel 1 --customer 1")

    @OptionGroup var which: NumberOptions<ImportReply>
    @OptionGroup var options: ManagementOptions

    func text(_ reply: ImportReply) -> String { reply.text }
  }
}

/// What `--map` says.
private enum ColumnMap {
  /// - Throws: `ValidationError`.
  static func validate(_ map: [String]) throws {
    for line in map where !line.utf8.contains(UInt8(ascii: "=")) {
      throw ValidationError("--map \(line) is not of the form HEADING=FIELD.")
    }
  }

  /// - Returns: `nil` if it says nothing.
  static func columns(_ map: [String]) -> ImportColumns? {
    var targets: [UTF8String: String?] = [:]
    for line in map {
      let parts = line.split(atEach: "=", maxSplits: 1)
      targets.updateValue(parts[1].isEmpty ? nil : String(parts[1]), forKey: UTF8String(parts[0]))
    }
    return targets.isEmpty ? nil : ImportColumns(targets)
  }
}

/// A file that is read in pieces, or standard input.
private struct FileInput {
  let length: Int64?
  private let descriptor: Int32
  private static let piece = 64 * 1024

  /// - Throws: `CommandFailure`.
  init(_ path: String) throws {
    descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY)
    guard descriptor >= 0 else { throw CommandFailure("\(path) cannot be read: \(String(cString: strerror(errno))).") }
    var facts = stat()
    length = fstat(descriptor, &facts) == 0 && facts.st_mode & S_IFMT == S_IFREG ? Int64(facts.st_size) : nil
  }

  /// It ends with the command, and so does the file.
  var chunks: AsyncThrowingStream<[UInt8], any Error> {
    AsyncThrowingStream { [descriptor] in
      while true {
        var bytes = [UInt8](repeating: 0, count: Self.piece)
        let count = read(descriptor, &bytes, bytes.count)
        if count < 0, errno == EINTR { continue }
        guard count >= 0 else { throw CommandFailure("The file cannot be read: \(String(cString: strerror(errno))).") }
        return count == 0 ? nil : Array(bytes.prefix(count))
      }
    }
  }
}

/// Progress of an import: a bar that is redrawn in a terminal, elsewhere a line for each change.
private struct ImportProgress {
  private let stream = StandardStream.error
  private var last = ""

  mutating func show(_ reply: ImportReply) {
    let rows = reply.state == .receiving ? reply.arrived : reply.rows
    let front = "Import \(reply.importId) \(reply.state.rawValue)\(reply.percent.map { " \($0) %" } ?? "")"
    var text = "\(front), \(rows) rows"
    if stream.isTerminal, let percent = reply.percent {
      let width = min(40, stream.width - text.count - 5)
      let full = max(0, width) * percent / 100
      if width >= 5 {
        let bar = String(repeating: "█", count: full) + String(repeating: "░", count: width - full)
        text = "\(front) [\(bar)] \(rows) rows"
      }
    }
    guard text != last else { return }
    last = text
    stream.writeUnescaped(stream.isTerminal ? "\r\u{1B}[K" + text : text + "\n")
  }

  mutating func finish(_ reply: ImportReply) {
    show(reply)
    if stream.isTerminal { stream.write("\n") }
  }
}

extension ImportReply {
  /// For people.
  fileprivate var text: String {
    var text = "Import \(importId)\(name.map { ", \($0.onOneLine)," } ?? "") is \(state.rawValue)"
    text += dryRun ? ". It is a dry run: nothing is merged.\n" : ".\n"
    if let error { text += "\(error.onOneLine)\n" }
    // Refusals of headings name the request's columns.
    if error?.contains(" columns ") == true {
      text += """
        Here --map HEADING=FIELD says what a column is, --map HEADING= passes it over, and --others is for the rest.

        """
    }
    var table = TextTable("Rows", "#Count")
    for (word, count) in [
      ("added", added), ("updated", updated), ("unchanged", unchanged), ("duplicates", duplicates),
      ("skipped", skipped),
      ("rejected", rejected), ("all", rows), ("tokens registered", devices), ("contacts taken off", removed),
    ] where count > 0 || word == "all" {
      table.add(word, "\(count)")
    }
    text += table.text(empty: "")
    if rejected > 0 { text += "What was wrong: pushcart import rejects \(importId)\n" }
    return text
  }
}
