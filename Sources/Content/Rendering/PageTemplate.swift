public import Wire

/// The template of a page, compiled.
public struct PageTemplate: Sendable {
  /// Most bytes of UTF-8 in a template.
  public static let sizeLimit = 256 << 10

  public let format: TemplateFormat
  private let template: CompiledTemplate

  /// Compiles a template's text.
  /// - Parameter field: what the text's field is called in errors.
  /// - Throws: `ContentError.unparsable`, `.invalid`.
  public init(_ body: String, format: TemplateFormat, field: String = "body") throws(ContentError) {
    guard !body.isEmpty else { throw .invalid(field: field, problem: "is empty") }
    self.format = format
    template = try CompiledTemplate(body, field: field, sizeLimit: Self.sizeLimit)
  }

  /// Where a text is no Mustache; `nil` if it is.
  public static func problem(_ body: String) -> TemplateProblem? {
    var parser = TemplateParser(body)
    do throws(TemplateProblem) {
      _ = try parser.parse()
      return nil
    } catch {
      return error
    }
  }

  /// Whether it names `url` or `pushreadurl`, so that they have to be signed.
  public var namesLinks: Bool { template.namesLinks }

  /// Bytes of the text it was compiled from.
  var size: Int { template.size }

  /// The page for one recipient. Values are escaped as the format needs it; an unknown variable is empty.
  public func render(_ context: PageContext) -> String { String(decoding: bytes(for: context), as: UTF8.self) }

  /// The page for one recipient, in UTF-8.
  public func bytes(for context: PageContext) -> [UInt8] {
    var page: [UInt8] = []
    var budget = RenderBudget()
    page.reserveCapacity(size + 1024)
    template.append(context, format.escaping, within: &budget, to: &page)
    return page
  }
}
