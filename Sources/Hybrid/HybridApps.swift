public import FoundationEssentials
import Outbox
public import Postgres
public import Registry
public import Wire

/// An app of CM Hybrid Messaging: its phones are reached by their numbers. It stands for all platforms of its appId.
public struct HybridApp: Sendable, Equatable {
  public let customer: CustomerID
  public let appID: String
  /// What people call it: the name of the first of its push apps. The app id where it was not read.
  public internal(set) var name: String
  /// Names the app in requests of phones and gateways.
  public let key: UUID
  /// Of messages that name none.
  public let messageType: HybridMessageType
  /// Of PINs by SMS; nil for the provider's own.
  public let sender: String?
  /// `{{pin}}` stands for the PIN, here and below.
  public let pinText: String
  public let voiceText: String
  /// A push to a phone that no longer gets the messages of its number.
  public let movedText: String
  /// Of new PINs.
  public let pinDigits: Int
  /// Of moments that phones send without a zone, as PostgreSQL knows it.
  public let clockZone: String
  /// Most PINs for all its phones.
  public let pinsPerHour: Int
  /// Most of its phones that register, from whatever address.
  public let registrationsPerHour: Int
  /// Gets status reports; nil for nobody.
  public let statusURL: String?
  let sealedSecret: [UInt8]
  let sealedPreviousSecret: [UInt8]?
  let createdAt: Date
  let updatedAt: Date

  /// The secrets that requests can be signed with: the current one, and the one before it.
  /// - Throws: `RegistryError.sealed` when no master key at hand opens them.
  func secrets(_ vault: Vault) throws -> [Secret] {
    let context = SealedColumn.appSecret.place(customer, appID)
    return try [sealedSecret, sealedPreviousSecret].compactMap(\.self)
      .map { try vault.open(Sealed(joined: $0), context: context) }
  }

  var reply: HybridAppReply {
    HybridAppReply(
      appId: appID, appKey: key.text, messageType: messageType, sender: sender, pinText: pinText, voiceText: voiceText,
      movedText: movedText, pinDigits: pinDigits, clockZone: clockZone, pinsPerHour: pinsPerHour,
      registrationsPerHour: registrationsPerHour, statusUrl: statusURL.map { ShownURL($0) },
      hasPreviousSecret: sealedPreviousSecret != nil,
      createdAt: Timestamp(createdAt), updatedAt: Timestamp(updatedAt))
  }
}

extension UUID {
  /// A new app key: a UUID of version 8 (RFC 9562) whose first 48 bits are the customer's number. The rest is random.
  static func appKey(of customer: CustomerID) -> UUID {
    var bytes = UUID().uuid
    withUnsafeMutableBytes(of: &bytes) { bytes in
      for index in 0..<6 { bytes[index] = UInt8(truncatingIfNeeded: customer.rawValue >> (40 - 8 * Int64(index))) }
      bytes[6] = bytes[6] & 0x0F | 0x80
    }
    return UUID(uuid: bytes)
  }

  /// The customer whose app this key may name; nil for a UUID that is no app key.
  package var customerOfAppKey: CustomerID? {
    guard uuid.6 >> 4 == 8 else { return nil }
    let number = withUnsafeBytes(of: uuid) { $0.prefix(6).reduce(Int64(0)) { $0 << 8 | Int64($1) } }
    return number > 0 ? CustomerID(number) : nil
  }

  /// In lower-case letters, as GUIDs stand in replies.
  package var text: String {
    String(unsafeUninitializedCapacity: 36) { text in
      var count = 0
      func add(_ byte: UInt8) {
        text[count] = byte
        count += 1
      }
      withUnsafeBytes(of: uuid) { bytes in
        for (index, byte) in bytes.enumerated() {
          if [4, 6, 8, 10].contains(index) { add(UInt8(ascii: "-")) }
          add(UInt8(hexDigit: byte >> 4))
          add(UInt8(hexDigit: byte & 15))
        }
      }
      return count
    }
  }
}

/// The store of apps of CM Hybrid Messaging.
public struct HybridApps: Sendable {
  private let database: any Querying

