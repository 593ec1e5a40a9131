import Postgres
import Wire

/// How often PINs are sent to a number, or to phones at an address.
enum PINRate {
  /// To one number: three an hour, ten a day.
  case number(PhoneNumber)
  /// Calls to one number, apart from its SMS: as often.
  case calls(PhoneNumber)
  /// To phones of one app at one address: twenty an hour.
  case address(String, appID: String)

  var subject: String {
    switch self {
    case .number(let number): "number/\(number.digits)"
    case .calls(let number): "calls/\(number.digits)"
    case .address(let address, let appID): "address/\(appID)/\(address)"
    }
  }

  var hourly: Int32 {
    switch self {
    case .number, .calls: 3
    case .address: 20
    }
  }

  var daily: Int32 {
    switch self {
    case .number, .calls: 10
    case .address: .max
    }
  }
}

/// A limit of so many in a time. Each spends its part of that time, and time gives it back.
struct RateShare {
  let subject: String
  let limit: Int32
  let seconds: Int32

  /// PINs of an app as a whole: its secret lies in every phone, and SMS to numbers of one's own earn money.
  static func sent(of app: HybridApp) -> RateShare {
    RateShare(subject: "app/\(app.appID)", limit: Int32(app.pinsPerHour), seconds: 3600)
  }

  /// Wrong codes that are taken: fifteen a day for a number, twenty an hour from an address, and a tenth of its PINs an hour for the app
  /// as a whole, twenty at least.
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

  /// Spends one.
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
