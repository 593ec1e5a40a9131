import Crypto
public import FoundationEssentials
public import Postgres
public import Registry
public import Wire

/// A phone's platform, as its User-Agent names it.
public enum PhonePlatform: String, Sendable, CaseIterable {
  case iOS
  case android = "Android"
  case windowsPhone = "WindowsPhone"

  /// - Returns: nil if the text names none. What stands in brackets goes before the app's name.
  public init?(userAgent: String) {
    let bracket = userAgent.firstIndex(of: "(") ?? userAgent.endIndex
    guard let found = Self(named: userAgent[bracket...]) ?? Self(named: userAgent[..<bracket]) else { return nil }
    self = found
  }

  /// The first platform that is a word of the text, in any case.
  private init?(named text: Substring) {
    let words = text.lowercased().split { !$0.isLetter }
    for (index, word) in words.enumerated() {
      switch word {
      case "ios": self = .iOS
      case "android": self = .android
      case "windowsphone": self = .windowsPhone
      case "windows" where index + 1 < words.count && words[index + 1] == "phone": self = .windowsPhone
      default: continue
      }
      return
    }
    return nil
  }

  /// The types of push apps that such phones can be devices of, the preferred one first.
  var appTypes: [AppType] {
    switch self {
    case .iOS: [.ios]
    case .android: [.firebase, .android]
    case .windowsPhone: [.windows]
    }
  }
}

/// How far a phone's number is verified.
public enum VerificationStatus: String, Sendable {
  case unverified = "Unverified"
  case waitingForPin = "WaitingForPin"
  case lastPinVerificationFailed = "LastPinVerificationFailed"
  case pinVerified = "PinVerified"
}

/// An install of an app of CM Hybrid Messaging.
public struct PhoneRegistration: Sendable {
  /// What phones call their DeviceID.
  public let id: UUID
  public let platform: PhonePlatform
  public let userAgent: String
  public let number: PhoneNumber?
  public let status: VerificationStatus
  let pushToken: String?
  let isSandbox: Bool
  let wantsNotifications: Bool
  let pinNonce: [UInt8]?
  let pinTries: Int16
  /// What it is registered with as a device of its number's contact; nil if it is none.
  let device: PhoneDevice?
  let createdAt: Date

  struct PhoneDevice: Sendable, Equatable {
    let number: PhoneNumber
    let token: String
  }

  /// What it should be registered with.
  var wantedDevice: PhoneDevice? {
    guard status == .pinVerified, wantsNotifications, let number, let pushToken else { return nil }
    return PhoneDevice(number: number, token: pushToken)
  }

  /// - Parameter app: the app that it is of.
  public func reply(of app: HybridApp) -> DeviceRegistrationReply {
    DeviceRegistrationReply(
      deviceID: id.text, msisdn: number?.international, platform: platform.rawValue,
      registrationStatus: status.rawValue,
      created: Timestamp(createdAt), registeredForPushNotification: device != nil, appKey: app.key.text,
      appName: app.appID, userAgent: userAgent)
  }
}

/// A phone's request to make or change its registration.
public struct PhoneRequest: Sendable {
  let app: HybridApp
  /// The DeviceID header.
  let device: UUID?
  let platform: PhonePlatform
  let userAgent: String
  let signature: [UInt8]
  let bodyHash: [UInt8]
  let address: String

  /// Longest User-Agent that is kept, in characters.
  static let longestUserAgent = 500

  /// - Parameters:
  ///   - signature: of its MAC.
  ///   - body: its bytes, as they were sent.
  ///   - address: the client's.
  public init(
    of app: HybridApp, device: UUID?, platform: PhonePlatform, userAgent: String, signature: [UInt8],
    body: UnsafeRawBufferPointer, address: String
  ) {
    self.app = app
    self.device = device
    self.platform = platform
    self.userAgent = String(String.UnicodeScalarView(userAgent.unicodeScalars.prefix(Self.longestUserAgent)))
    self.signature = signature
    bodyHash = Array(SHA256.hash(data: Data(body)))
    self.address = address
  }
}

