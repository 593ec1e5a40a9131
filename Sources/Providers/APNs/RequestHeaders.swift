import FoundationEssentials
import NIOHPACK

/// The header block of a push, compressed as Apple advises. `:path` and `authorization` never enter the dynamic table; headers that
/// change with each push enter it once, for their name; headers that stay the same are sent as one byte.
struct RequestHeaders {
  private let beginning: HPACKHeaders

  init(authority: String) {
    var headers = HPACKHeaders()
    headers.reserveCapacity(16)
    headers.add(name: ":method", value: "POST")
    headers.add(name: ":scheme", value: "https")
    headers.add(name: ":authority", value: authority)
    beginning = headers
  }

  /// - Parameter first: whether it is the connection's first request.
  func block(for push: APNsPush, authorization: String, first: Bool) -> HPACKHeaders {
    var headers = beginning
    headers.reserveCapacity(16)
    headers.add(name: ":path", value: "/3/device/" + push.token, indexing: .nonIndexable)
    headers.add(name: "authorization", value: authorization, indexing: .neverIndexed)
    headers.add(name: "apns-topic", value: push.topic + push.pushType.topicSuffix)
    headers.add(name: "apns-push-type", value: push.pushType.rawValue)
    headers.add(name: "apns-priority", value: push.priority.text)
    let changing: HPACKIndexing = first ? .indexable : .nonIndexable
    headers.add(name: "apns-id", value: Self.canonical(push.id), indexing: changing)
    if let expiration = Self.seconds(push.expiration) {
      headers.add(name: "apns-expiration", value: expiration, indexing: changing)
    }
    if let collapseID = push.collapseID {
      headers.add(name: "apns-collapse-id", value: collapseID, indexing: changing)
    }
    headers.add(name: "content-type", value: "application/json")
    return headers
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
