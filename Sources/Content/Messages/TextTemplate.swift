import Mustache
import Wire

/// One of a message's texts, made ready for a hundred thousand recipients: written straight into the payload's bytes.
struct TextTemplate: Sendable {
  private enum Form {
    /// Without a tag there is nothing to render: the text as JSON.
    case constant([UInt8])
    /// The text as it is read, and as it stands in JSON.
    case tree(TemplateTree, inJSON: TemplateTree)
    case mustache(MustacheTemplate)
  }

  let source: String
  /// Whether its outcome depends on the recipient.
  let isPersonal: Bool
  let namesProperties: Bool
  let namesLinks: Bool
  private let form: Form

  /// - Parameter slowly: has swift-mustache render it even if it need not.
  /// - Throws: `ContentError.unparsable`, `.invalid`.
  init(_ text: String, field: String, slowly: Bool = false) throws(ContentError) {
    guard !text.utf8.contains(0) else { throw .invalid(field: field, problem: "holds U+0000") }
    guard text.utf8.count <= 16_384 else { throw .invalid(field: field, problem: "is longer than 16 KiB") }
    let tags = try TagScanner.tags(of: text, field: field)
    source = text
    isPersonal = tags.contains { tag in
      tag.kind != .comment && tag.path.map { Variable(path: $0).isPersonal } ?? true
    }
    namesProperties = tags.contains(where: \.mayNameProperty)
    namesLinks = tags.contains(where: \.namesLink)
    guard !tags.isEmpty else {
      form = .constant(JSONText.quoted(text))
      return
    }
    let mustache = try MustacheTemplate(text, .text, field: field)
    if !slowly, let tree = TemplateTree(text, tags), let inJSON = TemplateTree(text, tags, isJSON: true) {
      form = .tree(tree, inJSON: inJSON)
    } else {
      form = .mustache(mustache)
    }
  }

  var isConstant: Bool { if case .constant = form { true } else { false } }

  func render(_ context: PageContext) -> String {
    switch form {
    case .constant: return source
    case .tree(let tree, _):
      var renderer = TreeRenderer(context, .text, RenderBudget(templateSize: source.utf8.count))
      renderer.render(tree.nodes)
      return String(decoding: renderer.bytes, as: UTF8.self)
    case .mustache(let template):
      return template.render(PageScope(context: context, budget: RenderBudget(templateSize: source.utf8.count)))
    }
  }

  /// The text for one recipient as a JSON string, quotation marks included.
  func json(_ context: PageContext) -> [UInt8] {
    switch form {
    case .constant(let json): return json
    case .tree(_, let tree):
      var json: [UInt8] = [UInt8(ascii: "\"")]
      json.reserveCapacity(source.utf8.count + 64)
      var renderer = TreeRenderer(context, .json, RenderBudget(templateSize: source.utf8.count), into: json)
      renderer.render(tree.nodes)
      return renderer.bytes + [UInt8(ascii: "\"")]
    case .mustache: return JSONText.quoted(render(context))
    }
  }
}
