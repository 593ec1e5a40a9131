/// Body of `PUT /api/v1/templates/{name}`: a new version of a template.
public struct TemplateRequest: APIRequest, Equatable {
  public var contentType: String?
  public var body: String

  public init(contentType: String? = nil, body: String) {
    self.contentType = contentType
    self.body = body
  }

  public static let schemaName: String? = "TemplateRequest"
  public static let schemaDescription = "A new version of a template."
  public static let example = TemplateRequest(
    contentType: "text/html; charset=utf-8",
    body: "<h1>Hi {{firstName}}</h1><p>{{properties.food}} is 20 % off today.</p>")
  public static var fieldTable: FieldTable { TemplateReply.fieldTable }
}

/// One version of a template. Lists have it without `body`.
public struct TemplateReply: APIObject, Equatable {
  public var name: String
  public var version: Int32
  public var contentType: String
  public var createdAt: Timestamp
  public var body: String?
  public var warnings: [String]?

  public init(name: String, version: Int32, contentType: String, createdAt: Timestamp, body: String? = nil) {
    (self.name, self.version, self.contentType, self.createdAt, self.body) = (
      name, version, contentType, createdAt, body
    )
  }

  public static let schemaName: String? = "Template"
  public static let schemaDescription = "One version of a template."
  public static let example = TemplateReply(
    name: "offer", version: 3, contentType: "text/html; charset=utf-8", createdAt: .example,
    body: TemplateRequest.example.body)

  /// As lists have it, and the audit log.
  public var withoutBody: TemplateReply {
    TemplateReply(name: name, version: version, contentType: contentType, createdAt: createdAt)
  }

  public static let fieldTable: FieldTable = [
    "name": "The template's name, as sendouts refer to it.",
    "version": FieldDescription("The version within the name: 1, 2, 3, …", limits: 1...Int64(Int32.max)),
    "contentType": "The page's media type. `text/html; charset=utf-8` if a request has none.",
    "createdAt": "When this version was saved.",
    "body": FieldDescription("The Mustache text. Absent in lists.", limits: 1...262_144),
    "warnings":
      "What of it never works in a browser, a sentence each. Only when it is saved, and absent for nothing.",
  ]
}