/// The store of phones of CM Hybrid Messaging: registers them, verifies their numbers by PIN, and makes them devices of their
/// numbers' contacts.
///
/// A number is the contact with the originalId `0031612345678`. Its phone is a device of that contact while the number is verified,
/// there is a push token, and notifications are on.
public struct PhoneRegistrations: Sendable {
  private let pool: Pool
  private let pins: PINs
  private let delivery: any PINDelivery
  private let pushApps: PushAppCache
  private let registrations: RegistrationBatcher

  public init(
    _ pool: Pool, pins: PINs, delivery: any PINDelivery, pushApps: PushAppCache, registrations: RegistrationBatcher
  ) {
    self.pool = pool
    self.pins = pins
    self.delivery = delivery
    self.pushApps = pushApps
    self.registrations = registrations
  }

  /// Requests end by then: phones would rather try again than wait.
  private var database: any Querying { pool.limited(to: .seconds(4)) }

  /// - Throws: `HybridError.deviceUnknown`, if the app has no such registration.
  public func find(_ app: HybridApp, _ device: UUID) async throws -> PhoneRegistration {
    let rows = try await database.query(PhoneRegistrationQueries.find, app.customer.rawValue, device, app.appID)
    guard let row = rows.first else { throw HybridError.deviceUnknown }
    return try PhoneRegistration(row)
  }

  /// Registers a phone, and sends a PIN if it gives its number. A verification code has no meaning yet.
  /// - Throws: `HybridError.invalid`, `.signatureReused`, `.tooManyPINs`, `.noSMS`: nothing is registered then.
  public func add(_ request: PhoneRequest, _ body: DeviceRegistrationBody) async throws -> PhoneRegistration {
    // Phones that have no DeviceID yet share their signatures of one second, and with them nothing can be taken over.
    if request.device != nil { try await checkSignature(request) }
    let change = try await checked(body, request)
    let number = change.number
    if number != nil { try await checkSMS(request) }
    let (added, pin) = try await pool.transaction { [self] transaction in
      let app = request.app
      let added = try PhoneRegistration(
        try await transaction.query(
          PhoneRegistrationQueries.add, app.customer.rawValue, app.appID, request.platform.rawValue, request.userAgent,
          change.token, change.isSandbox ?? false, change.wantsNotifications ?? true)[0])
      guard let number else { return (added, String?.none) }
      let (waiting, pin) = try await issuePIN(added.id, number, request, transaction)
      return (waiting, pin)
    }
    if let pin, let number { try await send(pin, to: number, request.app) }
    return added
  }

  /// Changes what the request names: token, number and flags. A number that is not verified gets a PIN; a verification code is tried.
  /// - Throws: `HybridError.deviceUnknown`, and as `add`.
  public func update(_ request: PhoneRequest, _ body: DeviceRegistrationBody) async throws -> PhoneRegistration {
    guard let id = request.device else { throw HybridError.deviceUnknown }
    let app = request.app
    // Unknown ids leave no signature behind.
    let before = try await find(app, id)
    try await checkSignature(request)
    let change = try await checked(body, request)
    var current = before
    if change.token != nil || change.isSandbox != nil || change.wantsNotifications != nil
      || request.userAgent != before.userAgent
    {
      let rows = try await database.query(
        PhoneRegistrationQueries.change, app.customer.rawValue, id, app.appID, change.token, change.isSandbox,
        change.wantsNotifications, request.userAgent)
      guard let row = rows.first else { throw HybridError.deviceUnknown }
      current = try PhoneRegistration(row)
    }
    let newNumber = change.number.flatMap { $0 == current.number ? nil : $0 }
    if let code = body.verificationCode, newNumber == nil {
      current = try await verify(code, current, app)
    } else if let number = change.number, newNumber != nil || current.status != .pinVerified {
      try await checkSMS(request)
      let (waiting, pin) = try await pool.transaction { [self] in try await issuePIN(id, number, request, $0) }
      current = waiting
      // The device of the number before goes first: the phone may never verify the new one.
      current = try await settle(current, app)
      try await send(pin, to: number, app)
      return current
    }
    return try await settle(
      current, app, again: change.token != nil || change.isSandbox != nil || before.status != current.status)
  }

