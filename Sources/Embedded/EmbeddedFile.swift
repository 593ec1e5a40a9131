/// A text file of the repository that travels inside the binary.
///
/// Every build writes the folders of `EmbedPlugin` (`.migrations`, `.templates`, `.console` …, each sorted by name) into Swift source. So
/// the hub is one file to install, and its schema cannot be older than its code.
public struct EmbeddedFile: Sendable, Equatable {
  /// Last component of the path, as in `0001_tenants.sql`.
  public let name: String
  public let text: String

  /// For `Content-Type`, by the ending of the name; `nil` for what browsers do not load by itself.
  public var contentType: String? {
    Self.contentTypes.first { name.hasSuffix($0.key) }?.value
  }

  private static let contentTypes: KeyValuePairs = [
    ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
  ]
}

extension [EmbeddedFile] {
  /// - Precondition: there is a file of this name.
  public subscript(named name: String) -> EmbeddedFile {
    guard let file = first(where: { $0.name == name }) else { preconditionFailure("no file is named \(name)") }
    return file
  }
}
