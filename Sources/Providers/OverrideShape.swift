public import Wire

/// Why an override cannot be sent.
public struct OverrideProblem: Sendable, Hashable {
  /// As in `fcm.android.notification.icon`.
  public var field: String
  /// Ends the sentence that begins with the field.
  public var problem: String
}

/// What a push service takes at a place of an override. Null can stand everywhere: it removes what the hub has there.
indirect enum OverrideShape: Sendable {
  case text
  case number
  case flag
  case list
  /// An object of any content.
  case object
  /// An object of texts.
  case texts
  case members([String: OverrideShape])

  /// - Parameter path: where the value stands.
  func problem(in value: JSONValue, at path: String) -> OverrideProblem? {
    switch (self, value) {
    case (_, .null), (.text, .string), (.number, .number), (.flag, .bool), (.list, .array),
      (.object, .object):
      return nil
    case (.texts, .object(let members)):
      for (name, value) in members.sorted(by: { $0.key < $1.key }) {
        if let problem = OverrideShape.text.problem(in: value, at: "\(path).\(name)") { return problem }
      }
      return nil
    case (.members(let shapes), .object(let members)):
      for (name, value) in members.sorted(by: { $0.key < $1.key }) {
        guard let shape = shapes[name.text] else {
          return OverrideProblem(
            field: "\(path).\(name.text.prefix(100))",
            problem: "cannot be overridden; known are \(shapes.keys.sorted().joined(separator: ", "))")
        }
        if let problem = shape.problem(in: value, at: "\(path).\(name)") { return problem }
      }
      return nil
    default: return OverrideProblem(field: path, problem: "must be \(expectation)")
    }
  }

  private var expectation: String {
    switch self {
    case .text: "a text"
    case .number: "a number"
    case .flag: "true or false"
    case .list: "a list"
    case .object, .members: "an object"
    case .texts: "an object of texts"
    }
  }
}

extension OverrideShape {
  static func texts(_ names: String...) -> OverrideShape {
    .members(Dictionary(uniqueKeysWithValues: names.map { ($0, .text) }))
  }

  /// What stands in a header: printable ASCII.
  static func headerProblem(_ headers: JSONValue?, at path: String) -> OverrideProblem? {
    guard case .object(let headers) = headers else { return nil }
    for (name, value) in headers.sorted(by: { $0.key < $1.key }) {
      guard case .string(let text) = value, !text.contains("{{") else { continue }
      guard (1...1024).contains(text.utf8.count), text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) else {
        return OverrideProblem(field: "\(path).\(name)", problem: "must be 1 to 1024 characters of printable ASCII")
      }
    }
    return nil
  }
}

extension PushServices {
  /// Why these overrides cannot be sent; nil if nothing is wrong with them. Texts with tags are not looked into.
  public static func problem(in overrides: MessageOverrides) -> OverrideProblem? {
    let value = overrides.value
    for service in PushServiceName.allCases {
      guard let override = value[service.rawValue] else { continue }
      if let problem = service.table.overrides.problem(in: override, at: service.rawValue)
        ?? OverrideShape.headerProblem(override["headers"], at: "\(service.rawValue).headers")
        ?? service.table.problem(overrides)
      {
        return problem
      }
    }
    return nil
  }
}

extension RenderedMessage {
  /// What the message changes at a push service; nil for nothing.
  func override(_ service: String) -> JSONValue? { overrides?[service] }
}

extension [UInt8] {
  /// JSON with a merge patch (RFC 7396).
  func merging(_ patch: JSONValue) -> [UInt8] { (try? JSONValue(json: self, rules: .own))?.merging(patch).json ?? self }
}
