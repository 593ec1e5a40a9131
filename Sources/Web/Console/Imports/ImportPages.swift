import DataInOut
import FoundationEssentials
import Operations
import Registry
import Wire

/// Imports: their history, a new one, and one with its progress, its review and its rejects.
enum ImportPages {
  static let pages = [list, new, one, rejects]
  static let actions = [add, send, start, cancel]

  private static let path = "/console/imports/{id}"

  // MARK: The list

  private static let list = ConsolePage(
    path: "/console/imports", title: "Imports", section: .contacts, reads: [AnyOperation(ImportOperations.list)],
    query: ["after"]
  ) { call in
    let page = try call.page(ImportID.self, limit: 50)
    let found = try await call.read(ImportOperations.list, page)
    return ConsoleView(
      title: "Imports", template: "imports",
      values: [
        "tabs": ContactTabs.tabs(call, "/console/imports"), "mayAdd": call.allows(ImportOperations.add),
        "rows": found.items.map { row($0, call) }, "hasRows": !found.items.isEmpty,
        "pager": ConsolePath.pager("/console/imports", after: page.after?.description, found.next?.description),
        "first": found.items.isEmpty && page.after == nil ? [firstSteps(call)] : [],
      ],
      sql: "SELECT * FROM report.imports WHERE customer_id = \(call.customer) ORDER BY import_id DESC LIMIT 50;",
      isLive: found.items.contains { $0.state.isMoving })
  }

  private static func firstSteps(_ call: ConsoleCall) -> [String: Any] {
    [
      "title": "Nothing was imported yet",
      "text":
        "A file of contacts, as a spreadsheet or another system saves it, becomes contacts, a list or suppressions.",
      "command": "pushcart import customers.csv --customer \(call.customer) --list newsletter --dry-run",
      "link": call.allows(ImportOperations.add) ? [["href": "/console/imports/new", "label": "Import a file"]] : [],
    ]
  }

  private static func row(_ item: ImportReply, _ call: ConsoleCall) -> [String: Any] {
    [
      "href": "/console/imports/\(item.importId)", "name": name(of: item), "state": item.state.badge,
      "isTrial": item.dryRun, "rows": ChartText.grouped(item.rows), "added": ChartText.grouped(item.added),
      "updated": ChartText.grouped(item.updated), "rejected": ChartText.grouped(item.rejected),
      "since": call.zone.time(item.createdAt),
    ]
  }

  private static func name(of item: ImportReply) -> String { item.name ?? "Import \(item.importId)" }

  // MARK: A new one

  private static let new = ConsolePage(
    path: "/console/imports/new", title: "Import a file", section: .contacts,
    reads: [AnyOperation(ImportOperations.add), AnyOperation(ImportOperations.show)], query: ["list", "segment"]
  ) { call in
    let fields = try await ImportForm.new(call, segment: call.given("segment") ?? call.form.text("segmentId"))
    return ConsoleView(
      title: "Import a file", template: "import-new",
      values: [
        "form": call.formView(fields, ["listId": call.given("list"), "segmentId": call.given("segment")]),
        "reading": ImportForm.reading.map(\.name), "command": "pushcart import FILE --customer \(call.customer)",
      ])
  }

  /// The file comes with the same form, and waits in a review.
  private static let add = ConsoleAction(
    path: "/console/imports/new", operation: AnyOperation(ImportOperations.add), fields: ImportForm.all,
    form: "/console/imports/new"
  ) { call, file in
    let request = try ImportForm.request(call.form, fileName: file.part.fileName)
    let added = try await call.change(ImportOperations.add, (), request)
    let received = try await call.receive(file, of: added.importId)
    return .see("/console/imports/\(received.importId)")
  }

  /// The file of an import whose first one broke off.
  private static let send = ConsoleAction(
    path: "\(path)/file", operation: AnyOperation(ImportOperations.add), fields: [ImportForm.file], form: path
  ) { call, file in
    let received = try await call.receive(file, of: try call.number())
    return .see("/console/imports/\(received.importId)")
  }

  // MARK: One

  /// Characters of a rejected row on the page.
  private static let longestRow = 120
  /// How many rejects a page shows.
  private static let rejectsShown = 100

