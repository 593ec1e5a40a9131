/// A tag of a Mustache text.
struct TemplateTag: Equatable {
  enum Kind: Equatable {
    case variable, unescaped, section, inverted, close, comment
  }

  let kind: Kind
  /// The name, with transforms if there are any, as in `uppercased(firstName)`; empty for comments.
  let name: String
  /// Counted from 1.
  let line: Int
  /// The tag's bytes in the text, braces included.
  let range: Range<Int>

  /// The name without its transforms; empty for `last()` and the like, which speak of a place in a list.
  var variable: Substring {
    let inner = name.lastIndex(of: "(").map { name[name.index(after: $0)...] } ?? name[...]
    return inner.prefix { $0 != ")" }
  }

  /// The names between the dots, if this is a plain name such as `device.model`.
  var path: [String]? {
    let path = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    return path.contains(where: \.isEmpty) || name.contains("(") ? nil : path
  }
}
