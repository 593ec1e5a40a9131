import ArgumentParser
import Wire

/// Options that a table names rather than properties. ArgumentParser finds a type's options by its mirror, which can show any.
struct TableOptions<Table: OptionTable>: ParsableArguments, CustomReflectable, Sendable {
  private let options: [(name: String, option: Option<Table.Value>)]

  init() { options = Table.options }

  init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: NamedKey.self)
    options = try Table.options.map { name, _ in
      (name, try values.decode(Option<Table.Value>.self, forKey: NamedKey(name)))
    }
  }

  /// The names of all options with their values, in the order of the table.
  var values: [(name: String, value: Table.Value)] { options.map { ($0.name, $0.option.wrappedValue) } }

  var customMirror: Mirror { Mirror(self, children: options.map { (label: $0.name, value: $0.option) }) }
}

/// The table of such options.
protocol OptionTable {
  associatedtype Value: Sendable
  /// Each with its name, without hyphens.
  static var options: [(name: String, option: Option<Value>)] { get }
}
