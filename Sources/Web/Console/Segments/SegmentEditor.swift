import DataInOut
import HTTPTypes
import Operations
import Registry
import Sendouts
import Wire

/// The form of a segment: a line and rows that say the same, how many meet it, and why one contact does or does not.
struct SegmentEditor: Sendable {
  let call: ConsoleCall
  /// `nil` for a new one.
  let segment: SegmentReply?
  let line: FilterLine
  let rows: FilterRows?
  private let rowProblem: FilterRowProblem?

  enum Own {
    /// The line that the rows were made of.
    static let before = "before.filter"
    static let join = "rows.join"
    /// What the pressed button does.
    static let verb = "do"
    /// Whom the filter is explained for.
    static let to = "to"
  }

  /// More rows are a line alone: a page has 60 KiB.
  private static let mostRows = 20

  init(_ call: ConsoleCall, _ segment: SegmentReply? = nil) {
    self.call = call
    self.segment = segment
    let form = call.form
    let typed = form.isEmpty ? segment?.text ?? call.given("filter") : form.text("filter")
    let isSame = (form.text("filter") ?? "").hasSameBytes(as: form.text(Own.before) ?? "")
    guard !form.isEmpty, isSame, var rows = Self.rows(of: form) else {
      line = FilterLine(typed)
      var rows = line.filter.flatMap { FilterRows($0) }
      if rows?.rows.count ?? 0 > Self.mostRows { rows = nil }
      if form.text(Own.verb) == "add" { rows?.rows.append(FilterRows.Row()) }
      (self.rows, rowProblem) = (rows, nil)
      return
    }
    let verb = form.text(Own.verb) ?? ""
    if verb.hasPrefix("remove."), let number = Int(verb.dropFirst("remove.".count)), rows.rows.indices.contains(number)
    {
      rows.rows.remove(at: number)
    }
    do throws(FilterRowProblem) {
      let filter = try rows.filter()
      (line, rowProblem) = (FilterLine(filter == .everyone && typed == nil ? nil : filter.text), nil)
    } catch {
      (line, rowProblem) = (FilterLine(typed), error)
    }
    if verb == "add", rows.rows.count < Self.mostRows { rows.rows.append(FilterRows.Row()) }
    self.rows = rows
  }

  /// - Returns: nil for a form without rows.
  private static func rows(of form: FormValues) -> FilterRows? {
    guard let join = form.text(Own.join) else { return nil }
    let rows = (0..<mostRows).prefix { form.text("row.\($0).op") != nil }.map { number in
      FilterRows.Row(
        field: form.text("row.\(number).field") ?? "", op: form.text("row.\(number).op") ?? "",
        value: form.text("row.\(number).value") ?? "")
    }
    return FilterRows(rows: rows, isAny: join == "any")
  }

  // MARK: Requests

  /// The filter of line and rows.
  /// - Throws: `HTTPErrorResponse` (400), naming the field.
  func filter() throws(HTTPErrorResponse) -> Filter {
    if let rowProblem {
      throw .badRequest(field: "filter", problem: "has a wrong row \(rowProblem.number): \(rowProblem.problem)")
    }
    return try line.require()
  }

  /// What is saved. Of a segment that is static it has no filter.
  /// - Throws: `HTTPErrorResponse` (400), naming the field.
  func request() throws -> SegmentRequest {
    let isStatic = segment?.static ?? call.form.flag("static")
    let description = call.form.text("description")
    return SegmentRequest(
      name: call.form.text("name") ?? "", description: segment == nil ? description : description ?? "",
      filter: isStatic ? nil : try filter(), static: segment == nil && isStatic ? true : nil)
  }

  // MARK: The page

  static let fields = [
    SegmentRequest.form.field("name", label: "Name"),
    SegmentRequest.form.field("description", label: "Description", kind: .text),
    FormField(
      "static", label: "Static: contacts are put into it, by hand or by imports, and it has no filter", kind: .flag),
    FormField("filter", label: "Filter", kind: .area(rows: 3)),
    FormField(Own.to, label: "Original id of a contact"),
  ]

  /// Contacts that the page shows.
  private static let shown = 20

