/// One version of a template.
public struct TemplateReply: Codable, Sendable, Equatable {
  public var name: String
  /// 1, 2, 3, … within the name.
  public var version: Int32
  public var contentType: String
  public var createdAt: Timestamp
  /// The Mustache text; absent in lists.
  public var body: String?

  public init(name: String, version: Int32, contentType: String, createdAt: Timestamp, body: String? = nil) {
    self.name = name
    self.version = version
    self.contentType = contentType
    self.createdAt = createdAt
    self.body = body
  }
}
