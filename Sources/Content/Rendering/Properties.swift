/// A contact's properties, kept as the JSON text they are stored in and read only where a template names one.
public struct Properties: Sendable {
  private let json: String

  /// - Parameter json: a JSON object, as PostgreSQL gives `contact.properties`.
  public init(json: String = "{}") { self.json = json }
}
