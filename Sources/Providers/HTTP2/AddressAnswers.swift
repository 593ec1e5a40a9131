import Retrying
import DequeModule
import NIOCore

/// What an address that a customer, an app or a device has named leaves unanswered. A value without a task or a clock.
///
/// A request is *overdue* once it has had no answer for `overdueAfter`. An address with `limit` overdue requests is silent, and so is one that
/// has lost as many since its last answer: no more are sent to it. It is tried by one request after 1, 2, 4, up to 30 seconds, until it
/// answers. So one that hangs soon holds nothing that others need.
struct AddressAnswers: Sendable {
  /// After which time without an answer a request is overdue. It is less than a hub's window waits: what gets the capacity of overdue pushes is
  /// not sent after them.
  static let overdueAfter = TimeAmount.milliseconds(750)

  /// How many overdue or lost requests make it silent.
  let limit: Int
  /// Whether it has at most `limit` requests until it has answered one.
  let isUntrusted: Bool
  /// When requests to it last began or ended. The one that has been idle for longest is forgotten first.
  private(set) var lastUse = NIODeadline.uptimeNanoseconds(0)
  private var lastTicket = 0
  /// Requests that began together and are not overdue, the oldest first. Some may have ended.
  private var fresh: Deque<(ticket: Int, since: NIODeadline)> = []
  private var begun: [Int: (count: Int, isOverdue: Bool)] = [:]
  private var inFlight = 0
  private var overdue = 0
  private var hasAnswered = false
  /// How many have been lost since the last answer.
  private var lost = 0
  private var failedTries = 0
  private var nextTry = NIODeadline.uptimeNanoseconds(0)

  init(limit: Int, isUntrusted: Bool) {
    self.limit = limit
    self.isUntrusted = isUntrusted
  }

  /// Whether nothing has to be known of it any more.
  var isForgettable: Bool { inFlight == 0 && lost == 0 }
  var isIdle: Bool { inFlight == 0 }

  mutating func isSilent(at now: NIODeadline) -> Bool {
    while let (ticket, since) = fresh.first, since + Self.overdueAfter <= now {
      fresh.removeFirst()
      guard let open = begun[ticket] else { continue }
      overdue += open.count
      begun[ticket] = (open.count, true)
    }
    return overdue >= limit || lost >= limit
  }

  /// How many of `count` requests may be sent now.
  mutating func capacity(for count: Int, at now: NIODeadline) -> Int {
    guard isSilent(at: now) else { return isUntrusted && !hasAnswered ? min(count, max(0, limit - inFlight)) : count }
    return inFlight == 0 && nextTry <= now ? min(1, count) : 0
  }

  /// - Returns: the requests' ticket, for `end`.
  mutating func begin(_ count: Int, at now: NIODeadline) -> Int {
    lastTicket += 1
    begun[lastTicket] = (count, false)
    fresh.append((lastTicket, now))
    inFlight += count
    lastUse = now
    return lastTicket
  }

  /// Requests have ended.
  /// - Parameter isAnswered: nil if that says nothing of the address, unless they are overdue.
  mutating func end(_ count: Int, of ticket: Int, isAnswered: Bool?, at now: NIODeadline) {
    _ = isSilent(at: now)
    guard let open = begun[ticket] else { return }
    begun[ticket] = open.count > count ? (open.count - count, open.isOverdue) : nil
    inFlight -= count
    if open.isOverdue { overdue -= count }
    lastUse = now
    switch isAnswered ?? (open.isOverdue ? false : nil) {
    case nil: break
    case true?:
      hasAnswered = true
      (lost, failedTries) = (0, 0)
    case false?:
      lost += count
      guard lost >= limit, nextTry <= now else { return }
      failedTries += 1
      nextTry = now + TimeAmount(RetryPolicy.unavailable.delay(after: failedTries))
    }
  }
}
