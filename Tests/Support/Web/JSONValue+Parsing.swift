import Foundation
public import Wire

extension JSONValue {
  public init(parsing bytes: some Sequence<UInt8>) throws {
    self = try JSONDecoder().decode(JSONValue.self, from: Data(bytes))
  }

  /// The member's text, if it is one.
  public func string(_ name: String) -> String? {
    self[name]?.text
  }

  /// The member's number, if it is a whole one.
  public func integer(_ name: String) -> Int64? {
    if case .integer(let number) = self[name] { number } else { nil }
  }

  /// The member's items, if it is an array.
  public func array(_ name: String) -> [JSONValue]? {
    if case .array(let items) = self[name] { items } else { nil }
  }
}
