/// Renders a tree for one recipient, straight into bytes.
struct TreeRenderer {
  /// What a name stands for where it stands.
  private enum Value {
    /// The page itself.
    case page
    case value(PropertyValue)
    case text(String)
    /// All properties, by name.
    case properties
    /// The fields of the device, the app or the sendout.
    case fields(String)
  }

  private let context: PageContext
  private let escaping: Escaping
  private let budget: RenderBudget
  /// What the sections around are about, the innermost last; at the outside the page itself.
  private var stack: [Value] = [.page]
  private(set) var bytes: [UInt8]

  init(_ context: PageContext, _ escaping: Escaping, _ budget: RenderBudget, into bytes: [UInt8] = []) {
    self.context = context
    self.escaping = escaping
    self.budget = budget
    self.bytes = bytes
  }

  mutating func render(_ nodes: [TemplateTree.Node]) {
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

  private mutating func section(_ value: Value?, _ inside: [TemplateTree.Node]) {
    switch value {
    case nil, .value(.null), .value(.bool(false)): return
    case .value(.bool(true)): render(inside)
    case .value(.list(let values)):
      for value in values {
        guard budget.takeRound() else { return }
        render(inside, about: spent(value) ?? .text(""))
      }
    case .some(let value): render(inside, about: value)
    }
  }

  private mutating func inverted(_ value: Value?, _ inside: [TemplateTree.Node]) {
    switch value {
    case nil, .value(.null), .value(.bool(false)): render(inside)
    case .value(.list(let values)) where values.isEmpty: render(inside, about: .value(.list(values)))
    default: return
    }
  }

  private mutating func render(_ inside: [TemplateTree.Node], about value: Value) {
    stack.append(value)
    render(inside)
    stack.removeLast()
  }

  private func text(_ name: TemplateTree.Name) -> String? {
    if stack.count == 1 { return context.text(name.variable).flatMap(budget.spend) }
    return switch value(name) {
    case .value(.text(let text)), .value(.number(let text)), .text(let text): text
    case .value(.list(let values)): budget.spend(PropertyValue.list(values).printed)
    case .value(let value): value.printed
    case .page, .properties, .fields, nil: nil
    }
  }

  /// Looks from the innermost section outwards for something that has the name's first part, and there for the rest.
  private func value(_ name: TemplateTree.Name) -> Value? {
    guard let first = name.path.first else { return stack.last }
    for outer in stack.reversed() {
      if case .page = outer { return top(name) }
      guard let found = member(first, of: outer) else { continue }
      return name.path.dropFirst().reduce(found) { value, part in value.flatMap { member(part, of: $0) } }
    }
    return nil
  }

  /// The name at the top of the page.
  private func top(_ name: TemplateTree.Name) -> Value? {
    switch (name.path[0], name.path.count) {
    case ("properties", 1): return .properties
    case ("device", 1), ("app", 1), ("sendout", 1): return .fields(name.path[0])
    case ("sendout", 2) where name.path[1] == "fields": return .value(sendoutFields)
    default: return value(name.variable)
    }
  }

  private func value(_ variable: Variable) -> Value? {
    switch variable {
    case .property(let path): context.properties.value(at: path[...]).flatMap(spent)
    case .sendoutField(let path): context.sendout.field(at: path[...]).flatMap(spent)
    default: context.text(variable).flatMap(budget.spend).map(Value.text)
    }
  }

  private func member(_ name: String, of value: Value) -> Value? {
    switch value {
    case .value(.object(let members)): members[name].flatMap(spent)
    case .value, .text, .page: nil
    case .properties: context.properties.value(at: [name]).flatMap(spent)
    case .fields("sendout") where name == "fields": .value(sendoutFields)
    case .fields(let fields): self.value(Variable(path: [fields, name]))
    }
  }

  private var sendoutFields: PropertyValue { .object(context.sendout.fields.mapValues(PropertyValue.init)) }

  /// The value, if it is one and there is room for it.
  private func spent(_ value: PropertyValue) -> Value? {
    switch value {
    case .null: nil
    case .text(let text), .number(let text): budget.spend(text).map(Value.text)
    case .bool, .list, .object: .value(value)
    }
  }
}