  private static let one = ConsolePage(
    path: path, title: "Import", section: .contacts, reads: [AnyOperation(ImportOperations.show)]
  ) { call in
    let id: ImportID = try call.number()
    let item = try await call.read(ImportOperations.show, id)
    let imports = Imports(call.parts.operations.database)
    var values = row(item, call)
    values["id"] = id
    values["done"] =
      item.percent.map {
        [["percent": $0, "bar": Figures.bar([("s1", $0)], of: 100, label: "\($0) % done")] as [String: Any]]
      } ?? []
    values["arrived"] = item.state == .receiving ? [["rows": ChartText.grouped(item.arrived)]] : []
    values["isMoving"] = item.state.isMoving
    values["pace"] = pace(item)
    values["error"] = item.error ?? ""
    let columns = item.state == .failed ? ImportReview.columns(of: item) : []
    (values["had"], values["hasHad"]) = (columns, !columns.isEmpty)
    values["counts"] = counts(item)
    values["hasRows"] = item.rows > 0
    values["extra"] = extra(item)
    values["facts"] = facts(item, call)
    values["ended"] = item.endedAt.map { [call.zone.time($0)] } ?? []
    values["mayCancel"] = !item.state.hasEnded && call.allows(ImportOperations.cancel)
    values["waits"] = item.state == .waiting && call.allows(ImportOperations.add)
    values["file"] = call.formView([ImportForm.file], of: "\(path)/file")
    values["hasRejects"] = item.rejected > 0
    values["refusals"] = call.refused == "\(path)/cancel" ? call.refusals : []
    let next = item.state == .finished && !item.dryRun ? next(item) : []
    (values["next"], values["hasNext"]) = (next, !next.isEmpty)
    if item.state == .review, call.allows(ImportOperations.start) {
      let request = try await imports.request(call.customer, id)
      values["review"] = [try await ImportReview(item, request, call, of: "\(path)/start").values]
    }
    if item.rejected > 0 {
      values["problems"] = try await imports.problems(call.customer, id).map {
        ["column": $0.column ?? "", "problem": $0.problem, "rows": ChartText.grouped($0.rows)]
      }
      values["rejects"] = try await imports.firstRejects(call.customer, id, limit: rejectsShown).map {
        ["line": $0.line, "column": $0.column ?? "", "problem": $0.problem, "row": shortened($0.row)]
      }
      values["isPart"] = item.rejected > rejectsShown
    }
    return ConsoleView(
      title: name(of: item), template: "import", values: values,
      sql: """
        SELECT * FROM report.imports WHERE customer_id = \(call.customer) AND import_id = \(id);
        SELECT line_no, column_name, problem, raw FROM import_reject
         WHERE customer_id = \(call.customer) AND import_id = \(id) ORDER BY row_no;
        """, isLive: item.state.isMoving)
  }

  /// A row as the page shows it: the download has all of it.
  private static func shortened(_ row: String) -> String {
    let shown = row.unicodeScalars.prefix(longestRow + 1)
    return shown.count > longestRow ? String(String.UnicodeScalarView(shown.dropLast())) + "…" : row
  }

  /// How fast it goes, and what is left, once some rows are merged.
  private static func pace(_ item: ImportReply) -> [[String: Any]] {
    guard item.state == .merging, item.rows > 0, let started = item.startedAt else { return [] }
    let total = item.arrived
    let rate = Double(item.rows) / max(Date().timeIntervalSince(started.date), 1)
    let left = max(total - item.rows, 0)
    return [
      [
        "rate": ChartText.grouped(max(Int(rate), 1)), "left": ChartText.grouped(left),
        "total": ChartText.grouped(total),
        "time": left > 0 ? ConsoleCall.duration(Int((Double(left) / rate).rounded(.up))) : "",
      ]
    ]
  }

  /// What has become of the rows: the counts sum to them.
  private static func counts(_ item: ImportReply) -> [[String: Any]] {
    [
      ("Added", item.added, "ok"), ("Updated", item.updated, "ok"), ("Unchanged", item.unchanged, "idle"),
      ("Twice in the file", item.duplicates, "idle"), ("Skipped", item.skipped, "idle"),
      ("Rejected", item.rejected, "bad"),
    ].map { label, count, tone in
      let share = ChartText.percent(count, of: item.rows)
      return [
        "label": label, "count": ChartText.grouped(count), "share": share,
        "bar": Figures.bar([(tone, count)], of: item.rows, label: "\(label): \(share) of the rows"),
      ]
    }
  }

  private static func extra(_ item: ImportReply) -> String {
    let verb = item.dryRun ? "would be" : "were"
    var sentences: [String] = []
    if item.devices > 0 { sentences.append("\(ChartText.grouped(item.devices)) tokens \(verb) registered.") }
    if item.removed > 0 { sentences.append("\(ChartText.grouped(item.removed)) contacts \(verb) taken off.") }
    return sentences.joined(separator: " ")
  }

