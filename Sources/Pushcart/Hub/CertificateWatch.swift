import FoundationEssentials
import Logging
import Metrics
import Outbox
import Postgres
import Registry
import Wire

/// Warns of push certificates that expire: by log from 30 days ahead, and always by the metric `pushcart_certificate_expiry_seconds`,
/// which is negative once they have. Webhooks are told of them, too. Their apps' alarms need no watch (`PushApp.alarm`).
struct CertificateWatch {
  private let customers: Customers
  private let apps: PushApps
  private let webhooks: EventWebhooks
  private let logger: Logger
  private let metrics: any MetricsFactory
  /// By customer, app and kind. What vanished reads NaN, since none is removed.
  private var meters: [[String]: Meter] = [:]

  init(_ database: any Querying, logger: Logger, metrics: any MetricsFactory = MetricsSystem.factory) {
    customers = Customers(database)
    apps = PushApps(database)
    webhooks = EventWebhooks(database)
    self.logger = logger
    self.metrics = metrics
  }

  /// - Parameter isLogged: false between daily log lines.
  mutating func check(at now: Date = Date(), isLogged: Bool = true) async throws {
    var seen: Set<[String]> = []
    let customers = customers
    let failures = try await customers.forEach("look at the push certificates", logger: logger) { customer in
      for app in try await apps.list(customer.id) {
        for certificate in app.certificates {
          guard let notAfter = certificate.notAfter else { continue }
          let place = ["\(customer.id)", "\(app.id)", certificate.kind.rawValue]
          seen.insert(place)
          meter(place).set(notAfter.timeIntervalSince(now).rounded())
          if let days = EventWebhooks.daysLeft(until: notAfter, at: now) {
            try await webhooks.tellExpiry(customer.id, app.id, notAfter: notAfter, days: days)
          }
          guard isLogged, let warning = certificate.expiryWarning(at: now) else { continue }
          logger.warning(
            "a push certificate expires or has expired, store a new one",
            metadata: ["customer": "\(customer.id)", "app": "\(app.appID)", "what": "\(warning)"])
        }
      }
    }
    let unread = Set(failures.keys.map(\.description))
    for (place, meter) in meters where !seen.contains(place) && !unread.contains(place[0]) { meter.set(Double.nan) }
  }

  private mutating func meter(_ place: [String]) -> Meter {
    if let meter = meters[place] { return meter }
    let meter = Meter(
      label: "pushcart_certificate_expiry_seconds",
      dimensions: Array(zip(["customer", "app", "kind"], place)), factory: metrics)
    meters[place] = meter
    return meter
  }
}
