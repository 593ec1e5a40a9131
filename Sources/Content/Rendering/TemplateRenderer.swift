import FoundationEssentials

/// Renders a compiled template for one recipient, straight into bytes.
struct TemplateRenderer {
  /// What a name stands for.
  private enum Value {
    /// The page itself: everything that can be named outside of sections.
    case page
    /// All properties, by name.
    case properties
    /// The fields of the device, the app or the sendout.
    case fields(String)
    case text(String)
    case number(Int)
    case bool(Bool)
    case list([PropertyValue])
    case object([String: PropertyValue])
    /// A place in a list that a section is about, as `last()` asks for it.
    case position(Int, isLast: Bool)
  }

  /// What a section that is being rendered is about.
  private struct Scope {
    let value: Value
    /// Where the value is in its list, if the section is about a list.
    var position: Value?
  }

  private let context: PageContext
  private let escaping: Escaping
  private var budget: RenderBudget
  /// The sections around, the innermost last; none on the page itself.
  private var scopes: [Scope] = []
  private var bytes: [UInt8] = []
  /// How often a property was read, and all of them once that was often.
  private var propertyReads = 0
  private var properties: PropertyValue?

  /// Appends what the nodes give for one recipient.
  /// - Parameter templateSize: bytes of the template's text, which the budget depends on.
  static func append(
    _ nodes: [TemplateNode], _ context: PageContext, _ escaping: Escaping, templateSize: Int,
    to bytes: inout [UInt8]
  ) {
    var renderer = TemplateRenderer(
      context: context, escaping: escaping, budget: RenderBudget(templateSize: templateSize))
    swap(&renderer.bytes, &bytes)
    renderer.render(nodes)
    swap(&renderer.bytes, &bytes)
  }

  private init(context: PageContext, escaping: Escaping, budget: RenderBudget) {
    self.context = context
    self.escaping = escaping
    self.budget = budget
  }

  private mutating func render(_ nodes: [TemplateNode]) {
    for node in nodes {
      switch node {
      case .text(let text): bytes.append(contentsOf: text)
      case .variable(let name, let escapes):
        guard let text = text(name) else { continue }
        if escapes { escaping.append(text, to: &bytes) } else { bytes.append(contentsOf: text.utf8) }
      case .section(let name, let inside): section(value(name), inside)
      case .inverted(let name, let inside): inverted(value(name), inside)
      }
    }
  }

  // MARK: Sections

  private mutating func section(_ value: Value?, _ inside: [TemplateNode]) {
    switch value {
    case nil, .bool(false): return
    case .bool(true): render(inside)
    case .list(let values): list(values, inside)
    case .some(let value): render(inside, in: Scope(value: value))
    }
  }

  /// A round is taken ahead, so that the last one that the budget allows knows that it is the last.
  private mutating func list(_ values: [PropertyValue], _ inside: [TemplateNode]) {
    var hasNext = !values.isEmpty && budget.takeRound()
    for (index, value) in values.enumerated() where hasNext {
      hasNext = index + 1 < values.count && budget.takeRound()
      render(inside, in: Scope(value: afforded(value) ?? .text(""), position: .position(index, isLast: !hasNext)))
    }
  }

  private mutating func inverted(_ value: Value?, _ inside: [TemplateNode]) {
    switch value {
    case nil, .bool(false): render(inside)
    case .list(let values) where values.isEmpty: render(inside, in: Scope(value: .list(values)))
    default: return
    }
  }

  private mutating func render(_ inside: [TemplateNode], in scope: Scope) {
    scopes.append(scope)
    render(inside)
    scopes.removeLast()
  }

  // MARK: Names

  private mutating func text(_ name: TemplateName) -> String? {
    // Most tags are plain variables outside of sections.
    if scopes.isEmpty, name.transforms.isEmpty, !name.variable.isProperty {
      return context.text(name.variable).flatMap { budget.spend($0) }
    }
    switch value(name) {
    case .text(let text): return text
    case .number(let number): return String(number)
    case .bool(let flag): return flag ? "true" : "false"
    case .list(let values): return budget.spend(PropertyValue.list(values).printed)
    case .page, .properties, .fields, .object, .position, nil: return nil
    }
  }

  private mutating func value(_ name: TemplateName) -> Value? {
    var value = name.isPosition ? scopes.last?.position : untransformed(name)
    for transform in name.transforms {
      guard let transform, let argument = value else { return nil }
      value = self.transform(argument, transform)
    }
    return value
  }

  /// Looks from the innermost section outwards for something that has the name's first part, and there for the rest.
  private mutating func untransformed(_ name: TemplateName) -> Value? {
    guard let first = name.path.first else { return scopes.last?.value ?? .page }
    for index in scopes.indices.reversed() {
      let scope = scopes[index].value
      if case .page = scope { return valueOnPage(name) }
      if let value = member(first, of: scope) { return member(name.path.dropFirst(), of: value) }
      if name.isLocal { return nil }
    }
    return valueOnPage(name)
  }

