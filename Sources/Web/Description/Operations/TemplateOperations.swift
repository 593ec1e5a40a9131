import Content
import HTTPTypes
import Wire

/// `/api/v1/templates`.
enum TemplateOperations {
  static let all: [Operation] = [list, show, save]

  static let list = Operation(
    method: .get, path: "/api/v1/templates", id: "listTemplates", topic: .templates, door: .key(.admin),
    summary: "List the templates",
    about: "The current version of each, by name and without its text.",
    parameters: [
      .query("after", .text("Give what comes behind this name: `next` of the page before."), example: "offer"),
      .limit,
    ],
    replies: [
      .ok(
        "A page of templates.",
        .page(of: "Template", next: .text("What to give as `after` for the next page; absent on the last.")),
        example: """
          {
            "items": [
              {
                "name": "offer", "version": 3, "contentType": "text/html; charset=utf-8",
                "createdAt": "2026-11-20T09:00:00.000Z"
              }
            ]
          }
          """)
    ])

  static let show = Operation(
    method: .get, path: "/api/v1/templates/{name}", id: "showTemplate", topic: .templates, door: .key(.admin),
    summary: "Show a template", about: "Its current version, or the one asked for.",
    parameters: [
      name, .query("version", .integer("Which version; the current one when absent.", 1...2_147_483_647), example: "2"),
    ],
    replies: [.ok("The template with its text.", .named("Template"), example: one)],
    errors: [
      .refusal(
        "There is no template of that name, or no such version of it.",
        ContentError.templateUnknown(name: "offer", version: nil),
        ContentError.templateUnknown(name: "offer", version: 2))
    ])

  static let save = Operation(
    method: .put, path: "/api/v1/templates/{name}", id: "saveTemplate", topic: .templates, door: .key(.admin),
    summary: "Save a template",
    about: """
      Adds a version and makes it the current one; sendouts keep the version they were made with.

      Variables are \(PageContext.variables.map { "`{{\($0)}}`" }.joined(separator: ", ")), a property of the contact as \
      `{{properties.food}}` or just `{{food}}`, and a further field of the message as `{{sendout.fields.campaign}}`. They are \
      escaped as the content type needs, unless written in three braces. An unknown variable is empty; a text that is not \
      Mustache is refused with line and reason. A text may have 256 KiB.
      """,
    parameters: [name],
    body: Body(
      schema: .named("TemplateRequest"),
      example: #"""
        {
          "contentType": "text/html; charset=utf-8",
          "body": "<h1>Hi {{firstName}}</h1><p>{{properties.food}} is 20 % off today.</p>"
        }
        """#),
    bodyLimit: TemplateRoutes.limit,
    replies: [.ok("The template as saved.", .named("Template"), example: one)])

  static let name = Parameter.path(
    "name", .text("Letters, digits, dots, hyphens and underscores.", length: 1...100), example: "offer")

  private static let one = #"""
    {
      "name": "offer", "version": 3, "contentType": "text/html; charset=utf-8",
      "createdAt": "2026-11-20T09:00:00.000Z",
      "body": "<h1>Hi {{firstName}}</h1><p>{{properties.food}} is 20 % off today.</p>"
    }
    """#
}