  /// Has the number called, and the PIN spoken that the SMS had.
  /// - Throws: `HybridError.noPIN`, if none was sent to it, or it is no longer good; `.tooManyPINs`, `.noCalls`, `.invalid`.
  public func call(
    _ app: HybridApp, _ device: UUID, number text: String?, language: String?, address: String
  ) async throws {
    let registration = try await find(app, device)
    let language = try language.map { language in
      guard language.utf8.count >= 2, language.utf8.prefix(2).allSatisfy({ (0x61...0x7A).contains($0 | 0x20) }) else {
        throw HybridError.invalid(field: "language", problem: "must be two letters, such as nl")
      }
      return String(language.prefix(2)).lowercased()
    }
    guard let number = registration.number, let nonce = registration.pinNonce,
      registration.pinTries < PINs.maximumTries,
      try text.map({ try Self.number($0, field: "msisdn") == number }) ?? true
    else { throw HybridError.noPIN }
    try await pool.transaction { [self] transaction in
      let rows = try await transaction.query(
        PhoneRegistrationQueries.called, app.customer.rawValue, device, app.appID, Bytes(nonce))
      guard !rows.isEmpty else { throw HybridError.noPIN }
      try await take(.calls(number), app, transaction)
      try await take(.address(address, appID: app.appID), app, transaction)
    }
    let pin = pins.pin(app.customer, device, number, nonce: nonce)
    try await delivery.call(
      PINCall(number: number, text: app.voiceText, pin: pin, language: language), of: app.customer)
  }

  /// Deletes what is of no use any more: rates and signatures after a day, and events after `days`; nil for never.
  public static func forgetExpired(
    _ customer: CustomerID, eventsAfterDays days: Int32?, in database: any Querying
  ) async throws {
    for statement in [PhoneRegistrationQueries.forgetRates, PhoneRegistrationQueries.forgetSignatures] {
      try await database.query(statement, customer.rawValue)
    }
    if let days { try await database.query(PhoneRegistrationQueries.forgetEvents, customer.rawValue, days) }
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
    change.number = try body.msisdn.map { try Self.number($0, field: "Msisdn") }
    if var token = body.pushToken {
      // Some apps send an APNs token as iOS prints it.
      if request.platform == .iOS { token.removeAll { $0 == "<" || $0 == ">" || $0 == " " } }
      let type = try await pushApp(request.app, request.platform)?.type ?? request.platform.appTypes[0]
      change.token = try DeviceToken(token, type: type, field: "PushToken").text
    }
    return change
  }

  private static func number(_ text: String, field: String) throws -> PhoneNumber {
    guard let number = PhoneNumber(text) else {
      throw HybridError.invalid(
        field: field, problem: "must be a telephone number with its country code, such as 0031612345678")
    }
    return number
  }

  /// A signature covers no body and is good for minutes: whoever repeats one can only repeat the whole request.
  private func checkSignature(_ request: PhoneRequest) async throws {
    guard let id = request.device else { return }
    let first = try await database.query(
      PhoneRegistrationQueries.noteSignature, request.app.customer.rawValue, id, Bytes(request.signature),
      Bytes(request.bodyHash))[0].decode(Bytes.self)
    guard first.bytes == request.bodyHash else { throw HybridError.signatureReused }
  }

  private func checkSMS(_ request: PhoneRequest) async throws {
    guard try await delivery.canSend(request.app.customer) else { throw HybridError.noSMS }
  }

  // MARK: - PINs