  private mutating func valueOnPage(_ name: TemplateName) -> Value? {
    switch (name.path[0], name.path.count) {
    case ("properties", 1): .properties
    case ("device", 1), ("app", 1), ("sendout", 1): .fields(name.path[0])
    case ("sendout", 2) where name.path[1] == "fields": .object(sendoutFields)
    default: value(of: name.variable)
    }
  }

  private mutating func member(_ path: ArraySlice<String>, of value: Value) -> Value? {
    guard let name = path.first else { return value }
    guard let next = member(name, of: value) else { return nil }
    return member(path.dropFirst(), of: next)
  }

  private mutating func member(_ name: String, of value: Value) -> Value? {
    switch value {
    case .object(let members): members[name].flatMap { afforded($0) }
    case .properties: property([name])
    case .fields("sendout") where name == "fields": .object(sendoutFields)
    case .fields(let fields): self.value(of: Variable(path: [fields, name]))
    case .page, .text, .number, .bool, .list, .position: nil
    }
  }

  private mutating func value(of variable: Variable) -> Value? {
    switch variable {
    case .property(let path): property(path[...])
    case .sendoutField(let path): context.sendout.field(at: path[...]).flatMap { afforded($0) }
    default: context.text(variable).flatMap { budget.spend($0) }.map(Value.text)
    }
  }

  /// The property at the end of a path. A template that asks for many has all of them decoded at once.
  private mutating func property(_ path: ArraySlice<String>) -> Value? {
    propertyReads += 1
    if propertyReads == Self.readsBeforeDecoding { properties = context.properties.decoded }
    return (properties.map { $0.value(at: path) } ?? context.properties.value(at: path)).flatMap { afforded($0) }
  }

  private static let readsBeforeDecoding = 16

  private var sendoutFields: [String: PropertyValue] { context.sendout.fields.mapValues(PropertyValue.init) }

  /// The value, if it is one and the budget has room for it.
  private mutating func afforded(_ value: PropertyValue) -> Value? {
    switch value {
    case .null: nil
    case .text(let text), .number(let text): budget.spend(text).map(Value.text)
    case .bool(let flag): .bool(flag)
    case .list(let values): .list(values)
    case .object(let members): .object(members)
    }
  }

  // MARK: Transforms

  /// `nil` when there is no such transform of such a value.
  private mutating func transform(_ value: Value, _ transform: TemplateName.Transform) -> Value? {
    switch (value, transform) {
    case (.position(let index, _), .first): .bool(index == 0)
    case (.position(_, let isLast), .last): .bool(isLast)
    case (.position(let index, _), .index): .number(index)
    case (.position(let index, _), .even): .bool(index.isMultiple(of: 2))
    case (.position(let index, _), .odd): .bool(!index.isMultiple(of: 2))
    case (.text(let text), .capitalized): .text(text.capitalized)
    case (.text(let text), .lowercased): .text(text.lowercased())
    case (.text(let text), .uppercased): .text(text.uppercased())
    case (.text(let text), .reversed): .text(String(text.reversed()))
    case (.text(let text), .empty): .bool(text.isEmpty)
    case (.number(let number), .equalzero): .bool(number == 0)
    case (.number(let number), .plusone): .number(number + 1)
    case (.number(let number), .minusone): .number(number - 1)
    case (.number(let number), .even): .bool(number.isMultiple(of: 2))
    case (.number(let number), .odd): .bool(!number.isMultiple(of: 2))
    case (.list(let values), .count): .number(values.count)
    case (.list(let values), .empty): .bool(values.isEmpty)
    case (.list(let values), .first): values.first.flatMap { afforded($0) }
    case (.list(let values), .last): values.last.flatMap { afforded($0) }
    case (.list(let values), .reversed): .list(values.reversed())
    default: nil
    }
  }
}

/// Keeps a page from growing without end, however long the lists and texts in it are.
private struct RenderBudget {
  /// Bytes of values that may still be written.
  private var bytes = 4 << 20
  /// Rounds that sections over lists may still make.
  private var rounds: Int

  /// - Parameter templateSize: bytes of the template: the longer it is, the fewer rounds its sections over lists get.
  init(templateSize: Int) { rounds = min(10_000, max(100, (16 << 20) / max(1, templateSize))) }

  /// Whether there is one more round; takes it.
  mutating func takeRound() -> Bool {
    rounds -= 1
    return rounds >= 0
  }

  /// The text, if there is room for it; `nil` for an empty one too, so that a section about it is left out.
  mutating func spend(_ text: String) -> String? {
    bytes -= text.utf8.count
    return bytes >= 0 && !text.isEmpty ? text : nil
  }
}