  public init(_ database: any Querying) { self.database = database }

  /// All apps of the customer, by their appIds.
  public func all(_ customer: CustomerID) async throws -> [HybridAppReply] {
    let apps = try await database.query(HybridAppQueries.list, customer.rawValue).map { try HybridApp($0, customer) }
    return try await withAlarms(apps, of: customer)
  }

  /// Whether Hybrid Messaging is enabled for the app.
  package func isEnabled(_ customer: CustomerID, appID: String) async throws -> Bool {
    try await !database.query(HybridAppQueries.find, customer.rawValue, appID).isEmpty
  }

  /// - Throws: `HybridError.appUnknown`.
  public func find(_ customer: CustomerID, appID: String) async throws -> HybridAppReply {
    guard let row = try await database.query(HybridAppQueries.find, customer.rawValue, appID).first else {
      throw HybridError.appUnknown(appID: appID)
    }
    return try await withAlarms([try HybridApp(row, customer)], of: customer)[0]
  }

  /// An app has an alarm if within the last hour more codes were wrong than right, and so many that it is no accident.
  private func withAlarms(_ apps: [HybridApp], of customer: CustomerID) async throws -> [HybridAppReply] {
    let rows = try await database.query(HybridAppQueries.wrongCodes, customer.rawValue, apps.map(\.appID))
    var alarms: [String: HybridAppAlarm] = [:]
    for row in rows {
      let (appID, wrong, all, since) = try row.decode(String.self, Int64.self, Int64.self, Date?.self)
      guard wrong >= Self.fewestWrongCodes, 2 * wrong > all, let since else { continue }
      alarms[appID] = HybridAppAlarm(
        reason: "\(wrong) of the \(all) codes of the last hour were wrong. Somebody may be guessing PINs.",
        since: Timestamp(since))
    }
    return apps.map { app in
      var reply = app.reply
      reply.alarm = alarms[app.appID]
      return reply
    }
  }

  private static let fewestWrongCodes: Int64 = 10

  /// Apps whose address does not take status reports: how many wait after three attempts, and since when.
  package func failingReports(
    _ customer: CustomerID
  ) async throws -> [(appID: String, waiting: Int, since: Date)] {
    try await database.query(StatusReportQueries.failing, customer.rawValue).map { row in
      try row.decode(String.self, Int.self, Date.self)
    }
  }

  /// Phones of an app in the order of their numbers.
  /// - Parameter number: only those that gave this telephone number last; nil for all.
  /// - Throws: `HybridError.appUnknown`.
  public func phones(
    _ customer: CustomerID, appID: String, number: PhoneNumber? = nil,
    _ page: PageRequest<RegistrationID> = PageRequest()
  ) async throws -> Page<HybridPhoneReply, RegistrationID> {
    guard try await database.query(HybridAppQueries.find, customer.rawValue, appID).first != nil else {
      throw HybridError.appUnknown(appID: appID)
    }
    let rows = try await database.query(
      PhoneRegistrationQueries.list, customer.rawValue, appID, page.after?.rawValue, Int64(page.limit + 1),
      number?.digits)
    return page.page(of: try rows.map { try HybridPhoneReply($0) }, cursor: \.registrationId)
  }

  /// The app that a key names; nil if there is none.
  func find(key: UUID) async throws -> HybridApp? {
    guard let customer = key.customerOfAppKey else { return nil }
    guard let row = try await database.query(HybridAppQueries.ofKey, customer.rawValue, key).first else { return nil }
    var app = try HybridApp(row, customer)
    if let named = try await PushApps(database).list(customer).first(where: { $0.appID == app.appID }) {
      app.name = named.name
    }
    return app
  }

  /// The first of the customer's apps that has an address for status reports; nil if none has.
  func reporting(_ customer: CustomerID) async throws -> String? {
    try await database.query(HybridAppQueries.reporting, customer.rawValue).first?.decode(String.self)
  }

