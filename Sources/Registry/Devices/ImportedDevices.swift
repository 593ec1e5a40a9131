package import Postgres
package import Wire

/// A token that comes from a file, and whose it is.
package struct ImportedDevice: Sendable {
  package let originalID: String
  package let app: PushApp
  package let token: DeviceToken
  package let isSandbox: Bool

  package init(originalID: String, app: PushApp, token: DeviceToken, isSandbox: Bool) {
    self.originalID = originalID
    self.app = app
    self.token = token
    self.isSandbox = isSandbox
  }
}

/// Registers tokens that come from files, within a caller's transaction, by the statement of all registrations.
package struct ImportedDevices: Sendable {
  private let database: any Querying

  /// - Parameter database: the transaction.
  package init(_ database: any Querying) { self.database = database }

  /// Registers those that may be. A token that is invalid already stays so, as it says more than a file does. One that was registered since
  /// `moment` keeps its contact.
  /// - Parameter isTrial: whether nothing is written.
  /// - Returns: how many it registered, or would.
  /// - Throws: what a lone registration is tried again after; then the transaction is over, and all of it is to be run again.
  package func register(
    _ customer: CustomerID, _ devices: [ImportedDevice], asOf moment: PostgresTimestamp, isTrial: Bool
  ) async throws -> Int {
    guard !devices.isEmpty else { return 0 }
    var parameters = ParameterBuffer()
    parameters.append(customer.rawValue)
    parameters.append(each: devices) { $0.app.id.rawValue }
    parameters.append(each: devices) { Bytes($0.token.key) }
    parameters.append(moment)
    let kept = try await database.run(ImportedDeviceQueries.kept, parameters)
    let left = Set(try kept.map { try $0.decode(Int.self) })
    let wanted = devices.indices.filter { !left.contains($0 + 1) }.map { devices[$0] }
    if !isTrial {
      for wave in Self.waves(wanted) {
        let requests = try wave.map { RegistrationRequest(try Registration($0), returnsContact: false) }
        for outcome in try await RegisterBatch(customer, requests).run(on: database) { _ = try outcome.get() }
      }
    }
    return wanted.count
  }

  /// Whether somebody else wrote what a registration was about, so that it is to be run again.
  package static func isRaced(_ error: any Error) -> Bool { error is RegistrationRaced || error is AppUnknown }

  /// Devices in groups that a statement takes: none has a contact or a token twice.
  private static func waves(_ devices: [ImportedDevice]) -> [[ImportedDevice]] {
    struct Key: Hashable {
      let app: PushAppID
      let token: DeviceToken
    }
    var waves: [[ImportedDevice]] = []
    var rest = devices
    while !rest.isEmpty {
      var (wave, later): ([ImportedDevice], [ImportedDevice]) = ([], [])
      var (contacts, tokens) = (Set<UTF8String>(), Set<Key>())
      for device in rest {
        let key = Key(app: device.app.id, token: device.token)
        let contact = UTF8String(device.originalID)
        if wave.count == RegistrationBatcher.maximumDevices || contacts.contains(contact) || tokens.contains(key) {
          later.append(device)
        } else {
          contacts.insert(contact)
          tokens.insert(key)
          wave.append(device)
        }
      }
      waves.append(wave)
      rest = later
    }
    return waves
  }
}

extension Registration {
  /// - Throws: `RegistryError.invalid`.
  fileprivate init(_ device: ImportedDevice) throws(RegistryError) {
    var info = PushDevicesBody.DeviceInfo(deviceToken: device.token.text, appType: device.app.type)
    info.sandboxToken = device.isSandbox
    try self.init(PushDevicesBody(originalId: device.originalID, deviceInfo: [info]), apps: [device.app])
  }
}

extension EndpointRules {
  /// What is wrong with where a token leads, for a sentence that begins with the token's name; `nil` if nothing is.
  package func problem(with token: DeviceToken, of type: AppType) -> String? {
    token.endpoint.flatMap { (type == .web ? webPush : wns).problem(with: $0) }
  }
}

/// Statements of `ImportedDevices`.
enum ImportedDeviceQueries {
  /// Which of the tokens with the apps `$2` and the keys `$3` stay as they are: those that are invalid, and those that were registered since
  /// `$4`. Locks what is known of them, in the order of registrations.
  static let kept = Statement(
    "device.keep_imported", .write,
    """
    SELECT i.ordinal
      FROM (SELECT * FROM unnest($2::bigint[], $3::bytea[]) WITH ORDINALITY AS i(push_app_id, token_key, ordinal)
             ORDER BY push_app_id, token_key) AS i
     CROSS JOIN LATERAL (
       SELECT invalidation_type, registered_at FROM device
        WHERE customer_id = $1::bigint AND push_app_id = i.push_app_id AND token_key = i.token_key LIMIT 1 FOR NO KEY UPDATE) AS d
     WHERE d.invalidation_type <> 0 OR d.registered_at > $4::timestamptz
    """)

  static let all = [kept]
}
