import Operations
import Wire

/// Addresses of the console's pages, and links from page to page of a list.
enum ConsolePath {
  /// A path with a query; parameters that are absent or empty are left out.
  static func path(_ path: String, _ query: KeyValuePairs<String, String?>) -> String { Self.path(path, Array(query)) }

  private static func path(_ path: String, _ query: [(key: String, value: String?)]) -> String {
    let pairs = query.compactMap { name, value in
      value.flatMap { $0.isEmpty ? nil : "\(name)=\(PercentEncoding.encode($0))" }
    }
    return pairs.isEmpty ? path : path + "?" + pairs.joined(separator: "&")
  }

  /// For `{{#pager}}{{>_pager}}{{/pager}}`; empty where there is but one page.
  /// - Parameters:
  ///   - query: what stays the same from page to page.
  ///   - after: behind which item this page begins; `nil` for the first one.
  ///   - next: of the next page; `nil` for none.
  static func pager(
    _ path: String, _ query: KeyValuePairs<String, String?> = [:], after: String?, _ next: String?
  ) -> [[String: Any]] {
    pager(path, Array(query), after: after, next)
  }

  fileprivate static func pager(
    _ path: String, _ query: [(key: String, value: String?)], after: String?, _ next: String?
  ) -> [[String: Any]] {
    guard after != nil || next != nil else { return [] }
    return [
      [
        "first": after == nil ? "" : Self.path(path, query),
        "next": next.map { Self.path(path, query + [("after", $0)]) } ?? "",
      ]
    ]
  }
}

extension ConsoleCall {
  /// The links of a page whose query has `after`.
  /// - Parameters:
  ///   - next: the cursor of the reply.
  ///   - filters: names of the query's other parameters, which stay the same.
  func pager(_ path: String, _ next: String?, keeping filters: [String] = []) -> [[String: Any]] {
    ConsolePath.pager(path, filters.map { ($0, query.value($0)) }, after: given("after"), next)
  }
}