  /// Starts the verification of a number over, with a new PIN.
  private func issuePIN(
    _ id: UUID, _ number: PhoneNumber, _ request: PhoneRequest, _ transaction: Transaction
  ) async throws -> (PhoneRegistration, String) {
    let app = request.app
    // The registration is locked first, and then the rates in one order, so that no two requests wait for each other.
    let nonce = PINs.nonce()
    let pin = pins.pin(app.customer, id, number, nonce: nonce)
    let rows = try await transaction.query(
      PhoneRegistrationQueries.issuePIN, app.customer.rawValue, id, app.appID, number.digits, Bytes(nonce),
      Bytes(pins.hash(app.customer, id, number, pin: pin)), Int32(PINs.lifetime.components.seconds))
    guard let row = rows.first else { throw HybridError.deviceUnknown }
    try await take(.number(number), app, transaction)
    try await take(.address(request.address, appID: app.appID), app, transaction)
    return (try PhoneRegistration(row), pin)
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

  private func send(_ pin: String, to number: PhoneNumber, _ app: HybridApp) async throws {
    try await delivery.send(
      app.pinText.replacing("{{pin}}", with: pin), from: app.sender, to: number, of: app.customer)
  }

  /// Tries a code. One statement counts and compares, so that no number of tries at once gets more than five.
  private func verify(
    _ code: String, _ registration: PhoneRegistration, _ app: HybridApp
  ) async throws -> PhoneRegistration {
    guard let number = registration.number, registration.status != .pinVerified,
      registration.pinTries < PINs.maximumTries
    else { return registration }
    let hash = pins.hash(app.customer, registration.id, number, pin: String(code.prefix(64)))
    let rows = try await database.query(
      PhoneRegistrationQueries.tryPIN, app.customer.rawValue, registration.id, app.appID, Bytes(hash),
      Int16(PINs.maximumTries))
    // None: meanwhile the number was verified, or all tries were used.
    guard let row = rows.first else { return try await find(app, registration.id) }
    return try PhoneRegistration(row)
  }

  // MARK: - Devices

  private func pushApp(_ app: HybridApp, _ platform: PhonePlatform) async throws -> PushApp? {
    let apps = try await pushApps.apps(app.customer, appID: app.appID)
    return platform.appTypes.lazy.compactMap { type in apps.first { $0.type == type } }.first
  }

  /// Makes the phone the device that it should be, and no other.
  /// - Parameter again: whether to register even what is registered already, as its token may have been retired.
  private func settle(
    _ registration: PhoneRegistration, _ app: HybridApp, again: Bool = false
  ) async throws -> PhoneRegistration {
    let pushApp = try await pushApp(app, registration.platform)
    let wanted = pushApp == nil ? nil : registration.wantedDevice
    guard wanted != registration.device || again && wanted != nil, let pushApp else { return registration }
    if let device = registration.device, device != wanted {
      var body = Self.body(device, registration, pushApp)
      body.deviceInfo[0].invalidationType = .byAppOrUser
      do {
        try await Devices(database).invalidate(app.customer, try Invalidation(body, apps: [pushApp]))
      } catch RegistryError.deviceUnknown {
        // Its token is another contact's by now.
      }
    }
    if let wanted {
      let body = Self.body(wanted, registration, pushApp)
      try await registrations.register(
        app.customer, try Registration(body, apps: [pushApp]), returnsContact: false)
    }
    guard wanted != registration.device else { return registration }
    let rows = try await database.query(
      PhoneRegistrationQueries.setDevice, app.customer.rawValue, registration.id, app.appID, wanted?.number.digits,
      wanted?.token)
    guard let row = rows.first else { throw HybridError.deviceUnknown }
    return try PhoneRegistration(row)
  }

  private static func body(
    _ device: PhoneRegistration.PhoneDevice, _ registration: PhoneRegistration, _ app: PushApp
  ) -> PushDevicesBody {
    var body = PushDevicesBody()
    body.originalId = device.number.international
    var info = PushDevicesBody.DeviceInfo()
    info.deviceToken = device.token
    info.appType = app.type
    info.sandboxToken = registration.isSandbox
    body.deviceInfo = [info]
    return body
  }
}

/// Statements on `hybrid_registration` and the tables of PINs. `$1` is the customer, `$2` the registration and `$3` its app, unless a
/// statement says otherwise.
enum PhoneRegistrationQueries {
  static let all: [Statement] = [
    find, add, change, issuePIN, tryPIN, called, setDevice, noteSignature, takeRate, waitForRate, forgetRates,
    forgetSignatures, forgetEvents,
  ]