  func view() async throws -> ConsoleView {
    let path = segment.map { "/console/segments/\($0.segmentId)" } ?? "/console/segments/new"
    let mayChange = segment == nil ? call.allows(SegmentOperations.add) : call.allows(SegmentOperations.change)
    let initial: [String: [String]] = [
      "name": [segment?.name].compactMap(\.self), "description": [segment?.description].compactMap(\.self),
      "filter": [line.text],
    ]
    let typed = call.form.isEmpty ? call.form : call.form.with("filter", line.text)
    let form = FormView(Self.fields, initial, typed, call.refusal).values
    let isStatic = segment?.static == true
    var values: [String: Any] = [
      "path": path, "form": form, "isNew": segment == nil, "isStatic": isStatic, "mayChange": mayChange,
      "line": line.text, "wrong": line.wrong, "customer": call.customer.description,
      "fieldNames": FilterRows.fieldNames.map { ["name": $0] }, "rowProblem": rowProblem.map(Self.values) ?? [],
      "mayExplain": !isStatic && call.allows(SegmentOperations.explain),
      "isPlain": rows != nil, "isMore": rows == nil && line.filter != nil,
    ]
    if let rows { values["builder"] = [Self.values(of: rows)] }
    var calls: [ConsoleLink] = []
    if let filter = line.filter, !isStatic || segment != nil {
      let counted = isStatic ? segment.map { Filter.segment(.number($0.segmentId.rawValue)) } ?? filter : filter
      values["count"] = [try await count(counted)]
      if !isStatic { values["explained"] = try await explain(filter) }
      calls.append(link(counted))
    }
    if let segment {
      values.merge(try await about(segment, path)) { $1 }
    }
    return ConsoleView(
      title: segment?.name ?? "New segment", template: "segment", values: values,
      sql: segment.map { "SELECT * FROM report.segment_contacts(\(call.customer), \($0.segmentId)) LIMIT 20;" },
      calls: calls)
  }

  private static func values(_ problem: FilterRowProblem) -> [[String: Any]] {
    [["number": problem.number, "problem": problem.problem]]
  }

  private static func values(of rows: FilterRows) -> [String: Any] {
    let shown = rows.rows.isEmpty ? [FilterRows.Row()] : rows.rows
    return [
      "isAny": rows.isAny,
      "rows": shown.enumerated().map { number, row -> [String: Any] in
        [
          "number": number, "place": number + 1, "field": row.field, "value": row.value,
          "ops": FilterRows.operators.map { ["op": $0, "isSelected": $0.hasSameBytes(as: row.op)] as [String: Any] },
        ]
      },
    ]
  }

  // MARK: Counts

  private func count(_ filter: Filter) async throws -> [String: Any] {
    let isExact = call.form.text(Own.verb) == "exact"
    do {
      let reply = try await call.change(
        SegmentOperations.count, (), SegmentCountRequest(filter: filter, exact: isExact ? true : nil))
      return Self.values(of: reply, call)
    } catch {
      guard let refusal = ErrorReplies.response(for: error) else { throw error }
      let problem = refusal.status.code < 500 ? refusal.sentence : "The contacts could not be counted in time."
      return ["problem": problem, "isKnown": false, "percent": "", "isCounting": false, "hasApps": false]
    }
  }

  private static func values(of reply: SegmentCountReply, _ call: ConsoleCall) -> [String: Any] {
    let grouped = { (number: Int?) in ComposerForm.grouped(number ?? 0) }
    var values: [String: Any] = [
      "isKnown": reply.contacts != nil, "isCounting": reply.percent != nil, "percent": reply.percent ?? 0,
      "problem": "",
      "contacts": grouped(reply.contacts), "isOne": reply.contacts == 1, "devices": grouped(reply.devices),
      "isOneDevice": reply.devices == 1, "isExact": reply.exact, "low": grouped(reply.low ?? reply.contacts),
      "high": grouped(reply.high ?? reply.contacts), "hasApps": reply.apps?.isEmpty == false,
      "apps": (reply.apps ?? []).map { app in
        ["appId": app.appId, "platform": app.appType.platform, "devices": grouped(app.devices)]
      },
    ]
    values["asOf"] = reply.asOf.map { [call.zone.time($0)] } ?? []
    return values
  }

