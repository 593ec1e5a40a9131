/// A text file of the repository that travels inside the binary.
///
/// Every build writes the files (`.migrations`, `.reports`, `.templates`, `.console`, `.pages`, each sorted by name) into Swift source. So
/// the hub is one file to install, and its schema cannot be older than its code.
public struct EmbeddedFile: Sendable, Equatable {
  /// Last component of the path, as in `0001_tenants.sql`.
  public let name: String
  public let text: String
}
