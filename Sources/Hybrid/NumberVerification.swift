import FoundationEssentials
import Metrics
import Postgres
import Wire

/// Verifies telephone numbers: issues PINs and sends them within their rates, and tries codes.
struct NumberVerification: Sendable {
  let pool: Pool
  let database: any Querying
  let pins: PINs
  let delivery: PINDelivery

  /// - Throws: `HybridError.noSMS`, if the customer has nothing to send PINs with.
  func checkSMS(_ customer: CustomerID) async throws {
    guard try await delivery.canSend(customer) else { throw HybridError.noSMS }
  }

  /// Starts the verification of a number over, with a new PIN.
  func issue(
    _ id: RegistrationID, _ number: PhoneNumber, _ request: PhoneRequest, _ transaction: Transaction
  ) async throws -> (PhoneRegistration, nonce: [UInt8]) {
    let app = request.app
    // The registration is locked first, and then the rates in one order, so that no two requests wait for each other.
    let nonce = PINs.nonce(digits: app.pinDigits)
    let pin = pins.pin(app.customer, id, number, nonce: nonce)
    let rows = try await transaction.query(
      PhoneRegistrationQueries.issuePIN, app.customer.rawValue, id.rawValue, app.appID, number.digits, Bytes(nonce),
      Bytes(pins.hash(app.customer, id, number, pin: pin)), Int32(PINs.lifetime.components.seconds))
    guard let row = rows.first else { throw HybridError.deviceUnknown }
    try await take(.number(number), app, transaction)
    try await take(.address(request.address, appID: app.appID), app, transaction)
    try await take(.sent(of: app), app, transaction)
    return (try PhoneRegistration(row), nonce)
  }

  /// - Throws: `HybridError.tooManyPINs`.
  private func take(_ rate: PINRate, _ app: HybridApp, _ transaction: Transaction) async throws {
    let customer = app.customer.rawValue
    let taken = try await transaction.query(
      PhoneRegistrationQueries.takeRate, customer, rate.subject, rate.hourly, rate.daily)
    guard taken.isEmpty else { return }
    let wait = try await transaction.query(
      PhoneRegistrationQueries.waitForRate, customer, rate.subject, rate.hourly, rate.daily)
    throw HybridError.tooManyPINs(wait: .seconds(try wait.first?.decode(Int64?.self) ?? 1))
  }

  /// - Throws: `HybridError.tooManyPINs`, if nothing is left of it.
  private func take(_ share: RateShare, _ app: HybridApp, _ transaction: Transaction) async throws {
    if let wait = try await share.take(of: app.customer, in: transaction) { throw HybridError.tooManyPINs(wait: wait) }
  }

  /// Sends the PIN of a nonce that is committed.
  func send(_ source: PINSource, to number: PhoneNumber, _ app: HybridApp) async throws {
    try await delivery.send(app.pinText, source, from: app.sender, to: number, of: app.customer)
  }

  /// Tries a code. One statement counts and compares, so that no number of tries at once gets more than five.
  ///
  /// The code counts as a wrong one first, and is given back if it was right. So once too many were wrong, nobody learns whether a further
  /// one is right. The registration is locked first, and then the rates in one order.
  /// - Returns: the registration as it is then; nil if meanwhile the number was verified, or all tries were used.
  /// - Throws: `HybridError.tooManyPINs`: nothing was tried then.
  func verify(
    _ code: TypedPIN, _ registration: PhoneRegistration, _ request: PhoneRequest
  ) async throws -> PhoneRegistration? {
    let app = request.app
    guard let number = registration.number, registration.status != .pinVerified,
      registration.pinTries < PINs.maximumTries
    else { return registration }
    let pin = code.padded(to: PINs.digits(nonce: registration.pinNonce))
    let hash = pins.hash(app.customer, registration.id, number, pin: pin)
    let tried = try await pool.transaction { [self] transaction -> PhoneRegistration? in
      let rows = try await transaction.query(
        PhoneRegistrationQueries.tryPIN, app.customer.rawValue, registration.id.rawValue, app.appID, Bytes(hash),
        Int16(PINs.maximumTries))
      guard let row = rows.first else { return nil }
      let tried = try PhoneRegistration(row)
      let shares = RateShare.wrongCodes(number, address: request.address, of: app)
      for share in shares { try await take(share, app, transaction) }
      guard tried.status == .pinVerified else { return tried }
      for share in shares {
        try await transaction.query(
          PhoneRegistrationQueries.returnShare, app.customer.rawValue, share.subject, share.limit, share.seconds)
      }
      return tried
    }
    if let tried { Self.codes[tried.status == .pinVerified]?.increment() }
    return tried
  }

  /// Codes that were tried, by whether they were right.
  private static let codes = [true, false].reduce(into: [Bool: Counter]()) { counters, isRight in
    counters[isRight] = Counter(
      label: "pushcart_pin_codes_total", dimensions: [("result", isRight ? "verified" : "failed")])
  }

  /// Has the number called, and the PIN spoken that the SMS had.
  /// - Throws: `HybridError.noPIN`, if none was sent to it, or it is no longer good; `.tooManyPINs`, `.noCalls`, `.invalid`.
  func call(
    _ registration: PhoneRegistration, of app: HybridApp, number text: String?, language: String?, address: String
  ) async throws {
    let language = try language.map { language in
      guard language.utf8.count >= 2, language.utf8.prefix(2).allSatisfy({ (0x61...0x7A).contains($0 | 0x20) }) else {
        throw HybridError.invalid(field: "language", problem: "must be two letters, such as nl")
      }
      return String(language.prefix(2)).lowercasedASCII
    }
    guard let number = registration.number, let nonce = registration.pinNonce,
      registration.pinTries < PINs.maximumTries,
      try text.map({ try Self.number($0, field: "msisdn") == number }) ?? true
    else { throw HybridError.noPIN }
    try await pool.transaction(of: app.customer.rawValue, locks: .brief) { [self] transaction in
      let rows = try await transaction.query(
        PhoneRegistrationQueries.called, app.customer.rawValue, registration.id.rawValue, app.appID, Bytes(nonce))
      guard !rows.isEmpty else { throw HybridError.noPIN }
      try await take(.calls(number), app, transaction)
      try await take(.address(address, appID: app.appID), app, transaction)
      try await take(.sent(of: app), app, transaction)
    }
    let pin = pins.pin(app.customer, registration.id, number, nonce: nonce)
    try await delivery.call(
      PINCall(number: number, text: app.voiceText, pin: pin, language: language), of: app.customer)
  }

  /// - Throws: `HybridError.invalid`.
  static func number(_ text: String, field: String) throws -> PhoneNumber {
    guard let number = PhoneNumber(text) else {
      throw HybridError.invalid(field: field, problem: "must be a telephone number \(PhoneNumber.form)")
    }
    return number
  }
}