  private static let columns = """
    registration_id, platform, user_agent, number, status, push_token, sandbox, notifications, pin_nonce, pin_tries,
    device_number, device_token, created_at
    """
  private static let one = "customer_id = $1::bigint AND registration_id = $2::uuid AND app_id = $3::text"
  /// The database's clock, apart from the rows that are changed: on Citus it is read once.
  private static let clock = "(SELECT now() AS at OFFSET 0) AS clock"

  static let find = Statement(
    "hybrid_registration.find", .read, "SELECT \(columns) FROM hybrid_registration WHERE \(one)")

  /// `$2` is the app.
  static let add = Statement(
    "hybrid_registration.add", .write,
    """
    INSERT INTO hybrid_registration (customer_id, app_id, platform, user_agent, push_token, sandbox, notifications)
    VALUES ($1::bigint, $2::text, $3::text, $4::text, $5::text, $6::bool, $7::bool)
    RETURNING \(columns)
    """)

  /// NULL leaves a column as it is.
  static let change = Statement(
    "hybrid_registration.change", .write,
    """
    UPDATE hybrid_registration
    SET push_token = coalesce($4::text, push_token), sandbox = coalesce($5::bool, sandbox),
      notifications = coalesce($6::bool, notifications), user_agent = $7::text
    WHERE \(one)
    RETURNING \(columns)
    """)

  /// Starts the verification of the number `$4` over. Locks the registration.
  static let issuePIN = Statement(
    "hybrid_registration.issue_pin", .write,
    """
    WITH issued AS (
      UPDATE hybrid_registration
      SET number = $4::text, status = 'WaitingForPin', verified_at = NULL, pin_nonce = $5::bytea, pin_hash = $6::bytea,
        pin_expires_at = now() + make_interval(secs => $7::int4), pin_tries = 0
      WHERE \(one)
      RETURNING \(columns)
    ),
    event AS (
      INSERT INTO hybrid_pin_event (customer_id, number, app_id, registration_id, kind)
      SELECT $1::bigint, number, $3::text, registration_id, 'sent' FROM issued
    )
    SELECT \(columns) FROM issued
    """)

  /// Compares the hash `$4` with that of the PIN, if fewer than `$5` codes were tried for it. A try counts before its result is known.
  static let tryPIN = Statement(
    "hybrid_registration.try_pin", .write,
    """
    WITH tried AS (
      UPDATE hybrid_registration
      SET pin_tries = pin_tries + 1,
        status = CASE WHEN pin_hash = $4::bytea AND pin_expires_at > clock.at THEN 'PinVerified'
                      ELSE 'LastPinVerificationFailed' END,
        verified_at = CASE WHEN pin_hash = $4::bytea AND pin_expires_at > clock.at THEN clock.at END,
        pin_nonce = CASE WHEN pin_hash = $4::bytea AND pin_expires_at > clock.at THEN NULL ELSE pin_nonce END,
        pin_hash = CASE WHEN pin_hash = $4::bytea AND pin_expires_at > clock.at THEN NULL ELSE pin_hash END
      FROM \(clock)
      WHERE \(one) AND pin_hash IS NOT NULL AND pin_tries < $5::int2
      RETURNING \(columns)
    ),
    event AS (
      INSERT INTO hybrid_pin_event (customer_id, number, app_id, registration_id, kind)
      SELECT $1::bigint, number, $3::text, registration_id, CASE WHEN status = 'PinVerified' THEN 'verified' ELSE 'failed' END
      FROM tried
    )
    SELECT \(columns) FROM tried
    """)

  /// Notes a call, if the PIN of the nonce `$4` is still good. Locks the registration.
  static let called = Statement(
    "hybrid_registration.called", .write,
    """
    WITH called AS (
      UPDATE hybrid_registration SET pin_nonce = pin_nonce
      WHERE \(one) AND pin_nonce = $4::bytea AND pin_expires_at > now()
      RETURNING registration_id, number
    )
    INSERT INTO hybrid_pin_event (customer_id, number, app_id, registration_id, kind)
    SELECT $1::bigint, number, $3::text, registration_id, 'called' FROM called
    RETURNING event_no
    """)

