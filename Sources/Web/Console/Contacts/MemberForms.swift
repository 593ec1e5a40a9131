import Operations
import Registry
import Wire

/// Who is on a list, or in a static segment: the forms that put contacts in and take them out.
struct MemberForms<Owner: NumberedReply>: Sendable {
  let operation: Operation<Owner.Number, MembersRequest, MembersReply>
  /// As in `out of the segment`; its first word stands on buttons.
  let away: String

  /// Path of the page, as pages and actions have it.
  private var page: String { "/console/\(Owner.noun)s/{id}" }
  /// Paths of the actions.
  var paths: [String] { ["\(page)/join", "\(page)/leave"] }
  private var button: Substring { away.prefix { $0 != " " } }

  private var fields: [FormField] {
    [
      FormField(
        "add", label: "Original ids", kind: .area(rows: 5),
        hint: "A line for each, \(MembersRequest.maximumCount) at most.", isRequired: true)
    ]
  }

  var actions: [ConsoleAction] {
    [
      ConsoleAction(path: paths[0], operation: AnyOperation(operation), fields: fields, form: page) { call in
        try await change(call, MembersRequest(add: call.form.lines("add")))
      },
      ConsoleAction(
        path: paths[1], operation: AnyOperation(operation),
        confirms: Confirmation(title: "Take the contact \(away)?", button: "Take it \(button)") { call in
          let contact = call.form.text("remove") ?? "The contact"
          return "\(contact) gets nothing any more that is sent to this \(Owner.noun). The contact stays."
        }, fields: [FormField("remove", label: "Original id", isRequired: true)], form: page
      ) { call in try await change(call, MembersRequest(remove: call.form.all("remove"))) },
    ]
  }

  /// For the templates `_members` and `_join`, which the page calls with its own path as `path`.
  func values(_ call: ConsoleCall) -> [String: Any] {
    [
      "mayJoin": call.allows(operation), "join": form(call), "away": String(button),
      "hidesPersonal": !call.user.seesPersonal,
    ]
  }

  /// The form, with what was typed, and why either of the actions was refused.
  func form(_ call: ConsoleCall) -> [String: Any] {
    call.formView(fields, of: paths.first { $0 == call.refused } ?? paths[0])
  }

  private func change(_ call: ConsoleCall, _ request: MembersRequest) async throws -> ConsoleDone {
    let number: Owner.Number = try call.number()
    let done = try await call.change(operation, number, request)
    return .see(page.replacing("{id}", with: "\(number)"), notice: done.sentences)
  }
}

extension MembersReply {
  /// What a change did, in a sentence or three.
  fileprivate var sentences: String {
    var sentences: [String] = []
    if added > 0 { sentences.append("\(added) \(added == 1 ? "contact" : "contacts") joined.") }
    if removed > 0 { sentences.append("\(removed) left.") }
    if let first = unknownOriginalIds.first {
      let others = unknownOriginalIds.count - 1
      sentences.append(
        "No contact has the original id \(first.prefix(80))\(others > 0 ? ", nor \(others) others of these" : "").")
    }
    return sentences.isEmpty ? "Nothing has changed: it was so already." : sentences.joined(separator: " ")
  }
}
