import Wire

/// A contact's properties, kept as the JSON text they are stored in and read only where a template names one.
public struct Properties: Sendable, Equatable {
  private let json: String

  /// - Parameter json: a JSON object, as PostgreSQL gives `contact.properties`. Anything else holds no properties.
  public init(json: String = "{}") { self.json = json }

  /// The property at the end of a path: its name, and then names within it if it is an object. What stands before it is passed
  /// over, which takes a fraction of the time that decoding all of it does.
  func value(at path: ArraySlice<String>) -> PropertyValue? {
    guard !path.isEmpty else { return nil }
    var json = json
    return json.withUTF8 { bytes in
      try? JSONReader.glance(bytes) { reader throws(JSONProblem) in
        for name in path {
          guard try reader.find(name) else { return nil }
        }
        return try PropertyValue(&reader)
      }
    }
  }
}
