import FoundationEssentials

/// Device tokens whose first eight hex digits say how they are answered, for steering by hand; what follows them is free.
///
/// | begins with | answer |
/// |---|---|
/// | `fade0400` | 400 BadDeviceToken |
/// | `fade1400` | 400 DeviceTokenNotForTopic |
/// | `fade0403` | 403 InvalidProviderToken |
/// | `fade1403` | 403 ExpiredProviderToken |
/// | `fade0410` | 410 Unregistered, dead since now |
/// | `fade1410` | 410 Unregistered, dead since a year ago |
/// | `fade2410` | 410 ExpiredToken, dead since now |
/// | `fade0413` | 413 PayloadTooLarge |
/// | `fade0429` | 429 TooManyRequests |
/// | `fade0500` | 500 InternalServerError |
/// | `fade0503` | 503 ServiceUnavailable |
/// | `fade1503` | 503 Shutdown |
/// | `fade0001` | 200, one second late |
/// | `fade0002` | no answer |
/// | `fade0003` | the connection is cut |
/// | `fade0004` | GOAWAY; this request and later ones are not processed |
/// | `fade0005` | RST_STREAM with REFUSED_STREAM |
/// | `5a4db0c5` | belongs to the sandbox: 400 BadDeviceToken in production |
enum SteeringTokens {
  static let length = 8
  static let sandbox = "5a4db0c5"

  /// What the token asks for; nil for all other tokens.
  static func reply(to token: String, now: Date) -> SimulatedAPNs.Reply? {
    guard token.hasPrefix("fade") else { return nil }
    return switch token.prefix(length) {
    case "fade0400": .refuse(status: 400, reason: "BadDeviceToken")
    case "fade1400": .refuse(status: 400, reason: "DeviceTokenNotForTopic")
    case "fade0403": .refuse(status: 403, reason: "InvalidProviderToken")
    case "fade1403": .refuse(status: 403, reason: "ExpiredProviderToken")
    case "fade0410": .refuse(status: 410, reason: "Unregistered", since: now)
    case "fade1410": .refuse(status: 410, reason: "Unregistered", since: now.addingTimeInterval(-365 * 86_400))
    case "fade2410": .refuse(status: 410, reason: "ExpiredToken", since: now)
    case "fade0413": .refuse(status: 413, reason: "PayloadTooLarge")
    case "fade0429": .refuse(status: 429, reason: "TooManyRequests")
    case "fade0500": .refuse(status: 500, reason: "InternalServerError")
    case "fade0503": .refuse(status: 503, reason: "ServiceUnavailable")
    case "fade1503": .refuse(status: 503, reason: "Shutdown")
    case "fade0001": .after(.seconds(1), .accept)
    case "fade0002": .ignore
    case "fade0003": .cut
    case "fade0004": .goAway()
    case "fade0005": .refuseStream
    default: nil
    }
  }
}
