public import Wire

/// What a message shows of a contact, whose place stays empty for whoever has none.
public struct ShownVariable: Sendable, Hashable {
  public enum Source: Sendable, Hashable {
    case text(ContactField)
    case dateOfBirth
    /// One of this name, or what is within it.
    case property(UTF8String)
  }

  /// As the text names it, as in `firstName` and `properties.food`.
  public let name: String
  public let source: Source

  /// What a message shows in any of its texts, in the order of names. What stands in a section of the same name is left out, as the author
  /// has thought of contacts without it.
  public static func all(in message: MessageBody) -> [ShownVariable] {
    guard message.verbatim != true, let json = try? JSONValue(encoding: message) else { return [] }
    var found: Set<ShownVariable> = []
    collect(json, &found)
    return found.sorted { UTF8String($0.name) < UTF8String($1.name) }
  }

  private static func collect(_ json: JSONValue, _ found: inout Set<ShownVariable>) {
    switch json {
    case .string(let text):
      var parser = TemplateParser(text)
      // What the message does not take as a template is not read as one here either.
      if let nodes = try? parser.parse() { collect(nodes, within: [], &found) }
    case .array(let values): for value in values { collect(value, &found) }
    case .object(let members): for value in members.values { collect(value, &found) }
    case .null, .bool, .number: break
    }
  }

  /// - Parameter asked: the names of the sections around.
  private static func collect(_ nodes: [TemplateNode], within asked: Set<[String]>, _ found: inout Set<ShownVariable>) {
    for node in nodes {
      switch node {
      case .text: break
      case .variable(let name, _):
        if !asked.contains(name.path), let variable = ShownVariable(name) { found.insert(variable) }
      case .section(let name, let inside), .inverted(let name, let inside):
        collect(inside, within: asked.union([name.path]), &found)
      }
    }
  }

  /// - Returns: nil for what is no field of a contact, or is never empty.
  private init?(_ name: TemplateName) {
    switch name.variable {
    case .contact(.text(let field)): (self.name, source) = (field.name, .text(field))
    case .contact(.dateOfBirth): (self.name, source) = ("dateOfBirth", .dateOfBirth)
    case .property(let path):
      guard let first = path.first else { return nil }
      (self.name, source) = ("properties." + path.joined(separator: "."), .property(UTF8String(first)))
    case .contact(.originalId), .contact(.listId), .device, .app, .sendout, .sendoutField, .url, .pushreadurl,
      .unsubscribeUrl, .nothing:
      return nil
    }
  }
}

extension PageTemplate {
  /// The further fields of a message that a page names and the message does not have, as in `sendout.fields.table`, in the order of names.
  public static func lackedFields(_ body: String, in message: MessageBody) -> [String] {
    var parser = TemplateParser(body)
    // A stored template parses.
    guard (try? parser.parse()) != nil else { return [] }
    let lacked = parser.names.compactMap { name -> String? in
      guard case .sendoutField(let path) = name.variable, let first = path.first,
        message.fields?[UTF8String(first)] == nil
      else { return nil }
      return "sendout.fields.\(path.joined(separator: "."))"
    }
    return Set(lacked.map { UTF8String($0) }).sorted().map(\.text)
  }
}
