/// A piece of a statement as PostgreSQL understands it, read from a `pg_node_tree`. PostgreSQL writes the body of an
/// SQL function that way into `pg_proc.prosqlbody`, every function and operator by its number.
indirect enum ParseNode {
  /// A word or number; `<>` for nothing.
  case atom(String)
  case list([ParseNode])
  /// As in `{VAR :varno 1 :varattno 2}`.
  case node(String, fields: [String: ParseNode])

  init(_ text: String) {
    var reader = Reader(bytes: Array(text.utf8))
    self = reader.next() ?? .atom("<>")
  }

  /// The kind of node, as `VAR` or `QUERY`; nil of anything else.
  var kind: String? { if case .node(let kind, _) = self { kind } else { nil } }

  subscript(field: String) -> ParseNode? { if case .node(_, let fields) = self { fields[field] } else { nil } }

  /// What a field says in one word; empty if it does not.
  func word(_ field: String) -> String { if case .atom(let word)? = self[field] { word } else { "" } }

  func number(_ field: String) -> Int { Int(word(field)) ?? 0 }

  func items(_ field: String) -> [ParseNode] { if case .list(let items)? = self[field] { items } else { [] } }

  /// Whether the field holds anything.
  func has(_ field: String) -> Bool { self[field] != nil && word(field) != "<>" }

  var children: [ParseNode] {
    switch self {
    case .atom: []
    case .list(let items): items
    case .node(_, let fields): Array(fields.values)
    }
  }

  /// This node and all below it.
  func everything(where enters: (ParseNode) -> Bool = { _ in true }) -> [ParseNode] {
    [self] + children.filter(enters).flatMap { $0.everything(where: enters) }
  }
}

/// Reads the words of a `pg_node_tree`: they end at blanks and brackets, unless a backslash stands before these.
private struct Reader {
  let bytes: [UInt8]
  var position = 0

  mutating func next() -> ParseNode? {
    guard let word = word() else { return nil }
    switch word {
    case "{": return node()
    case "(": return list(until: ")")
    case "[": return list(until: "]")
    default: return .atom(word)
    }
  }

  private mutating func node() -> ParseNode {
    let kind = word() ?? ""
    var fields: [String: ParseNode] = [:]
    var field = ""
    while let word = word(), word != "}" {
      if word.first == ":" {
        field = String(word.dropFirst())
      } else {
        position -= word.utf8.count
        // A length stands before the bytes of a constant; what comes last is what is kept.
        fields[field] = next()
      }
    }
    return .node(kind, fields: fields)
  }

  private mutating func list(until end: String) -> ParseNode {
    var items: [ParseNode] = []
    while let word = word(), word != end {
      position -= word.utf8.count
      if let item = next() { items.append(item) }
    }
    return .list(items)
  }

  /// The next word as it is written, backslashes and quotes included.
  private mutating func word() -> String? {
    while position < bytes.count, Self.blanks.contains(bytes[position]) { position += 1 }
    guard position < bytes.count else { return nil }
    let start = position
    position += 1
    guard !Self.brackets.contains(bytes[start]) else { return String(decoding: bytes[start..<position], as: UTF8.self) }
    if bytes[start] == UInt8(ascii: "\\") { position += 1 }
    while position < bytes.count, !Self.blanks.contains(bytes[position]), !Self.brackets.contains(bytes[position]) {
      position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
    }
    position = min(position, bytes.count)
    return String(decoding: bytes[start..<position], as: UTF8.self)
  }

  private static let blanks = Set(" \n\t".utf8)
  private static let brackets = Set("{}()[]".utf8)
}
