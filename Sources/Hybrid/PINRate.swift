import Postgres
import Wire

/// How often PINs are sent to a number, or to phones at an address.
///
/// Each moment is kept, up to twenty, so no hour and no day has more than these. `RateShare` keeps one, so it takes limits of any size. But it
/// returns uses while time passes, so a period that begins unspent can have twice its limit: too many SMS and calls to one number.
struct PINRate {
  let subject: String
  let hourly: Int32
  var daily = Int32.max

  static func number(_ number: PhoneNumber) -> PINRate {
    PINRate(subject: "number/\(number.digits)", hourly: 3, daily: 10)
  }

  /// Calls to one number are counted apart from its SMS.
  static func calls(_ number: PhoneNumber) -> PINRate {
    PINRate(subject: "calls/\(number.digits)", hourly: 3, daily: 10)
  }

  /// To phones of one app at one address.
  static func address(_ address: String, appID: String) -> PINRate {
    PINRate(subject: "address/\(appID)/\(address)", hourly: 20)
  }
}

/// A rate limit: so many uses in a period. Each spends its share of the period, and passing time returns it.
struct RateShare {
  let subject: String
  let limit: Int32
  let seconds: Int32

  /// PINs of an app as a whole: its secret lies in every phone, and SMS to numbers of one's own earn money.
  static func sent(of app: HybridApp) -> RateShare {
    RateShare(subject: "app/\(app.appID)", limit: Int32(app.pinsPerHour), seconds: 3600)
  }

  /// Wrong codes that are taken: fifteen a day for a number, and twenty an hour from an address. An app as a whole may have a tenth of its PINs
  /// an hour, twenty at least.
  ///
  /// The last one bounds what many addresses can guess together. With five digits and a thousand PINs an hour it is 2,400 of 100,000
  /// codes a day, whatever the number of phones, numbers and addresses. They are counted in this order.
  static func wrongCodes(_ number: PhoneNumber, address: String, of app: HybridApp) -> [RateShare] {
    [
      RateShare(subject: "codes/number/\(number.digits)", limit: 15, seconds: 86_400),
      RateShare(subject: "codes/address/\(app.appID)/\(address)", limit: 20, seconds: 3600),
      RateShare(subject: "codes/app/\(app.appID)", limit: wrongCodesPerHour(of: app), seconds: 3600),
    ]
  }

  static func wrongCodesPerHour(of app: HybridApp) -> Int32 { max(20, Int32(app.pinsPerHour / 10)) }

  /// Phones that register: anybody who has unpacked the app can, and each leaves a row. Behind one address of a mobile network there are
  /// many, so those may be a tenth of the app's, fifty at least. They are counted in this order.
  static func registrations(from address: String, of app: HybridApp) -> [RateShare] {
    [
      RateShare(
        subject: "registrations/address/\(app.appID)/\(address)",
        limit: max(50, Int32(app.registrationsPerHour / 10)), seconds: 3600),
      RateShare(subject: "registrations/app/\(app.appID)", limit: Int32(app.registrationsPerHour), seconds: 3600),
    ]
  }

  /// Spends one use.
  /// - Returns: how long it takes until there is one again; nil if there was one.
  func take(of customer: CustomerID, in database: any Querying) async throws -> Duration? {
    let taken = try await database.query(
      PhoneRegistrationQueries.takeShare, customer.rawValue, subject, limit, seconds)
    guard taken.isEmpty else { return nil }
    let wait = try await database.query(
      PhoneRegistrationQueries.waitForShare, customer.rawValue, subject, limit, seconds)
    return .seconds(max(1, try wait.first?.decode(Int64?.self) ?? 1))
  }
}
