/// Body of `POST /api/v1/pages/preview`: a template's text, saved or not.
public struct PagePreviewRequest: APIRequest, Equatable {
  public var contentType: String?
  public var body: String
  public var originalId: String?
  public var message: MessageBody?
  public var properties: [UTF8String: JSONValue]?

  public init(
    contentType: String? = nil, body: String, originalId: String? = nil, message: MessageBody? = nil,
    properties: [UTF8String: JSONValue]? = nil
  ) {
    self.contentType = contentType
    self.body = body
    self.originalId = originalId
    self.message = message
    self.properties = properties
  }

  public static let schemaName: String? = "PagePreviewRequest"
  public static let schemaDescription = "A template's text that is shown as a page, and not saved."
  public static let example = PagePreviewRequest(
    body: "<h1>{{sendout.alert}}</h1><p>{{food}} is 20 % off today.</p>", message: MessageBody(alert: "Lunch is ready"),
    properties: ["food": "Fish"])

  public static let fieldTable: FieldTable = [
    "contentType": "The page's media type. `text/html; charset=utf-8` if absent.",
    "body": FieldDescription("The Mustache text.", limits: 1...262_144),
    "originalId": "The contact whose fields the page has, with a device of it. If absent, they are empty.",
    "message": "What the page can name of a message: its alert, its info and its further fields.",
    "properties": "What the page can name before the contact's own properties.",
  ]
}

/// A template's text as a page.
public struct PagePreviewReply: APIObject, Equatable {
  public var contentType: String
  public var page: String?
  public var problems: [TemplateProblem]
  public var warnings: [String]

  public init(contentType: String, page: String? = nil, problems: [TemplateProblem] = [], warnings: [String] = []) {
    self.contentType = contentType
    self.page = page
    self.problems = problems
    self.warnings = warnings
  }

  public static let schemaName: String? = "PagePreview"
  public static let schemaDescription = "A template's text as a page."
  public static let example = PagePreviewReply(
    contentType: "text/html; charset=utf-8", page: "<h1>Lunch is ready</h1><p>Fish is 20 % off today.</p>")

  public static let fieldTable: FieldTable = [
    "contentType": "The page's media type.",
    "page": "The page. Absent if the text is not valid Mustache.",
    "problems": "Where the text is not valid Mustache.",
    "warnings": "What of the text never works in a browser, a sentence each.",
  ]
}

/// Where a text is not valid Mustache, and why.
public struct TemplateProblem: APIObject, Equatable, Error {
  public var line: Int
  public var column: Int
  public var reason: String

  public init(line: Int, column: Int, reason: String) {
    self.line = line
    self.column = column
    self.reason = reason
  }

  public static let schemaName: String? = "TemplateProblem"
  public static let schemaDescription = "Where a text is not valid Mustache, and why."
  public static let example = TemplateProblem(line: 2, column: 5, reason: "a tag is opened and never closed")

  public static let fieldTable: FieldTable = [
    "line": FieldDescription("The line, counted from 1.", limits: 1...262_144),
    "column": FieldDescription("The column, counted from 1 in code points of Unicode.", limits: 1...262_144),
    "reason": "Why, in words that end a sentence.",
  ]
}
