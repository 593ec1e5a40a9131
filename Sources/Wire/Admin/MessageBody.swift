/// What a push says (Carma iOS Integration Guide, "Handling Push Notifications"). Every text is a Mustache template over
/// the contact's, the device's and the sendout's fields.
public struct MessageBody: Codable, Sendable, Hashable {
  /// The line next to the icon.
  public var alert: String?
  /// The line under it.
  public var info: String?
  /// Number on the app's icon, or a template that gives one; 0 removes it.
  public var badge: Badge?
  public var sound: String?
  /// Which actions the notification offers.
  public var category: String?
  /// Any further fields for the app, beside those the hub itself writes.
  public var fields: [String: JSONValue]?

  enum CodingKeys: String, CodingKey, CaseIterable { case alert, info, badge, sound, category, fields }

  public init(
    alert: String? = nil, info: String? = nil, badge: Badge? = nil, sound: String? = nil, category: String? = nil,
    fields: [String: JSONValue]? = nil
  ) {
    self.alert = alert
    self.info = info
    self.badge = badge
    self.sound = sound
    self.category = category
    self.fields = fields
  }

  public init(from decoder: any Decoder) throws {
    let body = try decoder.container(onlyKnown: CodingKeys.self)
    alert = try body.decodeIfPresent(String.self, forKey: .alert)
    info = try body.decodeIfPresent(String.self, forKey: .info)
    badge = try body.decodeIfPresent(Badge.self, forKey: .badge)
    sound = try body.decodeIfPresent(String.self, forKey: .sound)
    category = try body.decodeIfPresent(String.self, forKey: .category)
    fields = try body.decodeIfPresent([String: JSONValue].self, forKey: .fields)
  }
}
