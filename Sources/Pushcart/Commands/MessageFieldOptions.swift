import ArgumentParser
import Wire

/// The options of a message that are a field each, from `MessageBody.allFields`.
struct MessageFieldOptions: ParsableArguments, CustomReflectable, Sendable {
  private let options: [(field: MessageField, option: AnyFieldOption)]

  init() {
    options = MessageBody.allFields.compactMap { field in field.commandOption.map { (field, $0) } }
  }

  init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: NamedKey.self)
    options = try Self().options.map { field, option in
      (field, try option.parsed(values, NamedKey(field.option)))
    }
  }

  var customMirror: Mirror { Mirror(self, children: options.map { (label: $0.field.option, value: $0.option) }) }

  /// Numbers within their limits.
  func validate() throws {
    for (field, option) in options {
      guard let limits = field.limits, let number = try option.json(of: field).integer,
        !limits.contains(number)
      else { continue }
      throw ValidationError("--\(field.option) takes \(limits.lowerBound) to \(limits.upperBound) seconds.")
    }
  }

  /// A message of these fields.
  var body: MessageBody {
    get throws {
      try MessageBody(
        from: .object(Dictionary(named: options.map { ($0.field.name, try $0.option.json(of: $0.field)) })))
    }
  }
}

/// An option or a flag of ArgumentParser.
private protocol FieldOption: Decodable {
  /// The field's value; null if the command does not have it.
  func json(of field: MessageField) throws -> JSONValue
}

private typealias AnyFieldOption = any FieldOption & Sendable

extension FieldOption where Self: Sendable {
  fileprivate func parsed(_ values: KeyedDecodingContainer<NamedKey>, _ key: NamedKey) throws -> AnyFieldOption {
    try values.decode(Self.self, forKey: key)
  }
}

extension Option: FieldOption where Value: Encodable {
  fileprivate func json(of field: MessageField) throws -> JSONValue { try JSONValue(encoding: wrappedValue) }
}

extension Flag: FieldOption where Value == Bool {
  fileprivate func json(of field: MessageField) -> JSONValue {
    guard case .flag(_, let value) = field.value, wrappedValue else { return .null }
    return .bool(value)
  }
}

extension MessageField {
  /// The field's option; nil if it has one of another form.
  fileprivate var commandOption: AnyFieldOption? {
    let help = ArgumentHelp(help)
    return switch value {
    // A text may well begin with a hyphen: "-20 % today".
    case .text, .source: Option<String?>(parsing: .unconditional, help: help)
    case .badge: Option<Badge?>(help: help)
    case .seconds: Option<Int?>(help: help)
    case .priority: Option<MessagePriority?>(help: help)
    case .pushType: Option<PushType?>(help: help)
    case .flag: Flag<Bool>(wrappedValue: false, help: help)
    case .names, .members, .overrides, .translations: nil
    }
  }
}
