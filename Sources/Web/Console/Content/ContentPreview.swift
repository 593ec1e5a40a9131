import Content
import Embedded
import HTTPTypes
import Operations
import Registry
import Wire

/// A template's text as a page for one contact.
struct ContentPreview: Sendable {
  /// `nil` if the text is refused.
  private(set) var reply: PagePreviewReply?
  /// Why it is refused.
  private(set) var refusal: String?
  /// Whose fields the page has; `nil` for nobody's.
  private(set) var contact: ContactDetails?

  /// Lines that are shown before and after a problem's, and most characters of each.
  private static let (around, longest) = (2, 200)

  /// - Parameter query: the beginning of what the contact is looked up by: the newest one if empty.
  init(_ call: ConsoleCall, _ request: PagePreviewRequest, contact query: String?) async throws {
    var request = request
    if call.user.seesPersonal, call.allows(ContactOperations.list) {
      let found = try await call.read(ContactOperations.list, (((query, nil), nil), PageRequest(limit: 1))).items
      contact = found.first
      request.originalId = contact?.originalId
    }
    do {
      reply = try await call.change(TemplateOperations.preview, (), request)
    } catch {
      guard let response = ErrorReplies.response(for: error), response.status.code < 500 else { throw error }
      refusal = response.sentence
    }
  }

  /// The page, or what is wrong with it, for a frame.
  var document: String {
    if let problem = reply?.problems.first {
      return Self.text("Line \(problem.line), column \(problem.column): \(problem.reason).")
    }
    guard let reply, let page = reply.page else { return Self.text(refusal ?? "") }
    let isHTML = (try? TemplateFormat(contentType: reply.contentType)) == .html
    return isHTML ? page : Self.text(page)
  }

  private static func text(_ text: String) -> String {
    HTMLTemplates.console.render("content-text", ["text": text])
  }

  /// What is said beside the page.
  /// - Parameter body: the text.
  func values(_ body: String) -> [String: Any] {
    let name = contact.map { contact in contact.fullName.map { "\($0), \(contact.originalId)" } ?? contact.originalId }
    let warnings = reply?.warnings ?? []
    return [
      "contact": name ?? "", "warnings": warnings.map { ["text": $0] }, "hasWarnings": !warnings.isEmpty,
      "refusal": refusal ?? "", "problems": (reply?.problems ?? []).map { Self.values($0, body) },
    ]
  }

  /// A problem with the lines around it.
  static func values(_ problem: TemplateProblem, _ body: String) -> [String: Any] {
    let lines = LineDifference.lines(of: body)
    let near = max(1, problem.line - around)...max(1, min(lines.count, problem.line + around))
    return [
      "line": problem.line, "column": problem.column, "reason": problem.reason,
      "lines": near.filter { $0 <= lines.count }.map { number -> [String: Any] in
        [
          "number": number, "text": String(lines[number - 1].text.prefix(longest)), "isHere": number == problem.line,
        ]
      },
    ]
  }
}
