public import Wire

/// Everything that room DataInOut refuses.
public enum DataInOutError: Error, Sendable, Hashable {
  /// A field does not hold what it may. `problem` ends the sentence that begins with the field's name.
  case invalid(field: String, problem: String)
  /// The customer has no import of that number.
  case importUnknown
  /// The import is in a state in which it does not do that.
  case wrongState(ImportID, ImportState, wanted: String)
  /// So many files of the customer are on their way that there can be no further one.
  case tooManyUploads(limit: Int)
  /// The customer has so many exports on their way that there can be no further one.
  case tooManyExports(limit: Int)
  /// All customers together have so many exports on their way through this hub that this one cannot begin.
  case tooManyExportsOfAll
  /// The rows of the customer's imports that are not done have more bytes than that. The import waits for its file again.
  case tooMuchStaged(limit: Int64)
  /// The file broke off, or is no whole gzip. The import waits for it again.
  case brokenOff
  /// Another request sends the import's file, or the import was cancelled, so this one is not read on.
  case overtaken
}

/// Why a file as a whole cannot be imported: what `error` of the import says.
struct UnusableFile: Error, Equatable {
  let sentence: String

  init(_ sentence: String) { self.sentence = sentence }
}

/// Why a row is rejected.
struct RowProblem: Error {
  /// The place of the column; `nil` for the row as a whole.
  let column: Int?
  /// Ends the sentence that begins with the column's heading.
  let problem: String

  init(_ column: Int?, _ problem: String) {
    self.column = column
    self.problem = problem
  }
}