  /// Enables Hybrid Messaging for an app. Hubs are notified, here and below.
  /// - Returns: what its phones sign with, and the app.
  /// - Throws: `HybridError.appTaken`, `.invalid`; `RegistryError.appUnknown`.
  public func enable(
    _ customer: CustomerID, _ request: HybridAppRequest, vault: Vault
  ) async throws -> (issued: IssuedHybridApp, app: HybridAppReply) {
    let appID = request.appId ?? ""
    guard try await PushApps(database).list(customer).contains(where: { $0.appID == appID }) else {
      throw RegistryError.appUnknown(appID: appID)
    }
    let settings = try await checked(
      HybridAppRequest(
        messageType: request.messageType ?? .standard, sender: request.sender ?? "", pinText: request.pinText ?? "",
        voiceText: request.voiceText ?? "", movedText: request.movedText ?? "",
        pinDigits: request.pinDigits ?? HybridAppRequest.defaultPINDigits, clockZone: request.clockZone ?? "UTC",
        pinsPerHour: request.pinsPerHour ?? HybridAppRequest.defaultPINsPerHour,
        registrationsPerHour: request.registrationsPerHour ?? HybridAppRequest.defaultRegistrationsPerHour,
        statusUrl: request.statusUrl ?? ""))
    let (key, secret) = (UUID.appKey(of: customer), UUID().text)
    let sealed = try vault.seal(Secret(secret), context: SealedColumn.appSecret.place(customer, appID))
    let rows = try await database.query(
      HybridAppQueries.add, customer.rawValue, appID, key, settings.messageType?.rawValue, settings.sender,
      settings.pinText, settings.voiceText, settings.clockZone, settings.statusUrl, Bytes(sealed.joined),
      settings.pinsPerHour.map { Int32($0) }, settings.movedText, settings.pinDigits.map { Int16($0) },
      settings.registrationsPerHour.map { Int32($0) })
    guard let row = rows.first else { throw HybridError.appTaken(appID: appID) }
    try await database.notify(.hybridApp, customer.description)
    return (
      IssuedHybridApp(appKey: key.text, appSecret: secret, appId: appID), try HybridApp(row, customer).reply
    )
  }

  /// Changes settings; `nil` leaves one as it is. Status reports that wait are deleted with the address that they are for. It locks the
  /// app's row, so the caller has to run it in a transaction.
  /// - Throws: `HybridError.appUnknown`, `.invalid`.
  public func change(
    _ customer: CustomerID, appID: String, _ request: HybridAppRequest
  ) async throws -> (before: HybridAppReply, after: HybridAppReply) {
    let before = try await lock(customer, appID)
    let settings = try await checked(request)
    let row = try await database.query(
      HybridAppQueries.change, customer.rawValue, appID, settings.messageType?.rawValue, settings.sender,
      settings.pinText, settings.voiceText, settings.clockZone, settings.statusUrl,
      settings.pinsPerHour.map { Int32($0) }, settings.movedText, settings.pinDigits.map { Int16($0) },
      settings.registrationsPerHour.map { Int32($0) })[0]
    let after = try HybridApp(row, customer)
    if after.statusURL == nil, before.statusURL != nil {
      try await PostQueue(database).delete(StatusReports.lane(customer, appID))
    }
    try await database.notify(.hybridApp, customer.description)
    return (before.reply, after.reply)
  }

  /// Makes a new secret. The one before it signs until the next rotation, so that installed apps go on.
  /// - Throws: `HybridError.appUnknown`.
  public func rotate(
    _ customer: CustomerID, appID: String, vault: Vault
  ) async throws -> (issued: IssuedHybridApp, before: HybridAppReply, after: HybridAppReply) {
    let before = try await lock(customer, appID)
    let secret = UUID().text
    let sealed = try vault.seal(Secret(secret), context: SealedColumn.appSecret.place(customer, appID))
    let row = try await database.query(
      HybridAppQueries.rotate, customer.rawValue, appID, Bytes(sealed.joined))[0]
    try await database.notify(.hybridApp, customer.description)
    return (
      IssuedHybridApp(appKey: before.key.text, appSecret: secret, appId: appID), before.reply,
      try HybridApp(row, customer).reply
    )
  }

