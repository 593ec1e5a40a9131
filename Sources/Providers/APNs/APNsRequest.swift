import FoundationEssentials
import NIOHPACK

extension APNsPush {
  /// The request, without what belongs to connection and moment. `:path` never enters the dynamic table, since each device has its
  /// own.
  var request: PushRequest {
    var headers = HPACKHeaders()
    headers.reserveCapacity(8)
    headers.add(name: ":path", value: "/3/device/" + token, indexing: .nonIndexable)
    headers.add(name: "apns-topic", value: topic + pushType.topicSuffix)
    headers.add(name: "apns-push-type", value: pushType.rawValue)
    headers.add(name: "apns-priority", value: priority.text)
    headers.add(name: "apns-id", value: Self.canonical(id), indexing: .nonIndexable)
    if let expiration = Self.seconds(expiration) {
      headers.add(name: "apns-expiration", value: expiration, indexing: .nonIndexable)
    }
    if let collapseID { headers.add(name: "apns-collapse-id", value: collapseID, indexing: .nonIndexable) }
    headers.add(name: "content-type", value: "application/json")
    return PushRequest(headers: headers, body: payload)
  }

  /// Whole seconds since 1970; nil for a date that is too far in the future.
  private static func seconds(_ date: Date?) -> String? {
    guard let seconds = date?.timeIntervalSince1970, seconds.isFinite, seconds < 1e12 else { return nil }
    return String(Int64(max(0, seconds)))
  }

  /// Lower case with hyphens; APNs refuses any other form.
  private static func canonical(_ id: UUID) -> String {
    withUnsafeBytes(of: id.uuid) { bytes in
      String(unsafeUninitializedCapacity: 36) { text in
        var end = 0
        for (index, byte) in bytes.enumerated() {
          if index == 4 || index == 6 || index == 8 || index == 10 {
            text[end] = UInt8(ascii: "-")
            end += 1
          }
          text[end] = digit(byte >> 4)
          text[end + 1] = digit(byte & 15)
          end += 2
        }
        return end
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
