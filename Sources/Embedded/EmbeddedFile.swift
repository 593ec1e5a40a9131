/// A text file of the repository that travels inside the binary.
///
/// The files themselves (`.migrations`, `.reports`, `.templates`, each sorted by name) are written into Swift source at
/// every build, so that the hub is one file to install and its schema cannot be older than its code.
public struct EmbeddedFile: Sendable, Equatable {
  /// Last component of the path, as in `0001_tenants.sql`.
  public let name: String
  public let text: String
}