  private func lock(_ customer: CustomerID, _ appID: String) async throws -> HybridApp {
    guard let row = try await database.query(HybridAppQueries.lock, customer.rawValue, appID).first else {
      throw HybridError.appUnknown(appID: appID)
    }
    return try HybridApp(row, customer)
  }

  private func checked(_ request: HybridAppRequest) async throws -> HybridAppRequest {
    var settings = request
    if let sender = request.sender, !sender.isEmpty {
      guard SMSAccount.isSender(sender) else {
        throw HybridError.invalid(field: "sender", problem: SMSAccount.senderRule)
      }
    }
    settings.pinText = try Self.text(request.pinText, field: "pinText")
    settings.voiceText = try Self.text(request.voiceText, field: "voiceText")
    settings.movedText = try request.movedText.map { text in
      guard !text.isEmpty else { return HybridAppReply.movedTextOfHub }
      return try TextRule("movedText", maximum: 300, allowsControls: true).require(text)
    }
    if let digits = request.pinDigits, !PINs.lengths.contains(digits) {
      throw HybridError.invalid(field: "pinDigits", problem: "must be a whole number from 4 to 8")
    }
    if let zone = request.clockZone {
      guard zone.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }),
        try await database.query(HybridAppQueries.knowsZone, zone)[0].decode(Bool.self)
      else {
        throw HybridError.invalid(field: "clockZone", problem: "must be a time zone such as Europe/Amsterdam")
      }
    }
    for (field, limit) in [
      ("pinsPerHour", request.pinsPerHour), ("registrationsPerHour", request.registrationsPerHour),
    ] {
      if let limit, !(1...1_000_000).contains(limit) {
        throw HybridError.invalid(field: field, problem: "must be a whole number from 1 to 1000000")
      }
    }
    if let url = request.statusUrl, !url.isEmpty {
      guard (try? PushEndpoint(url: url)) != nil else {
        throw HybridError.invalid(field: "statusUrl", problem: "must be an https address without a user name")
      }
    }
    return settings
  }

  private static func text(_ text: String?, field: String) throws -> String? {
    guard let text else { return nil }
    guard !text.isEmpty else { return "Your code is {{pin}}" }
    guard text.contains("{{pin}}") else {
      throw HybridError.invalid(field: field, problem: "must hold {{pin}}, which stands for the PIN")
    }
    return try TextRule(field, maximum: 300, allowsControls: true).require(text)
  }
}

/// Statements on `hybrid_app`. `$1` is the customer; where one app is meant, `$2` is its app id.
enum HybridAppQueries {
  static let all: [Statement] = [add, change, rotate, lock, list, find, ofKey, reporting, knowsZone, wrongCodes]

  private static let columns = """
    app_id, app_key, message_type, sender, pin_text, voice_text, moved_text, pin_digits, clock_zone, pins_per_hour,
    registrations_per_hour, status_url, secret, previous_secret, created_at, updated_at
    """

  /// Adds nothing if there is one.
  static let add = Statement(
    "hybrid_app.add", .write,
    """
    INSERT INTO hybrid_app (customer_id, app_id, app_key, message_type, sender, pin_text, voice_text, clock_zone, status_url,
      secret, pins_per_hour, moved_text, pin_digits, registrations_per_hour)
    VALUES ($1::bigint, $2::text, $3::uuid, $4::text, nullif($5::text, ''), $6::text, $7::text, $8::text,
      nullif($9::text, ''), $10::bytea, $11::int4, $12::text, $13::int2, $14::int4)
    ON CONFLICT (customer_id, app_id) DO NOTHING
    RETURNING \(columns)
    """)

