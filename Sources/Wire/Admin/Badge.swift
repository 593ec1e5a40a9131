/// The number on an app's icon: the same for all, or a Mustache template that gives each recipient a number.
public enum Badge: Sendable, Hashable {
  case number(Int)
  case template(String)
}

extension Badge: Codable {
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let number = try? container.decode(Int.self) {
      self = .number(number)
    } else {
      self = .template(try container.decode(String.self))
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .number(let number): try container.encode(number)
    case .template(let text): try container.encode(text)
    }
  }
}

extension Badge: ExpressibleByIntegerLiteral, ExpressibleByStringLiteral {
  public init(integerLiteral value: Int) { self = .number(value) }
  public init(stringLiteral value: String) { self = .template(value) }
}
