import DataInOut
import HTTPTypes
import Operations
import Registry
import Wire

/// Exports: which contacts, devices or pushes become a file, and the file, made while the browser takes it.
enum DownloadPages {
  static let pages = [form]
  static let actions = [send]

  private static let path = "/console/exports"
  /// An export gives what a search gives page by page, with all that is known of people.
  private static let operation = AnyOperation(SegmentOperations.search)

  /// Where these rows are exported; "" for who may not.
  static func link(
    _ call: ConsoleCall, _ subject: ExportRequest.Subject, filter: String? = nil, segment: SegmentID? = nil,
    sendout: SendoutID? = nil
  ) -> String {
    guard call.allows(operation) else { return "" }
    return ConsolePath.path(
      path,
      [
        "what": subject.rawValue, "filter": filter, "segment": segment?.description, "sendout": sendout?.description,
      ])
  }

  // MARK: The form

  private static let fields = [
    FormField(
      "what", label: "What", kind: .choice(ExportRequest.Subject.allCases.map { choice($0) }), isRequired: true),
    segment,
    FormField(
      "filter", label: "Filter", kind: .area(rows: 2),
      hint: "Of whom: one line, as in country = 'SE' and has device. Empty for everyone."),
    FormField("sendout", label: "Sendout", kind: .number, hint: "Its number, for pushes. Empty for those of all."),
    FormField(
      "columns", label: "Columns",
      hint: "Names with commas between them, as below. Empty for the usual ones, of contacts with all properties."),
    FormField(
      "format", label: "Form",
      kind: .choice([.init("csv", "CSV, for spreadsheets and imports"), .init("ndjson", "NDJSON, for programs")]),
      isRequired: true),
    FormField(
      "exact", label: "Leave texts as they are, though a spreadsheet takes some for formulas", kind: .flag),
  ]

  private static let segment = FormField(
    "segment", label: "Segment", kind: .number, hint: "Its number. Empty for everyone.")

  private static func choice(_ subject: ExportRequest.Subject) -> FormField.Choice {
    FormField.Choice(subject.rawValue, subject.rawValue.inWords)
  }

  /// The segments by name, unless there are very many.
  private static func shownFields(_ call: ConsoleCall) async throws -> [FormField] {
    let page = try await call.read(SegmentOperations.list, PageRequest(limit: 200))
    guard page.next == nil else { return fields }
    return fields.map { field in
      guard field.name == segment.name else { return field }
      var field = field
      field.kind = .choice(page.items.map { FormField.Choice("\($0.segmentId)", $0.name) })
      field.hint = "Empty for everyone."
      return field
    }
  }

  /// What links to the form say of it already.
  private static let given = ["what", "filter", "segment", "sendout"]

  private static let form = ConsolePage(
    path: path, title: "Exports", section: .contacts, reads: [operation, AnyOperation(SegmentOperations.list)],
    query: given
  ) { call in
    let given = Dictionary(uniqueKeysWithValues: given.map { ($0, call.given($0)) })
    let typed = call.form.isEmpty ? FormValues(given.compactMap { name, value in value.map { (name, $0) } }) : call.form
    let request = try? request(typed)
    return ConsoleView(
      title: "Exports", template: "export",
      values: [
        "tabs": ContactTabs.tabs(call, path), "form": call.formView(try await shownFields(call), given),
        "wrong": FilterLine(typed.text("filter")).wrong,
        "columns": ExportRequest.Subject.allCases.map { subject in
          [
            "label": subject.rawValue.inWords, "names": subject.columns.joined(separator: ", "),
            "hasProperties": subject == .contacts,
          ] as [String: Any]
        },
      ], sql: request.map { sql($0, call) }, calls: request.map { [link($0, call)] } ?? [])
  }

  private static let send = ConsoleAction(path: path, operation: operation, fields: fields, form: path) { call in
    let request = try request(call.form)
    return .export(try await call.export(request), request.subject)
  }

  /// - Throws: `HTTPErrorResponse` (400), naming the field.
  private static func request(_ form: FormValues) throws -> ExportRequest {
    var request = ExportRequest(try form.choice("what") ?? .contacts)
    var parts: [Filter] = []
    if let segment: SegmentID = try form.number("segment") { parts.append(.segment(.number(segment.rawValue))) }
    if let text = form.text("filter"), !text.trimmed.isEmpty { parts.append(try FilterLine(text).require()) }
    if !parts.isEmpty { request.filter = parts.count == 1 ? parts[0] : .and(parts) }
    request.sendout = try form.number("sendout")
    request.columns = form.text("columns").map { text in
      text.split(atEach: ",").map { String($0.trimmed) }
    }
    request.format = try form.choice("format") ?? .csv
    request.isExact = form.flag("exact")
    return request
  }

  // MARK: The same elsewhere

  private static func link(_ request: ExportRequest, _ call: ConsoleCall) -> ConsoleLink {
    let subject = request.subject.rawValue
    let options: [(name: String, value: String?)] = [
      ("filter", request.filter?.text), ("sendout", request.sendout?.description),
      ("columns", request.columns?.joined(separator: ",")), ("format", request.format == .csv ? nil : "ndjson"),
    ]
    let given = options.compactMap { name, value in value.map { (name, $0) } }
    let query = given.map { "\($0)=\(PercentEncoding.encode($1))" } + (request.isExact ? ["exact=true"] : [])
    let url =
      "\(call.parts.consoleURL)/api/v1/exports/\(subject)" + (query.isEmpty ? "" : "?" + query.joined(separator: "&"))
    let words =
      ["pushcart export \(subject) --customer \(call.customer)"] + given.map { "--\($0) \(call.parts.quoted($1))" }
      + (request.isExact ? ["--exact"] : [])
    let file = "\(subject).\(request.format.rawValue)"
    return ConsoleLink(
      api: #"curl -H "Authorization: Bearer $KEY" -o \#(file) \#(call.parts.quoted(url))"#,
      command: words.joined(separator: " ") + " > \(file)")
  }

  /// For psql, without a filter: a segment stands for one there.
  private static func sql(_ request: ExportRequest, _ call: ConsoleCall) -> String {
    var rows =
      switch request.subject {
      case .contacts: "SELECT * FROM contact WHERE customer_id = \(call.customer)"
      case .devices: "SELECT * FROM device WHERE customer_id = \(call.customer) AND invalidated_at IS NULL"
      case .pushes: "SELECT * FROM push WHERE customer_id = \(call.customer)"
      }
    if case .segment(.number(let segment, _))? = request.filter {
      rows += " AND contact_id IN (SELECT contact_id FROM report.segment_contacts(\(call.customer), \(segment)))"
    }
    if let sendout = request.sendout { rows += " AND sendout_id = \(sendout)" }
    return "\\copy (\(rows)) TO '\(request.subject.rawValue).csv' (FORMAT csv, HEADER)"
  }
}

extension ConsoleCall {
  /// Begins an export, and notes that in the audit log before its first row leaves.
  fileprivate func export(_ request: ExportRequest) async throws -> ExportPages {
    let pages = try await parts.exports.begin(customer, request)
    _ = try await parts.replies.change(customer, by: author) { change in
      try await change.record(.other(.export), request.subject.rawValue, after: pages.audited)
      return pages.audited
    }
    return pages
  }
}
