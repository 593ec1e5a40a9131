public import Wire

/// A request as a push service would get it, for people. What signs in is masked.
public struct RequestPreview: Sendable {
  public var url: String
  /// In the order in which they are sent.
  public var headers: [(name: String, value: String)]
  public var body: [UInt8]
  /// The message's size as the service counts it, in bytes.
  public var size: Int
  /// The largest size that the service takes.
  public var limit: Int
}

extension PushRequest {
  /// - Parameter scheme: of the header `authorization`; nil without one.
  func preview(at address: ServiceAddress, authorization scheme: String?, size: Int, limit: Int) -> RequestPreview {
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
      url: "https://\(address.authority)\(path)", headers: fields, body: body, size: size, limit: limit)
  }
}

extension PushServices {
  /// What stands for a device's token where no device is named.
  public static func exampleToken(for type: AppType) -> String { String(repeating: "0", count: 64) }
}
