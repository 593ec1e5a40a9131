import FoundationEssentials
import Postgres
import Registry
import Wire

/// Makes phones the devices of their numbers' contacts that they should be.
struct PhoneDevices: Sendable {
  let database: any Querying
  let pushApps: PushAppCache
  let registrations: RegistrationBatcher

  /// The app whose devices such phones are; nil if there is none.
  func pushApp(_ app: HybridApp, _ platform: PhonePlatform) async throws -> PushApp? {
    let apps = try await pushApps.apps(app.customer, appID: app.appID)
    return platform.appTypes.lazy.compactMap { type in apps.first { $0.type == type } }.first
  }

  /// Makes the phone the device that it should be, and no other.
  /// - Parameter again: whether to register even what is registered already, as its token may have been retired.
  func settle(
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