  private static func facts(_ item: ImportReply, _ call: ConsoleCall) -> [[String: Any]] {
    var facts: [(String, String, String)] = [("Rows", ImportForm.label(of: item.mode), "")]
    facts.append(("A row is about", ImportForm.label(of: item.identity), ""))
    if let list = item.listId { facts.append(("List", "List \(list)", "/console/lists/\(list)")) }
    if let segment = item.segmentId {
      facts.append(("Segment", "Segment \(segment)", "/console/segments/\(segment)"))
    }
    if let encoding = item.encoding { facts.append(("Read as", encoding.rawValue, "")) }
    if let delimiter = item.delimiter { facts.append(("Cells between", ImportForm.label(ofDelimiter: delimiter), "")) }
    return facts.map { ["label": $0.0, "text": $0.1, "href": $0.2] }
  }

  private static func next(_ item: ImportReply) -> [[String: Any]] {
    var next: [(String, String)] = []
    if let list = item.listId { next.append(("/console/lists/\(list)", "Look at the list")) }
    if let segment = item.segmentId { next.append(("/console/segments/\(segment)", "Look at the segment")) }
    if let list = item.listId {
      next.append((ConsolePath.path("/console/new-sendout", ["filter": "in list \(list)"]), "Send to this list"))
    } else if let segment = item.segmentId {
      next.append(("/console/new-sendout?segment=\(segment)", "Send to this segment"))
    }
    next.append(("/console/imports/new", "Import another file"))
    return next.map { ["href": $0.0, "label": $0.1] }
  }

  // MARK: What can be done to it

  private static let start = ConsoleAction(
    path: "\(path)/start", operation: AnyOperation(ImportOperations.start), fields: ImportReview.fields, form: path
  ) { call in
    let id: ImportID = try call.number()
    let item = try await call.read(ImportOperations.show, id)
    let started = try await call.change(
      ImportOperations.start, id, try ImportReview.request(call.form, headings: item.headings ?? []))
    return .see(
      "/console/imports/\(id)",
      notice: started.dryRun ? "The dry run begins. Nothing is changed." : "The import begins.")
  }

  private static let cancel = ConsoleAction(
    path: "\(path)/cancel", operation: AnyOperation(ImportOperations.cancel),
    confirms: Confirmation(title: "Cancel the import?", button: "Cancel the import") { call in
      let item = try await call.read(ImportOperations.show, try call.number("id", ImportID.self))
      let merged = item.dryRun || item.state == .review ? 0 : item.added + item.updated
      return """
        “\(name(of: item))”: \(ChartText.grouped(merged)) contacts are added or updated, and stay so. The rest of the file is \
        forgotten. This cannot be undone.
        """
    }, form: path
  ) { call in
    let id: ImportID = try call.number()
    _ = try await call.change(ImportOperations.cancel, id, ())
    return .see("/console/imports/\(id)", notice: "The import is cancelled.")
  }

  private static let rejects = ConsolePage(
    path: "\(path)/rejects", title: "Rejects", section: .contacts, reads: [AnyOperation(ImportOperations.show)],
    query: ["after"]
  ) { call in
    let id: ImportID = try call.number()
    let imports = Imports(call.parts.operations.database)
    let after: Int64 = try call.query.integer("after", in: 0...Int64.max) ?? 0
    let (csv, _) = try await imports.rejects(call.customer, id, after: after)
    return ConsoleView(
      download: ConsoleDownload(name: "import-\(id)-rejects.csv", type: "text/csv; charset=utf-8", bytes: csv))
  }
}

/// The pages of contacts, as tabs.
enum ContactTabs {
  static func tabs(_ call: ConsoleCall, _ current: String) -> [[String: Any]] {
    call.tabs([ContactPages.pages, ImportPages.pages, DownloadPages.pages, SuppressionPages.pages], current)
  }
}

extension ImportState {
  /// For `{{>_state}}`.
  var badge: [String: Any] {
    let tone =
      switch self {
      case .waiting, .review: "warn"
      case .receiving, .checking, .merging: "ok"
      case .finished: "idle"
      case .failed, .cancelled: "bad"
      }
    return ["tone": tone, "text": self == .review ? "In review" : rawValue.inWords]
  }

  /// Whether it changes by itself.
  var isMoving: Bool { self == .receiving || self == .checking || self == .merging }
}
