public import FoundationEssentials
public import Wire

/// One request to APNs: a payload for one device token.
public struct APNsPush: Sendable, Hashable {
  /// The device token in hexadecimal digits.
  public var token: String
  /// The app's bundle id; the suffix of the push type is added when it is sent.
  public var topic: String
  /// Whether `topic` is the header `apns-topic` without any suffix.
  var hasWholeTopic = false
  /// The header `apns-topic` if it is not `topic` with the suffix.
  var ownTopic: String?
  /// The header `apns-id`: names the push in APNs' response and in Apple's logs. A push that is sent twice is delivered twice.
  public var id: UUID
  /// A later push with the same id replaces this one on the screen; at most 64 bytes.
  public var collapseID: String?
  /// Until when APNs keeps trying to deliver, to the second; nil leaves it to APNs.
  public var expiration: Date?
  public var priority: APNsPriority
  public var pushType: PushType
  /// The JSON body; at most `pushType.payloadLimit` bytes, which is checked before anything is sent.
  public var payload: [UInt8]

  public init(
    token: String, topic: String, id: UUID, collapseID: String? = nil, expiration: Date? = nil,
    priority: APNsPriority = .immediate, pushType: PushType = .alert, payload: [UInt8]
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

extension PushType {
  /// What follows the bundle id in the header `apns-topic`.
  var topicSuffix: String {
    switch self {
    case .alert, .background, .mdm: ""
    case .voip: ".voip"
    case .complication: ".complication"
    case .fileprovider: ".pushkit.fileprovider"
    case .location: ".location-query"
    case .liveactivity: ".push-type.liveactivity"
    case .pushtotalk: ".voip-ptt"
    }
  }

  /// The largest payload that APNs accepts, in bytes.
  var payloadLimit: Int { self == .voip ? 5120 : 4096 }

  /// The only priority that a push of this type may have; nil if the message decides.
  var fixedPriority: APNsPriority? {
    switch self {
    case .background: .considerate
    case .voip, .pushtotalk: .immediate
    default: nil
    }
  }
}

/// The header `apns-priority`.
public enum APNsPriority: Int, Sendable, Hashable, CaseIterable {
  /// Immediately.
  case immediate = 10
  /// When the device's power allows; the only priority for `background`.
  case considerate = 5
  /// Never wakes the device.
  case passive = 1
}

extension APNsPush {
  /// The header `apns-topic`.
  var topicHeader: String { ownTopic ?? (topic.isEmpty || hasWholeTopic ? topic : topic + pushType.topicSuffix) }

  /// The verdict on a push that APNs would certainly refuse; nil for others. Nothing passes that could break out of a header.
  var refusal: Verdict? {
    if token.isEmpty { return ResponseClassification(.missingDeviceToken).verdict }
    guard token.utf8.allSatisfy(Self.isHexDigit) else {
      // No token of APNs, whatever the environment.
      return .tokenInvalid(.unregistered, since: nil, reason: APNsReason.badDeviceToken.rawValue)
    }
    if topicHeader.isEmpty { return refusal(of: .missingTopic) }
    guard topicHeader.utf8.allSatisfy(Self.isVisible) else { return refusal(of: .badTopic) }
    if let collapseID = collapseID, collapseID.utf8.count > 64 || !collapseID.utf8.allSatisfy(Self.isVisible) {
      return ResponseClassification(.badCollapseID).verdict
    }
    if payload.isEmpty { return ResponseClassification(.payloadEmpty).verdict }
    if payload.count > pushType.payloadLimit {
      return ResponseClassification(.payloadTooLarge).verdict
    }
    return nil
  }

  private func refusal(of topic: APNsReason) -> Verdict {
    let classification = ResponseClassification(topic)
    return ownTopic == nil ? classification.verdict : classification.ofOwnTopic.verdict
  }

  private static func isHexDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
      UInt8(ascii: "A")...UInt8(ascii: "F"):
      true
    default: false
    }
  }

  private static func isVisible(_ byte: UInt8) -> Bool { byte > 0x20 && byte < 0x7F }
}

extension OverrideShape {
  static let apns = OverrideShape.members([
    "headers": .texts("apns-topic", "apns-push-type", "apns-priority", "apns-expiration", "apns-collapse-id"),
    "payload": .object,
  ])
}

// MARK: - Overrides of headers

extension APNsPush {
  /// Sets the headers of an override; null removes `apns-expiration` and `apns-collapse-id`.
  /// - Returns: the header whose value it cannot have; nil if there is none.
  mutating func override(_ headers: [UTF8String: JSONValue]) -> String? {
    headers.first { !override($0.key.text, $0.value) }?.key.text
  }

  private mutating func override(_ header: String, _ value: JSONValue) -> Bool {
    switch (header, value) {
    case ("apns-expiration", .null): expiration = nil
    case ("apns-collapse-id", .null): collapseID = nil
    case ("apns-topic", .string(let text)): ownTopic = text
    case ("apns-collapse-id", .string(let text)): collapseID = text
    case ("apns-push-type", .string(let text)):
      guard let type = PushType(rawValue: text) else { return false }
      pushType = type
    case ("apns-priority", .string(let text)):
      guard let priority = Int(text).flatMap(APNsPriority.init(rawValue:)) else { return false }
      self.priority = priority
    case ("apns-expiration", .string(let text)):
      guard let seconds = UInt32(text) else { return false }
      expiration = Date(timeIntervalSince1970: Double(seconds))
    default: return false
    }
    return true
  }

  /// Why headers of an override cannot be sent. Texts with tags are not looked into.
  static func problem(inHeaders headers: [UTF8String: JSONValue]) -> OverrideProblem? {
    let known = headers.filter { $0.value.text?.contains("{{") != true }
    for (name, value) in known.sorted(by: { $0.key < $1.key }) {
      var push = APNsPush(token: "00", topic: "a", id: UUID(), payload: [UInt8(ascii: "{")])
      guard push.override(name.text, value), push.refusal == nil else {
        return OverrideProblem(field: "apns.headers.\(name)", problem: "has no value that APNs takes there")
      }
    }
    return nil
  }
}
