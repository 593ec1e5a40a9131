public import FoundationEssentials

/// One request to APNs: a payload for one device token.
public struct APNsPush: Sendable, Hashable {
  /// The device token in hexadecimal digits.
  public var token: String
  /// The app's bundle id; the suffix that the push type asks for is added here.
  public var topic: String
  /// The header `apns-id`: names the push in APNs's answer and in Apple's logs. Sending one twice delivers twice.
  public var id: UUID
  /// A later push with the same one replaces this one on the screen; at most 64 bytes.
  public var collapseID: String?
  /// Until when APNs keeps trying to deliver, to the second; nil leaves it to APNs.
  public var expiration: Date?
  public var priority: APNsPriority
  public var pushType: APNsPushType
  /// The JSON body; at most `pushType.payloadLimit` bytes, which is checked before anything is sent.
  public var payload: [UInt8]

  public init(
    token: String, topic: String, id: UUID, collapseID: String? = nil, expiration: Date? = nil,
    priority: APNsPriority = .immediate, pushType: APNsPushType = .alert, payload: [UInt8]
  ) {
    self.token = token
    self.topic = topic
    self.id = id
    self.collapseID = collapseID
    self.expiration = expiration
    self.priority = priority
    self.pushType = pushType
    self.payload = payload
  }
}
