public import Wire

/// `{{sendout.name}}`, `{{sendout.id}}`, and what its message says: `{{sendout.alert}}`, `{{sendout.info}}`,
/// `{{sendout.fields.campaign}}`.
public struct SendoutFields: Sendable, Equatable {
  public var id: Int64?
  public var name: String?
  /// The alert as this recipient got it.
  public var alert: String?
  /// The info as this recipient got it.
  public var info: String?
  /// The message's further fields, as this recipient got them where `MessageTemplate.fill` has been.
  public var fields: [String: JSONValue]

  public init(
    id: Int64? = nil, name: String? = nil, alert: String? = nil, info: String? = nil,
    fields: [String: JSONValue] = [:]
  ) {
    self.id = id
    self.name = name
    self.alert = alert
    self.info = info
    self.fields = fields
  }
}
