import Wire

/// Reads JSON as a message of a certain type, as strictly as Google's front end. Names become snake_case.
struct FCMBodyReader {
  private(set) var violations: [FCMViolation] = []

  /// - Parameter path: leads to the value, as in `message.data[0].value`; empty for the body.
  /// - Returns: nil for a value that does not fit, and for null, which stands for an absent field.
  mutating func read(_ json: OrderedJSON, as field: FCMField, at path: String) -> JSONValue? {
    switch (field, json) {
    case (_, .null): return nil
    case (.message(let fields), .object(let members)): return message(members, of: fields, at: path)
    case (.texts, .object(let members)): return texts(members, at: path)
    case (.list(let element), .array(let elements)):
      return .array(
        elements.enumerated().compactMap { index, value in read(value, as: element, at: "\(path)[\(index)]") })
    case (.object, .object), (.string, .string), (.bool, .bool), (.number, .number): return json.value
    case (.integer, .number(let text)), (.integer, .string(let text)):
      if let number = Int32(text) { return .integer(Int64(number)) }
    case (.color, .string(let text)):
      if text.wholeMatch(of: /#[0-9A-Fa-f]{6}/) != nil { return json.value }
    case (.duration, .string(let text)):
      if Self.isDuration(text) { return json.value }
    case (.timestamp, .string(let text)):
      let form = /[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})/
      if text.wholeMatch(of: form) != nil { return json.value }
    case (.choice(_, let words), .string(let text)):
      if words.contains(text.uppercased()) { return .string(text.uppercased()) }
    default: break
    }
    violations.append(
      FCMViolation(field: path, description: "Invalid value at '\(path)' (\(field.typeName)), \(json.text)"))
    return nil
  }

  private mutating func message(
    _ members: [(name: String, value: OrderedJSON)], of fields: [String: FCMField], at path: String
  ) -> JSONValue {
    var read: [UTF8String: JSONValue] = [:]
    var seen: Set<String> = []
    for (name, value) in members {
      let plain = Self.snakeCase(name)
      guard let plain, let field = fields[plain] else {
        let place = path.isEmpty ? "" : " at '\(path)'"
        refuse(path, "Unknown name \"\(name)\"\(place): Cannot find field.")
        continue
      }
      guard seen.insert(plain).inserted else {
        refuse(path, "The field \"\(plain)\" is given more than once.")
        continue
      }
      read[plain] = self.read(value, as: field, at: path.isEmpty ? plain : "\(path).\(plain)")
    }
    return .object(read)
  }

  /// A map is a list of keys and values to Google; errors count from 0.
  private mutating func texts(_ members: [(name: String, value: OrderedJSON)], at path: String) -> JSONValue {
    var read: [UTF8String: JSONValue] = [:]
    for (index, member) in members.enumerated() {
      if case .string(let text) = member.value {
        if read.updateValue(.string(text), forKey: UTF8String(member.name)) != nil {
          refuse("\(path)[\(index)].key", "The key \"\(member.name)\" is given more than once.")
        }
      } else {
        let place = "\(path)[\(index)].value"
        let description = "Invalid value at '\(place)' (TYPE_STRING), \(member.value.text)"
        violations.append(FCMViolation(field: place, description: description))
      }
    }
    return .object(read)
  }

  private mutating func refuse(_ path: String, _ problem: String) {
    violations.append(FCMViolation(field: path, description: "Invalid JSON payload received. \(problem)"))
  }

  /// Digits, up to nine more behind a point, and `s`. Every message has one, so this is no regular expression.
  private static func isDuration(_ text: String) -> Bool {
    guard text.hasSuffix("s") else { return false }
    let parts = text.dropLast().split(separator: ".", omittingEmptySubsequences: false)
    let whole = parts[0].hasPrefix("-") ? parts[0].dropFirst() : parts[0]
    return parts.count <= 2 && (1...12).contains(whole.utf8.count)
      && (parts.count == 1 || (1...9).contains(parts[1].utf8.count))
      && ([whole] + parts.dropFirst()).allSatisfy { $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }
  }

  /// `collapse_key` for itself and for `collapseKey`; nil for a mixture of both.
  private static func snakeCase(_ name: String) -> String? {
    guard name.utf8.contains(where: { (0x41...0x5A).contains($0) }) else { return name }
    guard !name.contains("_"), name.first?.isUppercase == false else { return nil }
    return name.reduce(into: "") { $0 += $1.isUppercase ? "_\($1.lowercased())" : String($1) }
  }
}

extension FCMField {
  /// The type's name in Google's errors.
  fileprivate var typeName: String {
    switch self {
    case .string, .color: "TYPE_STRING"
    case .bool: "TYPE_BOOL"
    case .integer: "TYPE_INT32"
    case .number: "TYPE_FLOAT"
    case .duration: "type.googleapis.com/google.protobuf.Duration"
    case .timestamp: "type.googleapis.com/google.protobuf.Timestamp"
    case .choice(let name, _): "type.googleapis.com/google.firebase.fcm.v1.\(name)"
    case .list(let element): element.typeName
    case .texts, .object: "type.googleapis.com/google.protobuf.Struct"
    case .message: "type.googleapis.com/google.firebase.fcm.v1.Message"
    }
  }
}
