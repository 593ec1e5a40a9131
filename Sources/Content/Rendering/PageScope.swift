import Mustache

/// What the Mustache renderer finds at the top of a page: answers it by name, so that nothing is built that is not asked for.
///
/// A class, because the renderer copies what it looks into at every tag.
final class PageScope: MustacheParent, MustacheCustomRenderable {
  let context: PageContext
  let budget: RenderBudget

  init(context: PageContext, budget: RenderBudget) {
    self.context = context
    self.budget = budget
  }

  func child(named name: String) -> Any? {
    switch name {
    case "properties": PropertiesScope(page: self)
    case "device", "app", "sendout": FieldScope(name: name, page: self)
    default: child(Variable(path: [name]))
    }
  }

  fileprivate func child(_ variable: Variable) -> Any? {
    if case .property(let path) = variable { return context.properties.value(at: path[...]).flatMap(budget.child) }
    return context.text(variable).flatMap(budget.spend)
  }

  /// The page itself is no text; without this, `{{.}}` would print everything there is.
  var renderText: String { "" }
  var isNull: Bool { false }
}

/// `{{#device}}…{{/device}}` and `{{device.model}}`, likewise of the app and the sendout.
private struct FieldScope: MustacheParent, MustacheCustomRenderable {
  let name: String
  let page: PageScope

  func child(named field: String) -> Any? {
    guard name == "sendout", field == "fields" else { return page.child(Variable(path: [name, field])) }
    return page.budget.child(.object(page.context.sendout.fields.mapValues(PropertyValue.init)))
  }

  var renderText: String { "" }
  var isNull: Bool { false }
}

private struct PropertiesScope: MustacheParent, MustacheCustomRenderable {
  let page: PageScope

  func child(named name: String) -> Any? { page.child(.property([name])) }

  var renderText: String { "" }
  var isNull: Bool { false }
}

private struct ObjectScope: MustacheParent, MustacheCustomRenderable {
  let members: [String: PropertyValue]
  let budget: RenderBudget

  func child(named name: String) -> Any? { members[name].flatMap(budget.child) }

  var renderText: String { "" }
  var isNull: Bool { false }
}

/// A list: a section over it is rendered for each value, and alone it prints its values with commas.
private struct ListScope: MustacheSequence, MustacheTransformable, MustacheParent, MustacheCustomRenderable {
  let values: [PropertyValue]
  let budget: RenderBudget

  func makeIterator() -> AnyIterator<Any> {
    var rest = values.makeIterator()
    return AnyIterator {
      guard budget.takeRound(), let value = rest.next() else { return nil }
      return budget.child(value) ?? ""
    }
  }

  /// Names within a list stand for nothing; without this the renderer would look at how it is made.
  func child(named name: String) -> Any? { nil }

  func transform(_ name: String) -> Any? {
    switch name {
    case "count": values.count
    case "empty": values.isEmpty
    case "first": values.first.flatMap(budget.child)
    case "last": values.last.flatMap(budget.child)
    case "reversed": ListScope(values: values.reversed(), budget: budget)
    default: nil
    }
  }

  var renderText: String { budget.spend(PropertyValue.list(values).printed) ?? "" }
  var isNull: Bool { false }
}

/// Keeps a page from growing without end, whatever lists and long texts meet in it.
final class RenderBudget {
  private var bytes: Int
  private var rounds: Int

  /// - Parameter templateSize: bytes of the template: the longer it is, the fewer rounds its sections over lists get.
  init(templateSize: Int) {
    bytes = 4 << 20
    rounds = min(10_000, max(100, (16 << 20) / max(1, templateSize)))
  }

  func takeRound() -> Bool {
    rounds -= 1
    return rounds >= 0
  }

  /// The text, if there is room for it; an empty one is nothing, so that a section about it is left out.
  func spend(_ text: String) -> String? {
    bytes -= text.utf8.count
    return bytes >= 0 && !text.isEmpty ? text : nil
  }

  /// A value in the form in which the renderer understands it.
  func child(_ value: PropertyValue) -> Any? {
    switch value {
    case .null: nil
    case .text(let text), .number(let text): spend(text)
    case .bool(let value): value
    case .list(let values): ListScope(values: values, budget: self)
    case .object(let members): ObjectScope(members: members, budget: self)
    }
  }
}
