import FoundationEssentials
public import Postgres
public import Registry
public import Wire

/// The store of phones of CM Hybrid Messaging: registers them, verifies their numbers by PIN, and makes them devices of their
/// numbers' contacts.
///
/// A number is the contact with the originalId `0031612345678`. Its phone is a device of that contact while the number is verified,
/// there is a push token, and notifications are on.
public struct PhoneRegistrations: Sendable {
  private let pool: Pool
  /// Requests end by then: phones would rather try again than wait.
  private let database: any Querying
  private let verification: NumberVerification
  private let devices: PhoneDevices

  /// - Parameter timeLimit: when a statement ends at the latest.
  public init(
    _ pool: Pool, pins: PINs, delivery: PINDelivery, pushApps: PushAppCache, registrations: RegistrationBatcher,
    timeLimit: Duration = .seconds(4)
  ) {
    self.pool = pool
    database = pool.limited(to: timeLimit)
    verification = NumberVerification(pool: pool, database: database, pins: pins, delivery: delivery)
    devices = PhoneDevices(
      database: database, pushApps: pushApps, registrations: registrations, delivery: delivery)
  }

  /// - Throws: `HybridError.deviceUnknown`, if the app has no such registration.
  public func find(_ app: HybridApp, _ device: PhoneID) async throws -> PhoneRegistration {
    guard let found = try await findAny(app, device) else { throw HybridError.deviceUnknown }
    return found
  }

  private func findAny(_ app: HybridApp, _ device: PhoneID) async throws -> PhoneRegistration? {
    try await database.query(
      PhoneRegistrationQueries.ofPhone, app.customer.rawValue, Bytes(device.hash), app.appID
    ).first.map { try PhoneRegistration($0) }
  }

  /// Registers a phone, and sends a PIN if it gives its number. A verification code has no meaning yet.
  /// - Throws: `HybridError.invalid`, `.signatureReused`, `.tooManyRegistrations`, `.tooManyPINs`, `.noSMS`: nothing is registered then.
  /// - Returns: the registration, and what opens it.
  public func add(
    _ request: PhoneRequest, _ body: DeviceRegistrationBody
  ) async throws -> (registration: PhoneRegistration, phone: PhoneID) {
    // Phones that have no DeviceID yet share their signatures of one second, and with them nothing can be taken over. Unknown ids leave no
    // signature behind.
    if let id = request.device, let known = try await findAny(request.app, id) {
      try await checkSignature(request, of: known)
    }
    let change = try await checked(body, request)
    let number = change.number
    if number != nil { try await verification.checkSMS(request.app.customer) }
    for share in RateShare.registrations(from: request.address, of: request.app) {
      if let wait = try await share.take(of: request.app.customer, in: database) {
        throw HybridError.tooManyRegistrations(wait: wait)
      }
    }
    let phone = PhoneID.make()
    let (added, nonce) = try await pool.transaction(of: request.app.customer.rawValue, locks: .brief) {
      [self] transaction in
      let app = request.app
      let added = try PhoneRegistration(
        try await transaction.query(
          PhoneRegistrationQueries.add, app.customer.rawValue, Bytes(phone.hash), app.appID, request.platform.rawValue,
          request.userAgent, change.token, change.isSandbox ?? false, change.wantsNotifications ?? true)[0])
      guard let number else { return (added, [UInt8]?.none) }
      let (waiting, nonce) = try await verification.issue(added.id, number, request, transaction)
      return (waiting, nonce)
    }
    if let nonce, let number {
      do {
        try await verification.send(PINSource(added.id, nonce: nonce), to: number, request.app)
      } catch {
        // The phone never learns its id, and registers anew.
        _ = try? await database.query(
          PhoneRegistrationQueries.remove, request.app.customer.rawValue, added.id.rawValue, request.app.appID)
        throw error
      }
    }
    return (added, phone)
  }

