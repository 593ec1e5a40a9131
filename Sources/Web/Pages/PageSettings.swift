/// How rich pages are served.
public struct PageSettings: Sendable {
  /// Who may show a page in a frame, as `frame-ancestors` of Content-Security-Policy takes it: `'none'`, or origins such as
  /// `http://localhost:8081`, which the demo's phone page needs.
  public var frameAncestors = "'none'"

  public init() {}
}