  static let setDevice = Statement(
    "hybrid_registration.set_device", .write,
    "UPDATE hybrid_registration SET device_number = $4::text, device_token = $5::text WHERE \(one) RETURNING \(columns)"
  )

  /// Gives the hash of the body that the signature `$3` came with first.
  static let noteSignature = Statement(
    "hybrid_registration.note_signature", .write,
    """
    INSERT INTO hybrid_signature AS s (customer_id, registration_id, signature, body_hash)
    VALUES ($1::bigint, $2::uuid, $3::bytea, $4::bytea)
    ON CONFLICT (customer_id, registration_id, signature) DO UPDATE SET body_hash = s.body_hash
    RETURNING body_hash
    """)

  /// Notes that the subject `$2` gets a PIN now, unless it got `$3` in the last hour or `$4` in the last day. Locks its row.
  static let takeRate = Statement(
    "hybrid_registration.take_rate", .write,
    """
    INSERT INTO hybrid_pin_rate AS r (customer_id, subject, sent_at)
    VALUES ($1::bigint, $2::text, ARRAY[now()])
    ON CONFLICT (customer_id, subject) DO UPDATE SET sent_at = (array_cat(excluded.sent_at, r.sent_at))[1:20]
      WHERE (r.sent_at[$3::int4] IS NULL OR excluded.sent_at[1] - r.sent_at[$3::int4] >= interval '1 hour')
        AND (r.sent_at[$4::int4] IS NULL OR excluded.sent_at[1] - r.sent_at[$4::int4] >= interval '1 day')
    RETURNING 1
    """)

  /// Seconds until the subject `$2` may get a PIN again, by the same limits.
  static let waitForRate = Statement(
    "hybrid_registration.wait_for_rate", .read,
    """
    SELECT ceil(extract(epoch FROM greatest(sent_at[$3::int4] + interval '1 hour', sent_at[$4::int4] + interval '1 day') - now()))::int8
    FROM hybrid_pin_rate WHERE customer_id = $1::bigint AND subject = $2::text
    """)

  static let forgetRates = Statement(
    "hybrid_registration.forget_rates", .write,
    "DELETE FROM hybrid_pin_rate WHERE customer_id = $1::bigint AND sent_at[1] < now() - interval '1 day'")

  static let forgetSignatures = Statement(
    "hybrid_registration.forget_signatures", .write,
    "DELETE FROM hybrid_signature WHERE customer_id = $1::bigint AND at < now() - interval '1 day'")

  /// Those that are older than `$2` days.
  static let forgetEvents = Statement(
    "hybrid_registration.forget_events", .write,
    "DELETE FROM hybrid_pin_event WHERE customer_id = $1::bigint AND at < now() - make_interval(days => $2::int4)")
}

extension PhoneRegistration {
  init(_ row: Row) throws {
    let (
      id, platform, userAgent, number, status, token, isSandbox, notifications, nonce, tries, deviceNumber, deviceToken,
      createdAt
    ) = try row.decode(
      UUID.self, String.self, String.self, String?.self, String.self, String?.self, Bool.self, Bool.self, Bytes?.self,
      Int16.self, String?.self, String?.self, Date.self)
    self.init(
      id: id, platform: PhonePlatform(rawValue: platform) ?? .android, userAgent: userAgent,
      number: number.flatMap { PhoneNumber($0) }, status: VerificationStatus(rawValue: status) ?? .unverified,
      pushToken: token, isSandbox: isSandbox, wantsNotifications: notifications, pinNonce: nonce?.bytes,
      pinTries: tries,
      device: deviceNumber.flatMap { PhoneNumber($0) }.flatMap { number in
        deviceToken.map { PhoneDevice(number: number, token: $0) }
      }, createdAt: createdAt)
  }
}
