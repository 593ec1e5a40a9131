import Operations
import Wire

/// A line of a form that is a filter, as it was typed.
struct FilterLine {
  let text: String
  let filter: Filter?
  /// Why it is none.
  let error: FilterError?

  /// - Parameter text: blank for everyone.
  init(_ text: String?) {
    self.text = text ?? ""
    let line = self.text.trimmed.isEmpty ? "everyone" : self.text
    do {
      (filter, error) = (try Filter(text: line), nil)
    } catch {
      (filter, self.error) = (nil, error)
    }
  }

  /// - Parameter field: of the form.
  /// - Throws: `HTTPErrorResponse` (400), naming the field.
  func require(_ field: String = "filter") throws(HTTPErrorResponse) -> Filter {
    guard let filter else { throw .badRequest(field: field, problem: error?.description ?? "is no filter") }
    return filter
  }

  /// For `{{>_filter-error}}`: the line with the wrong word marked; none if it is right.
  var wrong: [[String: Any]] {
    guard let error else { return [] }
    let scalars = Array(text.unicodeScalars)
    var start = scalars.count
    if case .character(let position) = error.place { start = min(max(position - 1, 0), scalars.count) }
    let word = scalars[start...].prefix { !$0.properties.isWhitespace }
    let end = start + max(word.count, start < scalars.count ? 1 : 0)
    return [
      [
        "before": Self.text(scalars[..<start].suffix(Self.mostShown)),
        "word": Self.text(scalars[start..<end].prefix(200)),
        "after": Self.text(scalars[end...].prefix(Self.mostShown)), "isEnd": start == scalars.count,
        "sentence": error.description.prefix(1).uppercased() + error.description.dropFirst(),
      ]
    ]
  }

  /// Characters before and behind the wrong word.
  private static let mostShown = 2000

  private static func text(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
    var text = String.UnicodeScalarView()
    text.append(contentsOf: scalars)
    return String(text)
  }
}
