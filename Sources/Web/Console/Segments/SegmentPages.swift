import Operations
import Registry
import Wire

/// Segments, and one with its filter, its count and who is in it.
enum SegmentPages {
  static let pages = [list, new, one]
  static let actions = [add, change, tryNew, tryOne, remove, join, leave]

  private static let newPath = "/console/segments/new"
  private static let path = "/console/segments/{id}"

  private static let list = ConsolePage(
    path: "/console/segments", title: "Segments", section: .segments, reads: [AnyOperation(SegmentOperations.list)],
    query: ["after"]
  ) { call in
    let after: SegmentID? = try call.query.page().after
    let page = try await call.read(SegmentOperations.list, PageRequest(after: after, limit: 50))
    let mayAdd = call.allows(SegmentOperations.add)
    return ConsoleView(
      title: "Segments", template: "segments",
      values: [
        "rows": page.items.map { segment -> [String: Any] in
          [
            "href": "/console/segments/\(segment.segmentId)", "id": segment.segmentId, "name": segment.name,
            "isStatic": segment.static, "text": segment.text.map(shortened) ?? "",
            "changed": call.zone.time(segment.updatedAt),
          ]
        },
        "hasRows": !page.items.isEmpty, "mayAdd": mayAdd,
        "pager": ConsolePath.pager("/console/segments", after: after?.description, page.next?.description),
        "first": page.items.isEmpty && after == nil
          ? [
            [
              "title": "There are no segments yet",
              "text": "A segment is a named filter, or a set of contacts that you choose. Sendouts can go to it.",
              "command": """
              pushcart segment add --customer \(call.customer) --name Regulars --filter 'received >= 1 within 30 days'
              """,
              "link": mayAdd ? [["href": newPath, "label": "New segment"]] : [],
            ]
          ] : [],
      ], sql: "SELECT * FROM report.segments WHERE customer_id = \(call.customer) ORDER BY segment_id LIMIT 50;")
  }

  /// A line of a table: the whole of it can have 64 KiB.
  private static func shortened(_ text: String) -> String {
    text.unicodeScalars.count > 200 ? String(text.unicodeScalars.prefix(200)) + "…" : text
  }

  // MARK: One segment

  private static let new = ConsolePage(
    path: newPath, title: "New segment", section: .segments, reads: [AnyOperation(SegmentOperations.add)],
    query: ["filter"]
  ) { call in try await SegmentEditor(call).view() }

  private static let one = ConsolePage(
    path: path, title: "Segment", section: .segments,
    reads: [AnyOperation(SegmentOperations.list), AnyOperation(SegmentOperations.show)]
  ) { call in
    var call = call
    // What was typed belongs to another form of the page.
    if let refused = call.refused, refused != path, refused != "\(path)/preview" {
      let other = call
      (call.form, call.refusal) = (FormValues(), nil)
      var view = try await editor(call).view()
      view.values["join"] = other.formView([SegmentEditor.originalIDs], of: "\(path)/join")
      if refused != "\(path)/join" { view.values["problem"] = other.formView([], of: refused) }
      return view
    }
    return try await editor(call).view()
  }

  private static func editor(_ call: ConsoleCall) async throws -> SegmentEditor {
    SegmentEditor(call, try await call.read(SegmentOperations.show, try call.number()))
  }

  private static let add = ConsoleAction(
    path: newPath, operation: AnyOperation(SegmentOperations.add), fields: SegmentEditor.fields, form: newPath
  ) { call in
    let segment = try await call.change(SegmentOperations.add, (), try SegmentEditor(call).request())
    return .see("/console/segments/\(segment.segmentId)", notice: "The segment is added.")
  }

  private static let change = ConsoleAction(
    path: path, operation: AnyOperation(SegmentOperations.change), fields: SegmentEditor.fields, form: path
  ) { call in
    let id: SegmentID = try call.number()
    _ = try await call.change(SegmentOperations.change, id, try await editor(call).request())
    return .see("/console/segments/\(id)", notice: "The segment is changed.")
  }

  private static let tryNew = ConsoleAction(
    path: "\(newPath)/preview", operation: AnyOperation(SegmentOperations.add), fields: SegmentEditor.fields,
    form: newPath
  ) { call in .show(try await SegmentEditor(call).view()) }

  private static let tryOne = ConsoleAction(
    path: "\(path)/preview", operation: AnyOperation(SegmentOperations.count), fields: SegmentEditor.fields, form: path
  ) { call in .show(try await editor(call).view()) }

  private static let remove = ConsoleAction(
    path: "\(path)/remove", operation: AnyOperation(SegmentOperations.remove),
    confirms: Confirmation(title: "Delete the segment?", button: "Delete the segment") { call in
      let segment = try await call.read(SegmentOperations.show, try call.number())
      return "“\(segment.name)” is deleted, and nothing can be sent to it any more. Its contacts stay."
    }, form: path
  ) { call in
    let segment = try await call.change(SegmentOperations.remove, try call.number(), ())
    return .see("/console/segments", notice: "The segment \(segment.name) is deleted.")
  }

  // MARK: Static segments

  private static let join = ConsoleAction(
    path: "\(path)/join", operation: AnyOperation(SegmentOperations.changeContacts),
    fields: [SegmentEditor.originalIDs], form: path
  ) { call in
    let id: SegmentID = try call.number()
    let ids = (call.form.text("add") ?? "").split(separator: "\n").map { String($0.trimmed) }.filter { !$0.isEmpty }
    guard ids.count <= SegmentContactsRequest.maximumCount else {
      throw HTTPErrorResponse.badRequest(
        "add holds \(ids.count) ids, and at most \(SegmentContactsRequest.maximumCount) are allowed. Import more.")
    }
    let done = try await call.change(SegmentOperations.changeContacts, id, SegmentContactsRequest(add: ids))
    return .see("/console/segments/\(id)", notice: told(done))
  }

  private static let leave = ConsoleAction(
    path: "\(path)/leave", operation: AnyOperation(SegmentOperations.changeContacts),
    confirms: Confirmation(title: "Take the contact out of the segment?", button: "Take it out") { call in
      "\(call.form.text("remove") ?? "The contact") gets nothing any more that is sent to this segment. The contact stays."
    }, fields: [FormField("remove", label: "Original id", isRequired: true)], form: path
  ) { call in
    let id: SegmentID = try call.number()
    let done = try await call.change(
      SegmentOperations.changeContacts, id, SegmentContactsRequest(remove: call.form.all("remove")))
    return .see("/console/segments/\(id)", notice: told(done))
  }

  /// What a change did, in a sentence or three.
  private static func told(_ done: SegmentContactsReply) -> String {
    var sentences: [String] = []
    if done.added > 0 { sentences.append("\(done.added) \(done.added == 1 ? "contact" : "contacts") joined.") }
    if done.removed > 0 { sentences.append("\(done.removed) left.") }
    if let first = done.unknownOriginalIds.first {
      let others = done.unknownOriginalIds.count - 1
      sentences.append(
        "No contact has the original id \(first.prefix(80))\(others > 0 ? ", nor \(others) others of these" : "").")
    }
    return sentences.isEmpty ? "Nothing has changed: that is so already." : sentences.joined(separator: " ")
  }
}
