import Content
import HTTPTypes
import Wire

/// `/api/v1/templates`.
enum TemplateOperations {
  static let all: [APIOperation] = [list, show, save]

  private static let list = APIOperation(
    method: .get, path: "/api/v1/templates", id: "listTemplates", tag: .templates, security: .key(.admin),
    summary: "List the templates",
    description: "Lists the current version of each template by name, without its text.",
    parameters: [
      .query("after", .string(), "Starts behind this name: `next` of the page before.", example: "offer"), .limit,
    ],
    responses: [.ok("A page of templates.", Page<TemplateReply, String>(items: [.listedExample]))])

  private static let show = APIOperation(
    method: .get, path: "/api/v1/templates/{name}", id: "showTemplate", tag: .templates, security: .key(.admin),
    summary: "Show a template", description: "Returns the current version, or the requested one.",
    parameters: [
      name,
      .query("version", .integer(1...Int64(Int32.max)), "The version. The current one if absent.", example: 2),
    ],
    responses: [.ok("The template with its text.", TemplateReply.example)],
    errors: [
      .error(
        "The customer has no template of this name, or no such version of it.",
        ContentError.templateUnknown(name: "offer", version: nil),
        ContentError.templateUnknown(name: "offer", version: 2))
    ])

  private static let save = APIOperation(
    method: .put, path: "/api/v1/templates/{name}", id: "saveTemplate", tag: .templates, security: .key(.admin),
    summary: "Save a template",
    description: """
      Adds a version and makes it the current one. Sendouts keep the version they were made with. A text has up to 256 KiB.

      The variables are \(PageContext.variables.map { "`{{\($0)}}`" }.joined(separator: ", ")). A property of the contact \
      is `{{properties.food}}` or just `{{food}}`. A further field of the message is `{{sendout.fields.campaign}}`. \
      Names have letters and digits of any script, hyphens and underscores. Any other stands in quotation marks, as JSON writes it: \
      `{{properties."first name"}}`. \
      An unknown variable is empty.

      Values are escaped as the content type needs, except within three braces. A text that is not valid Mustache is \
      refused with line and reason.
      """,
    parameters: [name],
    requestBody: APIContent(TemplateRequest.example),
    bodyLimit: TemplateRoutes.bodyLimit,
    responses: [.ok("The saved template.", TemplateReply.example)])

  private static let name = APIParameter.path(
    "name", .string(1...100), "Letters, digits, dots, hyphens and underscores.", example: "offer")
}
