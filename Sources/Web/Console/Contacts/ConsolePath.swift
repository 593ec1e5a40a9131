import Wire

/// Addresses of the console's pages, and links from page to page of a list.
enum ConsolePath {
  /// A path with a query; parameters without a value are left out.
  static func path(_ path: String, _ query: KeyValuePairs<String, String?>) -> String {
    let pairs = query.compactMap { name, value in value.map { "\(name)=\(PercentEncoding.encode($0))" } }
    return pairs.isEmpty ? path : path + "?" + pairs.joined(separator: "&")
  }

  /// For `{{>_pager}}`; empty where there is but one page.
  /// - Parameters:
  ///   - query: what stays the same from page to page.
  ///   - after: behind which item this page begins; `nil` for the first one.
  ///   - next: of the next page; `nil` for none.
  static func pager(
    _ path: String, _ query: KeyValuePairs<String, String?> = [:], after: String?, _ next: String?
  ) -> [[String: Any]] {
    guard after != nil || next != nil else { return [] }
    let first = Self.path(path, query)
    let separator = first.contains("?") ? "&" : "?"
    return [
      [
        "first": after == nil ? "" : first,
        "next": next.map { "\(first)\(separator)after=\(PercentEncoding.encode($0))" } ?? "",
      ]
    ]
  }
}