  /// Changes what the request names: token, number and flags. A number that is not verified gets a PIN; a verification code is tried.
  /// - Throws: `HybridError.deviceUnknown`, and as `add`.
  public func update(_ request: PhoneRequest, _ body: DeviceRegistrationBody) async throws -> PhoneRegistration {
    guard let phone = request.device else { throw HybridError.deviceUnknown }
    let app = request.app
    // Unknown ids leave no signature behind.
    let before = try await find(app, phone)
    let id = before.id
    try await checkSignature(request, of: before)
    let change = try await checked(body, request)
    var current = before
    if change.token != nil || change.isSandbox != nil || change.wantsNotifications != nil
      || request.userAgent != before.userAgent
    {
      let rows = try await database.query(
        PhoneRegistrationQueries.change, app.customer.rawValue, id.rawValue, app.appID, change.token, change.isSandbox,
        change.wantsNotifications, request.userAgent, request.address)
      guard let row = rows.first else { throw HybridError.deviceUnknown }
      current = try PhoneRegistration(row)
    }
    let newNumber = change.number.flatMap { $0 == current.number ? nil : $0 }
    if let code = body.verificationCode, newNumber == nil {
      if let tried = try await verification.verify(code, current, request) {
        current = tried
      } else {
        current = try await find(app, phone)
      }
    } else if let number = change.number, newNumber != nil || current.status != .pinVerified {
      try await verification.checkSMS(request.app.customer)
      let (waiting, nonce) = try await pool.transaction(of: app.customer.rawValue, locks: .brief) { [self] in
        try await verification.issue(id, number, request, $0)
      }
      current = waiting
      // The device of the number before goes first: the phone may never verify the new one.
      current = try await devices.settle(current, app)
      try await verification.send(PINSource(id, nonce: nonce), to: number, app)
      return current
    }
    return try await devices.settle(
      current, app, again: change.token != nil || change.isSandbox != nil || before.status != current.status)
  }

  /// Has the number called, and the PIN spoken that the SMS had.
  /// - Throws: `HybridError.noPIN`, if none was sent to it, or it is no longer good; `.tooManyPINs`, `.noCalls`, `.invalid`.
  public func call(
    _ app: HybridApp, _ device: PhoneID, number text: String?, language: String?, address: String
  ) async throws {
    try await verification.call(
      try await find(app, device), of: app, number: text, language: language, address: address)
  }

  /// Deletes what is of no use any more: rates and signatures after a day, registrations without a verified number after 30 days, and
  /// events after `days`; nil for never.
  public static func forgetExpired(
    _ customer: CustomerID, eventsAfterDays days: Int32?, in database: any Querying
  ) async throws {
    for statement in [
      PhoneRegistrationQueries.forgetRates, PhoneRegistrationQueries.forgetSignatures,
      PhoneRegistrationQueries.forgetUnverified,
    ] {
      try await database.deleteInPortions(statement, customer.rawValue)
    }
    if let days {
      try await database.deleteInPortions(PhoneRegistrationQueries.forgetEvents, customer.rawValue, olderThanDays: days)
    }
  }

  // MARK: - Checks

  private struct Change {
    var token: String?
    var number: PhoneNumber?
    var isSandbox: Bool?
    var wantsNotifications: Bool?
  }

  private func checked(_ body: DeviceRegistrationBody, _ request: PhoneRequest) async throws -> Change {
    var change = Change(isSandbox: body.isDevelopment, wantsNotifications: body.registeredForPushNotification)
    change.number = try body.msisdn.map { try NumberVerification.number($0, field: "Msisdn") }
    if var token = body.pushToken {
      // Some apps send an APNs token as iOS prints it.
      if request.platform == .iOS { token.removeAll { $0 == "<" || $0 == ">" || $0 == " " } }
      let type = try await devices.pushApp(request.app, request.platform)?.type ?? request.platform.appTypes[0]
      change.token = try DeviceToken(token, type: type, field: "PushToken").text
    }
    return change
  }

  /// A signature covers no body and is good for minutes: whoever repeats one can only repeat the whole request.
  private func checkSignature(_ request: PhoneRequest, of registration: PhoneRegistration) async throws {
    let rows = try await database.query(
      PhoneRegistrationQueries.noteSignature, request.app.customer.rawValue, registration.id.rawValue,
      Bytes(request.signature), Bytes(request.bodyHash))
    guard let first = try rows.first?.decode(Bytes.self) else {
      throw HybridError.tooManyRegistrations(wait: .seconds(3600))
    }
    guard first.bytes == request.bodyHash else { throw HybridError.signatureReused }
  }
}
