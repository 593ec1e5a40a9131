/// A template made ready for rendering.
public struct PageTemplate: Sendable {
  public let format: TemplateFormat

  /// - Throws: `ContentError.unparsable`, `.invalid`, with `field` in them.
  public init(_ body: String, format: TemplateFormat, field: String = "body") throws(ContentError) {
    fatalError()
  }

  /// The page for one recipient. Values are escaped as the format needs it; an unknown variable is empty.
  public func render(_ context: PageContext) -> String {
    fatalError()
  }
}
