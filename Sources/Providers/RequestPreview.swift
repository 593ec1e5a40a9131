/// A request as a push service would get it, for people. What signs in is masked.
public struct RequestPreview: Sendable {
  public var url: String
  /// In the order in which they are sent.
  public var headers: [(name: String, value: String)]
  public var body: [UInt8]
  /// The message's size as the service counts it, in bytes. Of an SMS the parts count.
  public var size: Int
  /// The largest size that the service takes.
  public var limit: Int
  /// The parts of an SMS; nil for other pushes.
  public var parts: SMSParts?
}

/// How many SMS a text takes.
public struct SMSParts: Sendable, Hashable {
  public var count: Int
  /// The most that it may take: what is longer is cut.
  public var most: Int
}

extension PushRequest {
  /// - Parameters:
  ///   - service: where it goes; nil if it has an origin of its own.
  ///   - scheme: of the header `authorization`; nil without one.
  ///   - plaintext: what an encrypted body holds.
  func preview(
    at service: ServiceAddress? = nil, authorization scheme: String?, plaintext: [UInt8]? = nil, size: Int, limit: Int
  ) -> RequestPreview {
    guard let address = service ?? origin else { preconditionFailure("a request without an address") }
    var fields: [(name: String, value: String)] = []
    headers.withFields { iterator in
      while let field = iterator.next() {
        fields.append((String(decoding: field.name, as: UTF8.self), String(decoding: field.value, as: UTF8.self)))
      }
    }
    let path = fields.first { $0.name == ":path" }?.value ?? "/"
    fields.removeAll { $0.name.hasPrefix(":") }
    if let scheme { fields.insert(("authorization", "\(scheme) …"), at: 0) }
    return RequestPreview(
      url: "\(address.origin)\(path)", headers: fields, body: plaintext ?? body, size: size, limit: limit)
  }
}
