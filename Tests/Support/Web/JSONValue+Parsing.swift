import Foundation
public import Wire

extension JSONValue {
  public init(parsing bytes: some Sequence<UInt8>) throws {
    // A reply may repeat what is refused in requests.
    var rules = JSONReader.Rules.own
    rules.allowsNUL = true
    self = try JSONValue(json: Array(bytes), rules: rules)
  }

  /// The member's text, if it is one.
  public func string(_ name: String) -> String? {
    self[name]?.text
  }

  /// The member's number, if it is a whole one.
  public func integer(_ name: String) -> Int64? {
    self[name]?.integer
  }

  /// The members that are texts by their names, if this is an object.
  public var texts: [String: String]? {
    guard case .object(let members) = self else { return nil }
    let texts = members.compactMap { name, value in value.text.map { (name.text, $0) } }
    return Dictionary(uniqueKeysWithValues: texts)
  }

  /// The member's items, if it is an array.
  public func array(_ name: String) -> [JSONValue]? {
    if case .array(let items) = self[name] { items } else { nil }
  }
}
