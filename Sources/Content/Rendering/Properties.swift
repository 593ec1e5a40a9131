/// A contact's properties, kept as the JSON text they are stored in and read only where a template names one.
public struct Properties: Sendable, Equatable {
  private let json: String

  /// - Parameter json: a JSON object, as PostgreSQL gives `contact.properties`. Anything else holds no properties.
  public init(json: String = "{}") { self.json = json }

  /// The property at the end of a path: its name, and then names within it if it is an object.
  func value(at path: ArraySlice<String>) -> PropertyValue? {
    guard let name = path.first else { return nil }
    var json = json
    return json.withUTF8 { bytes in
      var reader = JSONReader(bytes)
      return reader.member(name)?.value(at: path.dropFirst())
    }
  }
}
