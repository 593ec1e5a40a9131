import FoundationEssentials
import Wire

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
    case object([UTF8String: PropertyValue])
    /// A place in a list that a section is about, as `last()` asks for it.
    case position(Int, isLast: Bool)

    /// `nil` for what is null or an empty text, so that a section about it is left out.
    init?(_ value: PropertyValue) {
      switch value {
      case .null: return nil
      case .text(let text), .number(let text):
        guard !text.isEmpty else { return nil }
        self = .text(text)
      case .bool(let flag): self = .bool(flag)
      case .list(let values): self = .list(values)
      case .object(let members): self = .object(members)
      }
    }
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
  /// Rounds that sections over lists may still make.
  private var rounds: Int
  /// The sections around, the innermost last; none on the page itself.
  private var scopes: [Scope] = []
  private var bytes: [UInt8] = []
  /// How often a property was read, and all of them once that was often.
  private var propertyReads = 0
  private var properties: PropertyValue?

  /// Appends what the nodes give for one recipient.
  ///
  /// Once the budget is spent every name is empty and no section over a list begins another round. The template's own text still
  /// ends as written, so that a JSON page stays JSON.
  /// - Parameter templateSize: bytes of the template's text: the longer it is, the fewer rounds its sections over lists get.
  static func append(
    _ nodes: [TemplateNode], _ context: PageContext, _ escaping: Escaping, templateSize: Int,
    within budget: inout RenderBudget, to bytes: inout [UInt8]
  ) {
    var renderer = TemplateRenderer(context, escaping, budget, templateSize)
    swap(&renderer.bytes, &bytes)
    renderer.render(nodes)
    swap(&renderer.bytes, &bytes)
    budget = renderer.budget
  }

  private init(_ context: PageContext, _ escaping: Escaping, _ budget: RenderBudget, _ templateSize: Int) {
    self.context = context
    self.escaping = escaping
    self.budget = budget
    rounds = min(10_000, max(100, (16 << 20) / max(1, templateSize)))
  }

  private mutating func render(_ nodes: [TemplateNode]) {
    for node in nodes {
      switch node {
      case .text(let text):
        budget.spendPassing(text.count)
        bytes.append(contentsOf: text)
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
    var index = 0
    var hasNext = !values.isEmpty && takeRound()
    while hasNext {
      hasNext = index + 1 < values.count && takeRound()
      render(inside, in: Scope(value: Value(values[index]) ?? .text(""), position: .position(index, isLast: !hasNext)))
      index += 1
    }
  }

  /// Whether there is one more round; takes it.
  private mutating func takeRound() -> Bool {
    guard rounds > 0, budget.spend(1) else { return false }
    rounds -= 1
    return true
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
    if scopes.isEmpty, name.transforms.isEmpty, name.variable.isText {
      return context.text(name.variable).flatMap { withinBudget($0) }
    }
    switch value(name) {
    case .text(let text): return withinBudget(text)
    case .number(let number): return String(number)
    case .bool(let flag): return flag ? "true" : "false"
    case .list(let values):
      var text = ""
      return print(.list(values), to: &text) ? text : nil
    case .page, .properties, .fields, .object, .position, nil: return nil
    }
  }

  /// The text, if the budget has room for it.
  private mutating func withinBudget(_ text: String) -> String? { budget.spend(1 + text.utf8.count) ? text : nil }

  /// Appends a value as a template prints it: a list with commas, an object as nothing.
  /// - Returns: whether the budget had room for all of it.
  private mutating func print(_ value: PropertyValue, to text: inout String) -> Bool {
    guard budget.spend(1) else { return false }
    switch value {
    case .null, .object: return true
    case .bool(let flag): text += flag ? "true" : "false"
    case .text(let piece), .number(let piece):
      guard budget.spend(piece.utf8.count) else { return false }
      text += piece
    case .list(let values):
      for (index, value) in values.enumerated() {
        if index > 0 { text += ", " }
        guard print(value, to: &text) else { return false }
      }
    }
    return true
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
    guard budget.spend(1) else { return nil }
    guard let first = name.path.first else { return scopes.last?.value ?? .page }
    for index in scopes.indices.reversed() {
      guard budget.spend(1) else { return nil }
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
    case ("sendout", 2) where name.path[1] == "fields": .object(context.sendout.values)
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
    case .object(let members): members[name].flatMap(Value.init)
    case .properties: property([name])
    case .fields("sendout") where name == "fields": .object(context.sendout.values)
    case .fields(let fields): self.value(of: Variable(path: [fields, name]))
    case .page, .text, .number, .bool, .list, .position: nil
    }
  }

  private mutating func value(of variable: Variable) -> Value? {
    switch variable {
    case .property(let path): property(path[...])
    case .sendoutField(let path): context.sendout.field(at: path[...]).flatMap(Value.init)
    default: context.text(variable).flatMap { Value(.text($0)) }
    }
  }

  /// The property at the end of a path. A template that asks for many has all of them decoded at once.
  private mutating func property(_ path: ArraySlice<String>) -> Value? {
    propertyReads += 1
    if propertyReads == Self.readsBeforeDecoding, budget.spend(context.properties.size) {
      properties = context.properties.decoded
    }
    if let properties { return properties.value(at: path).flatMap(Value.init) }
    guard budget.spendPassing(context.properties.size) else { return nil }
    return context.properties.value(at: path).flatMap(Value.init)
  }

  private static let readsBeforeDecoding = 16

  // MARK: Transforms

  /// `nil` when there is no such transform of such a value.
  private mutating func transform(_ value: Value, _ transform: TemplateName.Transform) -> Value? {
    switch (value, transform) {
    case (.position(let index, _), .first): .bool(index == 0)
    case (.position(_, let isLast), .last): .bool(isLast)
    case (.position(let index, _), .index): .number(index)
    case (.position(let index, _), .even): .bool(index.isMultiple(of: 2))
    case (.position(let index, _), .odd): .bool(!index.isMultiple(of: 2))
    case (.text(let text), .capitalized): changed(text) { $0.capitalized }
    case (.text(let text), .lowercased): changed(text) { $0.lowercased() }
    case (.text(let text), .uppercased): changed(text) { $0.uppercased() }
    case (.text(let text), .reversed): changed(text) { String($0.reversed()) }
    case (.text(let text), .empty): .bool(text.isEmpty)
    case (.number(let number), .equalzero): .bool(number == 0)
    case (.number(let number), .plusone): .number(number + 1)
    case (.number(let number), .minusone): .number(number - 1)
    case (.number(let number), .even): .bool(number.isMultiple(of: 2))
    case (.number(let number), .odd): .bool(!number.isMultiple(of: 2))
    case (.list(let values), .count): .number(values.count)
    case (.list(let values), .empty): .bool(values.isEmpty)
    case (.list(let values), .first): values.first.flatMap(Value.init)
    case (.list(let values), .last): values.last.flatMap(Value.init)
    case (.list(let values), .reversed): budget.spend(values.count) ? .list(values.reversed()) : nil
    default: nil
    }
  }

  private mutating func changed(_ text: String, _ change: (String) -> String) -> Value? {
    budget.spend(text.utf8.count) ? .text(change(text)) : nil
  }
}

/// Bounds the work of rendering a page or a message, however long the lists and texts in it are.
///
/// A step is a value, a section or a round looked at, or a byte of a value that is printed or changed. Steps are spent before
/// the work is done.
struct RenderBudget {
  static let steps = 4 << 20
  /// Bytes that are copied or skipped together for one step.
  private static let bytesPassed = 16

  private(set) var left = Self.steps

  /// Whether there was room for the steps; if not, there is no room for anything any more.
  mutating func spend(_ steps: Int) -> Bool {
    left = steps <= left ? left - steps : -1
    return left >= 0
  }

  /// Spends the steps of bytes that are copied as they are, or skipped.
  @discardableResult
  mutating func spendPassing(_ bytes: Int) -> Bool { spend(bytes / Self.bytesPassed) }
}
