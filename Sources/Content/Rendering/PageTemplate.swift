import Mustache

/// A template made ready for rendering.
public struct PageTemplate: Sendable {
  /// Most bytes of UTF-8 in a template.
  public static let sizeLimit = 256 << 10

  public let format: TemplateFormat
  /// Whether it may name a contact's property, so that properties have to be fetched.
  public let namesProperties: Bool
  /// Whether it names `url` or `pushreadurl`, so that they have to be signed.
  public let namesLinks: Bool
  private let source: Source
  /// Bytes of the text it was made of.
  let size: Int

  private enum Source {
    /// Without a tag there is nothing to render.
    case constant(String)
    case tree(TemplateTree)
    case mustache(MustacheTemplate)
  }

  /// - Parameter field: what the text's field is called in errors.
  /// - Throws: `ContentError.unparsable`, `.invalid`.
  public init(_ body: String, format: TemplateFormat, field: String = "body") throws(ContentError) {
    try self.init(body, format: format, field: field, slowly: false)
  }

  /// - Parameter slowly: has swift-mustache render it even if it need not.
  init(_ body: String, format: TemplateFormat, field: String = "body", slowly: Bool) throws(ContentError) {
    size = body.utf8.count
    guard size > 0 else { throw .invalid(field: field, problem: "is empty") }
    guard size <= Self.sizeLimit else { throw .invalid(field: field, problem: "is longer than 256 KiB") }
    guard !body.utf8.contains(0) else { throw .invalid(field: field, problem: "holds U+0000") }
    let tags = try TagScanner.tags(of: body, field: field)
    self.format = format
    namesProperties = tags.contains(where: \.mayNameProperty)
    namesLinks = tags.contains(where: \.namesLink)
    guard !tags.isEmpty else {
      source = .constant(body)
      return
    }
    let mustache = try MustacheTemplate(body, format.escaping, field: field)
    source = slowly ? .mustache(mustache) : TemplateTree(body, tags).map(Source.tree) ?? .mustache(mustache)
  }

  /// The page for one recipient. Values are escaped as the format needs it; an unknown variable is empty.
  public func render(_ context: PageContext) -> String {
    switch source {
    case .constant(let text): text
    case .tree: String(decoding: bytes(for: context), as: UTF8.self)
    case .mustache(let template):
      template.render(PageScope(context: context, budget: RenderBudget(templateSize: size)))
    }
  }

  /// The page for one recipient, in UTF-8.
  public func bytes(for context: PageContext) -> [UInt8] {
    guard case .tree(let tree) = source else { return Array(render(context).utf8) }
    var page: [UInt8] = []
    page.reserveCapacity(size + 1024)
    var renderer = TreeRenderer(context, format.escaping, RenderBudget(templateSize: size), into: page)
    renderer.render(tree.nodes)
    return renderer.bytes
  }
}

extension MustacheTemplate {
  /// Parses a text that `TagScanner` has found in order.
  init(_ text: String, _ escaping: Escaping, field: String) throws(ContentError) {
    do {
      try self.init(string: escaping.pragma + text)
    } catch let error as MustacheTemplate.ParserError {
      throw .unparsable(field: field, line: max(1, error.context.lineNumber - 1), reason: Self.reason(error.error))
    } catch {
      throw .unparsable(field: field, line: 1, reason: "it is not a Mustache template")
    }
  }

  /// What is wrong, should the parser see more than the scanner did.
  private static func reason(_ error: any Swift.Error) -> String {
    switch error as? MustacheTemplate.Error {
    case .sectionCloseNameIncorrect: "a section is closed under another name than it was opened"
    case .unfinishedName: "a tag's name is not finished"
    case .expectedSectionEnd: "a section is opened and never closed"
    default: "it is not a Mustache template"
    }
  }
}

extension TemplateTag {
  /// Whether it may stand for a contact's property: a name within a section over an object or a list may, too.
  var mayNameProperty: Bool {
    guard kind != .comment, kind != .close, !variable.isEmpty else { return false }
    return path.map { Variable(path: $0).isProperty || $0[0] == "properties" } ?? true
  }

  var namesLink: Bool { kind != .comment && (variable == "url" || variable == "pushreadurl") }
}
