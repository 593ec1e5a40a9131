import Wire
import FoundationEssentials

/// APNs' checks of a request, apart from its token and its sender.
enum RequestChecks {
  /// The headers, in order: duplicates, `apns-id`, method, topic, collapse id, expiration, priority, push type.
  static func headerRefusal(of request: APNsRequest) -> APNsRefusal? {
    if request.hasDuplicates { return bad("DuplicateHeaders") }
    if let id = request.id, !isCanonical(id) { return bad("BadMessageId") }
    if request.method != "POST" { return APNsRefusal(status: 405, reason: "MethodNotAllowed") }
    guard let topic = request.topic, !topic.isEmpty else { return bad("MissingTopic") }
    if let collapseID = request.collapseID, collapseID.utf8.count > 64 { return bad("BadCollapseId") }
    if let expiration = request.expiration, UInt64(expiration) == nil { return bad("BadExpirationDate") }
    if let priority = request.priority, !["1", "5", "10"].contains(priority) { return bad("BadPriority") }
    if let pushType = request.pushType {
      guard let suffix = topicSuffixes[pushType] else { return bad("InvalidPushType") }
      if pushType == "background", request.priority != "5" { return bad("BadPriority") }
      if !topic.hasSuffix(suffix) { return bad("BadTopic") }
    }
    return nil
  }

  /// The path, then the form of the token in it.
  static func pathRefusal(of request: APNsRequest) -> APNsRefusal? {
    guard request.path.hasPrefix(APNsRequest.pathPrefix) else { return APNsRefusal(status: 404, reason: "BadPath") }
    let token = request.path.utf8.dropFirst(APNsRequest.pathPrefix.utf8.count)
    if token.isEmpty { return bad("MissingDeviceToken") }
    let isHex = token.allSatisfy { byte in
      (0x30...0x39).contains(byte) || (0x41...0x46).contains(byte) || (0x61...0x66).contains(byte)
    }
    // Apple promises no length; none longer than 100 bytes has been seen.
    guard isHex, token.count.isMultiple(of: 2), token.count <= 200 else { return .badDeviceToken }
    return nil
  }

  /// What the topic of each push type ends in.
  static let topicSuffixes = [
    "alert": "", "background": "", "mdm": "", "voip": ".voip", "complication": ".complication",
    "fileprovider": ".pushkit.fileprovider", "location": ".location-query", "liveactivity": ".push-type.liveactivity",
    "pushtotalk": ".voip-ptt", "controls": ".push-type.controls", "widgets": ".push-type.widgets",
  ]

  /// Lower-case digits with hyphens, 8-4-4-4-12.
  private static func isCanonical(_ id: String) -> Bool {
    UUID(uuidString: id) != nil && id.utf8.allSatisfy { !(0x41...0x5A).contains($0) }
  }

  /// The payload, whose checks come last.
  static func payloadRefusal(of request: APNsRequest) -> APNsRefusal? {
    if request.payload.isEmpty { return bad("PayloadEmpty") }
    if request.payload.count > (request.pushType == "voip" ? 5120 : 4096) {
      return APNsRefusal(status: 413, reason: "PayloadTooLarge")
    }
    // Apple documents no reason for a payload without an object `aps`: it holds no notification.
    return (try? JSONCoding.decode(Shape.self, from: request.payload)) == nil ? bad("PayloadEmpty") : nil
  }

  private struct Shape: Decodable {
    var aps: AnyObject

    struct AnyObject: Decodable {
      private enum Key: CodingKey {}
      init(from decoder: any Decoder) throws { _ = try decoder.container(keyedBy: Key.self) }
    }
  }

  private static func bad(_ reason: String) -> APNsRefusal { APNsRefusal(status: 400, reason: reason) }
}
