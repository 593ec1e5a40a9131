import FoundationEssentials
import Wire

extension APNsPush {
  /// The request, without what belongs to connection and moment.
  var request: PushRequest {
    var headers = RequestHeaders()
    headers.add(":path", .changing) { value in
      value.append(contentsOf: "/3/device/".utf8)
      value.append(contentsOf: token.utf8)
    }
    headers.add("apns-topic", topicHeader)
    headers.add("apns-push-type", pushType.rawValue)
    headers.add("apns-priority", priority.text)
    headers.add("apns-id", .changing) { Self.append(id, to: &$0) }
    if let expiration = Self.seconds(expiration) { headers.add("apns-expiration", expiration, .changing) }
    if let collapseID { headers.add("apns-collapse-id", collapseID, .changing) }
    headers.add("content-type", "application/json")
    return PushRequest(headers: headers, body: payload)
  }

  /// Whole seconds since 1970; nil for a date that is too far in the future.
  private static func seconds(_ date: Date?) -> String? {
    guard let seconds = date?.timeIntervalSince1970, seconds.isFinite, seconds < 1e12 else { return nil }
    return String(Int64(max(0, seconds)))
  }

  /// Lower case with hyphens; APNs refuses any other form.
  private static func append(_ id: UUID, to text: inout [UInt8]) {
    withUnsafeBytes(of: id.uuid) { bytes in
      for (index, byte) in bytes.enumerated() {
        if index == 4 || index == 6 || index == 8 || index == 10 { text.append(UInt8(ascii: "-")) }
        text.append(digit(byte >> 4))
        text.append(digit(byte & 15))
      }
    }
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }
}

extension APNsPriority {
  fileprivate var text: String {
    switch self {
    case .immediate: "10"
    case .considerate: "5"
    case .passive: "1"
    }
  }
}
