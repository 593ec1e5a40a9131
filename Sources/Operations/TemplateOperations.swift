import Content
import HTTPTypes
import Sendouts
package import Wire

extension APIOperation.Tag {
  package static let templates = Self(
    "Templates",
    "Rich pages in Mustache. Saving adds a version. A sendout keeps the version it was made with.",
    readers: [.marketer, .analyst], editors: [.marketer])
}

/// `/api/v1/templates`.
package enum TemplateOperations: ManagedOperations {
  package static let all = [
    AnyOperation(list), AnyOperation(save), AnyOperation(show), AnyOperation(versions), AnyOperation(uses),
    AnyOperation(preview), AnyOperation(remove),
  ]

  package static let list = Operation(
    get: "/api/v1/templates", id: "listTemplates", .templates, "List the templates",
    "Lists the current version of each template by name, without its text.", at: .namedPage(example: "offer"),
    replies: .ok("A page of templates.", Page<TemplateReply, String>(items: [TemplateReply.example.withoutBody]))
  ) { call, page, _ in page.slice(of: try await Templates(call.database).list(call.customer), by: \.name) }

  package static let show = Operation(
    get: "/api/v1/templates/{name}", id: "showTemplate", .templates, "Show a template",
    "Returns the current version, or the requested one.",
    at: name.and(
      .integer("version", in: 1...Int32.max, "The version. The current one if absent.", example: 2)),
    replies: .ok("The template with its text.", TemplateReply.form),
    errors: [
      .error(
        "The customer has no template of this name, or no such version of it.",
        ContentError.templateUnknown(name: "offer", version: nil),
        ContentError.templateUnknown(name: "offer", version: 2))
    ]
  ) { call, target, _ in
    let (name, version) = target
    return TemplateReply(try await Templates(call.database).get(call.customer, name: name, version: version))
  }

  package static let versions = Operation(
    get: "/api/v1/templates/{name}/versions", id: "listTemplateVersions", .templates, "List a template's versions",
    "The newest first, without their texts.", at: name.and(.namedPage(of: "version", example: "3")),
    replies: .ok("A page of versions.", Page<TemplateReply, String>(items: [TemplateReply.example.withoutBody])),
    errors: [unknown]
  ) { call, target, _ in
    let (name, page) = target
    guard let after = page.after.map({ Int32($0) }) ?? .max else {
      throw HTTPErrorResponse.badRequest("after must be a version, such as 3.")
    }
    let templates = Templates(call.database)
    let found = try await templates.versions(call.customer, name: name, before: after, limit: page.limit + 1)
    if found.isEmpty { _ = try await templates.get(call.customer, name: name) }
    return page.page(of: found) { "\($0.version)" }
  }

  package static let uses = Operation(
    get: "/api/v1/templates/{name}/uses", id: "showTemplateUses", .templates, "Show what uses a template",
    "Lists the triggers and sendouts that have the template's page.", at: name,
    replies: .ok("What uses it.", TemplateUses.form), errors: [unknown]
  ) { call, name, _ in try await TemplateUse(call.database).uses(call.customer, name: name) }

  package static let remove = Operation(
    .delete, "/api/v1/templates/{name}", id: "removeTemplate", .templates, "Remove a template",
    """
    Removes all of its versions. Pages of pushes that were sent stay. While a trigger names it, or a sendout that has not ended, it cannot \
    be removed. A template that is saved under the name later begins with the next version.
    """,
    at: name, body: .none, replies: .ok("The template as it was, without its text.", TemplateReply.form),
    errors: [
      unknown, .error("It is in use.", SendoutError.templateInUse(by: ["trigger 1", "sendout 7"])),
    ], audit: "template.remove"
  ) { call, name, _ in
    let removed = try await TemplateUse(call.database).remove(call.customer, name: name)
    return Changed(removed, .init("template \(name)", before: removed, after: nil))
  }

  package static let preview = Operation(
    showing: "/api/v1/pages/preview", id: "previewPage", .templates, "Show a template's page",
    """
    Renders a text for a contact, or for nobody in particular. Nothing is stored or sent, and the page's links lead to no push. A text \
    that is not valid Mustache has `problems` in place of a page.
    """,
    body: .json(PagePreviewRequest.form, upTo: textLimit + Limits.body),
    replies: .ok("The page.", PagePreviewReply.form),
    errors: [.error("The contact is unknown.", SendoutError.recipientUnknown)]
  ) { call, request in
    guard request.originalId == nil || call.seesPersonal else { throw HTTPErrorResponse.personalRefused }
    return try await PagePreviews(call.database).preview(call.customer, request)
  }

  package static let save = Operation(
    .put, "/api/v1/templates/{name}", id: "saveTemplate", .templates, "Save a template",
    """
    Adds a version and makes it the current one. Sendouts keep the version they were made with. A text has up to 256 KiB.

    The variables are \(PageContext.variables.map { "`{{\($0)}}`" }.joined(separator: ", ")). A property of the contact \
    is `{{properties.food}}` or just `{{food}}`. A further field of the message is `{{sendout.fields.campaign}}`. \
    Names have letters and digits of any script, hyphens and underscores. Any other stands in quotation marks, as JSON writes it: \
    `{{properties."first name"}}`. \
    An unknown variable is empty.

    Values are escaped as the content type needs, except within three braces. A text that is not valid Mustache is \
    refused with line and reason.
    """,
    at: name, body: .json(TemplateRequest.form, upTo: textLimit),
    replies: .ok("The saved template.", TemplateReply.form), audit: "template.save"
  ) { call, name, request in
    let format = try request.contentType.map { try TemplateFormat(contentType: $0) } ?? .html
    let templates = Templates(call.database)
    var saved = TemplateReply(
      try await templates.put(call.customer, name: name, format: format, body: request.body))
    let before = try await templates.versions(call.customer, name: name, limit: 2).dropFirst().first
    let line = Changed<TemplateReply>.Line("template \(name)", before: before, after: saved.withoutBody)
    let warnings = PageTemplate.warnings(request.body, format: format)
    if !warnings.isEmpty { saved.warnings = warnings }
    return Changed(saved, line)
  }

  /// The longest text, with every byte written as `\u0001`, and its frame.
  private static let textLimit = 6 * PageTemplate.sizeLimit + 4096
  private static let unknown = APIResponse.error(
    "The customer has no template of this name.", ContentError.templateUnknown(name: "offer", version: nil))
  private static let name = Parameters.path(
    "name", .string(1...100), "Letters, digits, dots, hyphens and underscores.", example: "offer")
}
