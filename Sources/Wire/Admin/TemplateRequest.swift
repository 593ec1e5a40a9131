/// Body of `PUT /api/v1/templates/{name}`: a new version of a template.
public struct TemplateRequest: Codable, Sendable, Equatable {
  /// Media type that the page is served with; `text/html; charset=utf-8` when absent.
  public var contentType: String?
  /// The Mustache text.
  public var body: String

  enum CodingKeys: String, CodingKey, CaseIterable { case contentType, body }

  public init(contentType: String? = nil, body: String) {
    self.contentType = contentType
    self.body = body
  }

  public init(from decoder: any Decoder) throws {
    let fields = try decoder.container(onlyKnown: CodingKeys.self)
    contentType = try fields.decodeIfPresent(String.self, forKey: .contentType)
    body = try fields.decode(String.self, forKey: .body)
  }
}
