import FoundationEssentials

/// The checks that look at the payload; the last ones.
enum PayloadChecks {
  static func refusal(of request: APNsRequest) -> APNsRefusal? {
    if request.payload.isEmpty { return APNsRefusal(status: 400, reason: "PayloadEmpty") }
    if request.payload.count > (request.pushType == "voip" ? 5120 : 4096) {
      return APNsRefusal(status: 413, reason: "PayloadTooLarge")
    }
    // Apple names no reason for a payload that is no JSON object with `aps` in it: it holds no notification.
    guard (try? JSONDecoder().decode(Shape.self, from: Data(request.payload))) != nil else {
      return APNsRefusal(status: 400, reason: "PayloadEmpty")
    }
    return nil
  }

  private struct Shape: Decodable {
    var aps: AnyObject

    struct AnyObject: Decodable {
      private enum Key: CodingKey {}
      init(from decoder: any Decoder) throws { _ = try decoder.container(keyedBy: Key.self) }
    }
  }
}
