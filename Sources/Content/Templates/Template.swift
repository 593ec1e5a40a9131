public import FoundationEssentials
public import Wire

/// One version of a template; it never changes.
public struct Template: Sendable, Equatable {
  public let customer: CustomerID
  public let name: String
  /// 1, 2, 3, … within the name.
  public let version: Int32
  public let format: TemplateFormat
  /// The Mustache text.
  public let body: String
  public let createdAt: Date
}

/// A template without its text.
public struct TemplateSummary: Sendable, Equatable {
  public let customer: CustomerID
  public let name: String
  public let version: Int32
  public let format: TemplateFormat
  public let createdAt: Date
}
