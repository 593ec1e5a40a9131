/// Why a filter cannot be read: where, and what is the matter there.
public struct FilterError: Error, Sendable, Hashable, CustomStringConvertible {
  public enum Place: Sendable, Hashable {
    /// Of a line: its character where the wrong word begins, counted in Unicode scalars from 1. After the last one it is the line's end.
    case character(Int)
    /// Of a tree: the way to the wrong value, as in `and[1].op`; empty for the tree as a whole.
    case path(String)
  }

  public let place: Place
  /// A clause without a full stop, which may end with a question mark.
  public let problem: String

  public init(_ place: Place, _ problem: String) {
    self.place = place
    self.problem = problem
  }

  /// `at 17: no field is called contry; did you mean country?`
  public var description: String {
    switch place {
    case .character(let position): "at \(position): \(problem)"
    case .path(""): "at the top: \(problem)"
    case .path(let path): "at \(path): \(problem)"
    }
  }
}
