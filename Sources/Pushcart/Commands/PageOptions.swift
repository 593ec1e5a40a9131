import ArgumentParser
import Wire

/// Options of lists that may be long.
struct PageOptions<Cursor: ExpressibleByArgument & Sendable>: ParsableArguments {
  @Option(help: "Begin behind this number, as the page before says.") var after: Cursor?
  @Option(help: "Count of items, up to 1000.") var limit = PageRequest<Cursor>.usualLimit

  func validate() throws {
    guard PageRequest<Cursor>.limits.contains(limit) else {
      throw ValidationError("--limit is a number from 1 to 1000.")
    }
  }

  var request: PageRequest<Cursor> { PageRequest(after: after, limit: limit) }
}

extension Page {
  /// How to see what comes after this page; nothing on the last one.
  var more: String { next.map { "There is more: --after \($0)\n" } ?? "" }
}
