import Content
import HTTPTypes
import Operations
import Registry
import Wire

/// Where templates are written: a new one, and the next version of one, with its page beside the text.
struct ContentForm: Sendable {
  let call: ConsoleCall
  /// `nil` for a new template.
  let template: TemplateReply?

  static let new = "/console/new-content"
  private static let edit = "/console/content/{name}/edit"

  static let pages = [
    ConsolePage(
      path: new, title: "New template", section: .content, reads: [AnyOperation(TemplateOperations.save)]
    ) { call in try await ContentForm(call: call, template: nil).view() },
    ConsolePage(
      path: edit, title: "Change a template", section: .content,
      reads: [AnyOperation(TemplateOperations.save), AnyOperation(TemplateOperations.show)], query: ["version"]
    ) { call in
      let version = try call.query.integer("version", in: 1...Int32.max)
      let template = try await call.read(TemplateOperations.show, (call.path["name"] ?? "", version))
      return try await ContentForm(call: call, template: template).view()
    },
  ]

  static let actions = [
    ConsoleAction(path: new, operation: AnyOperation(TemplateOperations.save), fields: fields, form: new) { call in
      let name = call.form.text("name") ?? ""
      guard try await !isTaken(name, call) else {
        throw HTTPErrorResponse.conflict("name is taken. Change the template of this name, or choose another one.")
      }
      return try await save(name, call)
    },
    ConsoleAction(path: edit, operation: AnyOperation(TemplateOperations.save), fields: fields, form: edit) { call in
      try await save(call.path["name"] ?? "", call)
    },
    // What is beside the text while one writes.
    ConsoleAction(path: "\(new)/preview", operation: AnyOperation(TemplateOperations.save), form: new) { call in
      .show(try await ContentForm(call: call, template: nil).view())
    },
    ConsoleAction(path: "\(new)/page", operation: AnyOperation(TemplateOperations.save), form: new) { call in
      .show(ConsoleView(document: try await ContentForm(call: call, template: nil).preview().document))
    },
  ]

  private static func isTaken(_ name: String, _ call: ConsoleCall) async throws -> Bool {
    do {
      _ = try await call.read(TemplateOperations.show, (name, nil))
      return true
    } catch ContentError.templateUnknown {
      return false
    }
  }

  private static func save(_ name: String, _ call: ConsoleCall) async throws -> ConsoleDone {
    let request = TemplateRequest(contentType: call.form.text("contentType"), body: call.form.text("body") ?? "")
    let saved = try await call.change(TemplateOperations.save, name, request)
    return .see(ContentPages.path(saved.name), notice: "Version \(saved.version) is saved.")
  }

  // MARK: Fields

  private static let name = FormField(
    "name", label: "Name", hint: "Letters, digits, dots, hyphens and underscores. Sendouts refer to it.",
    isRequired: true, limits: 1...100)
  private static let body = FormField(
    "body", label: "Text", kind: .area(rows: 26), hint: "Mustache. Saving adds a version, and sendouts keep theirs.",
    isRequired: true, limits: 1...262_144)
  private static let contentType = FormField(
    "contentType", label: "Format", kind: .choice(TemplateFormat.allCases.map { .init($0.rawValue, $0.label) }),
    hint: "It decides how values are escaped.", isRequired: true)
  private static let shownFor = [
    FormField(
      "contact", label: "For", hint: "How an original id, an e-mail address, a number or a name begins.",
      limits: 1...255),
    FormField("alert", label: "Alert", hint: "What {{sendout.alert}} stands for.", limits: 1...2000),
  ]
  /// What pages say at first where they name the alert.
  static let alert = "Here is what the message says"
  private static let fields = [name, contentType, body] + shownFor

  // MARK: The page

  /// Where its form goes.
  private var path: String { template.map { "\(ContentPages.path($0.name))/edit" } ?? Self.new }

  private func view() async throws -> ConsoleView {
    let format = try template.map { try TemplateFormat(contentType: $0.contentType) } ?? .html
    let text = call.form.isEmpty ? template?.body ?? "" : call.form.text("body") ?? ""
    let form = call.formView(
      Self.fields, ["contentType": format.rawValue, "body": text, "alert": Self.alert])
    let shown = form["fields"] as? [[String: Any]] ?? []
    func some(_ fields: [FormField]) -> [[String: Any]] {
      shown.filter { field in fields.contains { $0.name == field["name"] as? String } }
    }
    var values: [String: Any] = [
      "path": path, "back": template.map { ContentPages.path($0.name) } ?? "/console/content",
      "errors": form["errors"] ?? [[String: Any]](),
      "textFields": some((template == nil ? [Self.name] : []) + [Self.contentType, Self.body]),
      "shownFor": some(Self.shownFor.filter { $0.name != "contact" || call.user.seesPersonal }),
      "variables": PageContext.variables.map { ["name": $0, "tag": "{{\($0)}}"] },
      "isNew": template == nil,
      "source": template.map { "\(ContentPages.path($0.name))/page?version=\($0.version)" } ?? "",
      "preview": [[String: Any]](),
    ]
    if !text.isEmpty { values["preview"] = [try await preview(text).values(text)] }
    return ConsoleView(
      title: template.map { "Change \($0.name)" } ?? "New template", template: "content-edit", values: values,
      calls: [link])
  }

  /// The page of what is typed.
  /// - Parameter text: in place of it.
  private func preview(_ text: String? = nil) async throws -> ContentPreview {
    try await ContentPreview(
      call,
      PagePreviewRequest(
        contentType: call.form.text("contentType") ?? template?.contentType, body: text ?? call.form.text("body") ?? "",
        message: (call.form.isEmpty ? Self.alert : call.form.text("alert")).map { MessageBody(alert: $0) }),
      contact: call.form.text("contact"))
  }

  /// The curl line and the command that save a template.
  private var link: ConsoleLink {
    let name = template?.name ?? "offer"
    let url = "\(call.parts.consoleURL)/api/v1/templates/\(name)"
    return ConsoleLink(
      api: """
        jq -Rs '{body: .}' \(name).html | curl -X PUT -H "Authorization: Bearer $KEY" \\
          -H 'Content-Type: application/json' \(url) -d @-
        """,
      command: "pushcart template put --customer \(call.customer) --name \(name) --file \(name).html")
  }
}
