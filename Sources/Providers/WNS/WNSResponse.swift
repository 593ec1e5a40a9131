import Wire
import FoundationEssentials

/// A response of WNS: its status, and headers. It has no body that says more.
struct WNSResponse: Hashable, Sendable {
  var status: Int
  /// What became of a notification that WNS took, with status 200: `received`, `dropped` or `channelthrottled`.
  var notificationStatus: String?
  /// `X-WNS-CONTINUE-AFTER`, or `retry-after` where there is none.
  var continueAfter: Duration?

  init(status: Int, notificationStatus: String? = nil, continueAfter: Duration? = nil) {
    self.status = status
    self.notificationStatus = notificationStatus
    self.continueAfter = continueAfter
  }

  /// The documentation calls the status `x-wns-status`, and servers `x-wns-notificationstatus`.
  static let headers = ["x-wns-status", "x-wns-notificationstatus", "x-wns-continue-after"]

  init(_ response: ServiceResponse) {
    let header = response.headers["x-wns-notificationstatus"] ?? response.headers["x-wns-status"]
    let word = header.flatMap { CombiningMarks.areFew(in: $0) ? $0 : nil }
    self.init(
      status: response.status, notificationStatus: word?.lowercasedASCII,
      continueAfter: response.headers["x-wns-continue-after"].flatMap(UInt32.init).map { .seconds(Int64($0)) }
        ?? response.retryAfter)
  }
}