  private func explain(_ filter: Filter) async throws -> [[String: Any]] {
    guard call.form.text(Own.verb) == "explain", call.allows(SegmentOperations.explain),
      let to = call.form.text(Own.to).map({ String($0.trimmed) })
    else { return [] }
    do {
      let reply = try await call.change(
        SegmentOperations.explain, (), SegmentExplainRequest(filter: filter, originalId: to))
      return [
        [
          "to": to, "result": reply.result, "problem": "",
          "nodes": reply.nodes.map { node -> [String: Any] in
            ["text": node.text, "result": node.result, "value": node.value ?? ""]
          },
        ]
      ]
    } catch {
      guard let refusal = ErrorReplies.response(for: error), refusal.status.code < 500 else { throw error }
      return [["to": to, "problem": refusal.sentence, "result": false, "nodes": [[String: Any]]()]]
    }
  }

  /// The request and the command that count.
  private func link(_ filter: Filter) -> ConsoleLink {
    ConsoleLink(
      api: call.posting("/api/v1/segments/count", ["filter": .string(filter.text)]),
      command: "pushcart segment count --customer \(call.customer) --filter \(call.parts.quoted(filter.text))")
  }

  // MARK: An existing segment

  /// Who is in it, and what uses it.
  private func about(_ segment: SegmentReply, _ path: String) async throws -> [String: Any] {
    var values: [String: Any] = [
      "id": segment.segmentId, "since": call.zone.time(segment.createdAt), "changed": call.zone.time(segment.updatedAt),
      "users": try await users(of: segment.segmentId), "mayRemove": call.allows(SegmentOperations.remove),
      "all": ConsolePath.path("/console/contacts", ["filter": "in segment \(segment.segmentId)"]),
      "seesAll": call.allows(SegmentOperations.search),
      "export": DownloadPages.link(call, .contacts, segment: segment.segmentId),
      "send": call.allows(SendoutOperations.add) ? "/console/new-sendout?segment=\(segment.segmentId)" : "",
    ]
    values.merge(SegmentPages.members.values(call)) { $1 }
    if !segment.static { values["mayJoin"] = false }
    // What was typed is not saved yet.
    guard call.form.isEmpty || call.refusal != nil else { return values }
    do {
      let page = try await call.read(
        SegmentOperations.contacts, (segment.segmentId, PageRequest(limit: Self.shown)))
      values["who"] = [
        [
          "rows": page.items.map { ContactPages.row($0, call) }, "hasRows": !page.items.isEmpty,
          "hasMore": page.next != nil, "problem": "",
        ] as [String: Any]
      ]
    } catch {
      guard let refusal = ErrorReplies.response(for: error),
        refusal.status.code != 403 || refusal == .personalFilterRefused
      else { throw error }
      values["who"] = [["rows": [[String: Any]](), "hasRows": false, "hasMore": false, "problem": refusal.sentence]]
    }
    return values
  }

  /// What names the segment: other segments, and the first sendout that is not frozen yet.
  private func users(of id: SegmentID) async throws -> [[String: Any]] {
    let segments = try await call.read(
      SegmentOperations.list, PageRequest(limit: PageRequest<SegmentID>.limits.upperBound))
    var users: [[String: Any]] = segments.items.filter { $0.filter?.names(id) == true }.map {
      ["href": "/console/segments/\($0.segmentId)", "name": $0.name, "noun": "segment"]
    }
    if call.allows(SendoutOperations.show),
      let sendout = try await SendoutStore(call.parts.operations.database).first(naming: id, of: call.customer)
    {
      users.append(["href": "/console/sendouts/\(sendout)", "name": "\(sendout)", "noun": "sendout"])
    }
    return users
  }
}

extension Filter {
  /// Whether it has this segment in it, by number.
  fileprivate func names(_ segment: SegmentID) -> Bool {
    switch self {
    case .segment(.number(let number, _)): number == segment.rawValue
    case .and(let parts), .or(let parts): parts.contains { $0.names(segment) }
    case .not(let part): part.names(segment)
    default: false
    }
  }
}

extension ConsoleCall {
  /// A POST to the management API as a line of curl.
  func posting(_ path: String, _ members: [UTF8String: JSONValue]) -> String {
    let body = String(decoding: JSONValue.object(members).json, as: UTF8.self)
    return """
      curl -X POST -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \
      \(parts.quoted(parts.consoleURL + path)) -d \(parts.quoted(body))
      """
  }
}
