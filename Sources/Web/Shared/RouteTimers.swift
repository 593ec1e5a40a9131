import HTTPTypes
import Metrics
import Synchronization

/// One timer for each method, route and status that was seen; there are few.
final class RouteTimers: Sendable {
  private struct Key: Hashable {
    var method: HTTPRequest.Method
    var route: String
    var status: Int
  }
  private let timers = Mutex<[Key: Timer]>([:])

  func record(method: HTTPRequest.Method, route: String, status: HTTPResponse.Status, _ duration: Duration) {
    let key = Key(method: route == "NotFound" ? .get : method, route: route, status: status.code)
    let timer = timers.withLock { timers in
      if let timer = timers[key] { return timer }
      let timer = Timer(
        label: "pushcart_http_request_seconds",
        dimensions: [("method", key.method.rawValue), ("route", key.route), ("status", String(key.status))])
      timers[key] = timer
      return timer
    }
    timer.recordNanoseconds(Int64(duration / .nanoseconds(1)))
  }
}