  /// NULL leaves a setting as it is.
  static let change = Statement(
    "hybrid_app.change", .write,
    """
    UPDATE hybrid_app
    SET message_type = coalesce($3::text, message_type), sender = nullif(coalesce($4::text, sender), ''),
      pin_text = coalesce($5::text, pin_text), voice_text = coalesce($6::text, voice_text),
      clock_zone = coalesce($7::text, clock_zone), status_url = nullif(coalesce($8::text, status_url), ''),
      pins_per_hour = coalesce($9::int4, pins_per_hour), moved_text = coalesce($10::text, moved_text),
      pin_digits = coalesce($11::int2, pin_digits),
      registrations_per_hour = coalesce($12::int4, registrations_per_hour), updated_at = now()
    WHERE customer_id = $1::bigint AND app_id = $2::text
    RETURNING \(columns)
    """)

  static let rotate = Statement(
    "hybrid_app.rotate", .write,
    """
    UPDATE hybrid_app SET previous_secret = secret, secret = $3::bytea, updated_at = now()
    WHERE customer_id = $1::bigint AND app_id = $2::text
    RETURNING \(columns)
    """)

  /// Locks the app until the transaction ends.
  static let lock = Statement(
    "hybrid_app.lock", .write,
    "SELECT \(columns) FROM hybrid_app WHERE customer_id = $1::bigint AND app_id = $2::text FOR NO KEY UPDATE")

  static let list = Statement(
    "hybrid_app.list", .read, "SELECT \(columns) FROM hybrid_app WHERE customer_id = $1::bigint ORDER BY app_id")

  static let find = Statement(
    "hybrid_app.find", .read,
    "SELECT \(columns) FROM hybrid_app WHERE customer_id = $1::bigint AND app_id = $2::text")

  static let ofKey = Statement(
    "hybrid_app.of_key", .read,
    "SELECT \(columns) FROM hybrid_app WHERE customer_id = $1::bigint AND app_key = $2::uuid")

  static let reporting = Statement(
    "hybrid_app.reporting", .read,
    """
    SELECT app_id FROM hybrid_app WHERE customer_id = $1::bigint AND status_url IS NOT NULL ORDER BY app_id LIMIT 1
    """)

  /// Of the apps `$2`: wrong codes of the last hour, all codes, and when the first of the wrong ones came.
  static let wrongCodes = Statement(
    "hybrid_app.wrong_codes", .read,
    """
    SELECT app_id, count(*) FILTER (WHERE kind = 'failed'), count(*), min(at) FILTER (WHERE kind = 'failed')
    FROM hybrid_pin_event
    WHERE customer_id = $1::bigint AND app_id = ANY ($2::text[]) AND at > now() - interval '1 hour'
      AND kind IN ('failed', 'verified')
    GROUP BY app_id
    """)

  static let knowsZone = Statement(
    "hybrid_app.knows_zone", .read, "SELECT EXISTS (SELECT FROM pg_timezone_names WHERE name = $1::text)")
}

extension HybridApp {
  init(_ row: Row, _ customer: CustomerID) throws {
    let (
      appID, key, type, sender, pinText, voiceText, movedText, pinDigits, clockZone, pinsPerHour, registrationsPerHour,
      statusURL, secret, previous, createdAt, updatedAt
    ) = try row.decode(
      String.self, UUID.self, String.self, String?.self, String.self, String.self, String.self, Int16.self,
      String.self, Int32.self, Int32.self, String?.self, Bytes.self, Bytes?.self, Date.self, Date.self)
    self.init(
      customer: customer, appID: appID, name: appID, key: key,
      messageType: HybridMessageType(rawValue: type) ?? .standard,
      sender: sender, pinText: pinText, voiceText: voiceText, movedText: movedText,
      pinDigits: Int(pinDigits), clockZone: clockZone, pinsPerHour: Int(pinsPerHour),
      registrationsPerHour: Int(registrationsPerHour), statusURL: statusURL,
      sealedSecret: secret.bytes, sealedPreviousSecret: previous?.bytes, createdAt: createdAt, updatedAt: updatedAt)
  }
}

extension SealedColumn {
  package static let hybrid = [appSecret, previousAppSecret]

  fileprivate static let appSecret = SealedColumn("hybrid_app", "secret", key: ["app_id": "text"], isJoined: true)
  private static let previousAppSecret = SealedColumn(
    "hybrid_app", "previous_secret", key: ["app_id": "text"], isJoined: true)
}
