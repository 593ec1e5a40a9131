public import FoundationEssentials
import Hummingbird
import Wire

/// A response of APNs other than 200.
public struct APNsRefusal: Sendable, Hashable {
  public var status: Int
  /// A reason of Apple's table, such as `BadDeviceToken`.
  public var reason: String
  /// With 410, since when the token has been invalid.
  public var since: Date?

  static let badDeviceToken = APNsRefusal(status: 400, reason: "BadDeviceToken")

  /// The response's JSON.
  var body: String {
    guard let since else { return #"{"reason":"\#(reason)"}"# }
    return #"{"reason":"\#(reason)","timestamp":\#(Timestamp(since).milliseconds)}"#
  }
}

extension APNsRefusal: RuleRefusal {
  init(_ rule: RuleBody) throws {
    guard let status = rule.status, (400...599).contains(status), let reason = rule.reason else {
      throw HTTPError(.badRequest, message: "The reply refuse needs a status from 400 to 599 and a reason.")
    }
    self.init(status: status, reason: reason, since: rule.since.map { Date(timeIntervalSince1970: $0 / 1000) })
  }

  func describe(in rule: inout RuleBody) {
    rule.status = status
    rule.reason = reason
    rule.since = since.map { $0.timeIntervalSince1970 * 1000 }
  }
}

extension SimulatedReply where Refusal == APNsRefusal {
  /// A refusal with a reason, and, on 410, since when the token has been invalid.
  public static func refuse(status: Int, reason: String, since: Date? = nil) -> Self {
    .refuse(APNsRefusal(status: status, reason: reason, since: since))
  }
}

// MARK: - Test tokens

extension SimulatedAPNs {
  /// Begins a token that is valid in the sandbox only.
  static let sandboxPrefix = "5a4db0c5"

  /// The prefixes are in lower case, as tokens are compared.
  static let testTokens = TestTokens<APNsRefusal>(
    "The first characters of a device token select the reply of APNs:",
    [
      refusal("fade0400", 400, "BadDeviceToken"),
      refusal("fade1400", 400, "DeviceTokenNotForTopic"),
      refusal("fade0403", 403, "InvalidProviderToken"),
      refusal("fade1403", 403, "ExpiredProviderToken"),
      invalid("fade0410", "Unregistered", "unregistered since now", after: 0),
      invalid("fade1410", "Unregistered", "unregistered for a year", after: -365 * 86_400),
      invalid("fade2410", "ExpiredToken", "unregistered since now", after: 0),
      refusal("fade0413", 413, "PayloadTooLarge"),
      refusal("fade0429", 429, "TooManyRequests"),
      refusal("fade0500", 500, "InternalServerError"),
      refusal("fade0503", 503, "ServiceUnavailable"),
      refusal("fade1503", 503, "Shutdown"),
      TestTokens.Entry(sandboxPrefix, "belongs to the sandbox: 400 BadDeviceToken in production") { _ in .accept },
    ])

  private static func refusal(_ prefix: String, _ status: Int, _ reason: String) -> TestTokens<APNsRefusal>.Entry {
    TestTokens.Entry(prefix, "\(status) \(reason)", APNsRefusal(status: status, reason: reason))
  }

  private static func invalid(
    _ prefix: String, _ reason: String, _ since: String, after: TimeInterval
  ) -> TestTokens<APNsRefusal>.Entry {
    TestTokens.Entry(prefix, "410 \(reason), \(since)") {
      .refuse(status: 410, reason: reason, since: $0.addingTimeInterval(after))
    }
  }
}
