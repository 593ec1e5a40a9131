import FoundationEssentials
import Postgres
import Registry
import Wire

/// Registers phones as devices of their numbers' contacts.
struct PhoneDevices: Sendable {
  let database: any Querying
  let pushApps: PushAppCache
  let registrations: RegistrationBatcher
  let delivery: PINDelivery

  /// The app whose devices such phones are; nil if there is none.
  func pushApp(_ app: HybridApp, _ platform: PhonePlatform) async throws -> PushApp? {
    let apps = try await pushApps.apps(app.customer, appID: app.appID)
    return platform.appTypes.lazy.compactMap { type in apps.first { $0.type == type } }.first
  }

  /// Registers the phone as the device that its registration asks for, and removes any other.
  ///
  /// Another request may change the registration meanwhile, and see no device that this one is about to register. So what is registered
  /// counts only if the registration still is as it was read; else it is undone, and settled again.
  /// - Parameter again: whether to register even what is registered already, as its token may have been retired.
  func settle(
    _ registration: PhoneRegistration, _ app: HybridApp, again: Bool = false
  ) async throws -> PhoneRegistration {
    guard let pushApp = try await pushApp(app, registration.platform) else { return registration }
    var (registration, again) = (registration, again)
    for _ in 1...Self.mostTries {
      let wanted = registration.wantedDevice
      guard wanted != registration.device || again && wanted != nil else { return registration }
      if let device = registration.device, device != wanted {
        await notify(device, app, pushApp)
        try await invalidate(device, registration, app, pushApp)
      }
      if let wanted {
        let body = Self.body(wanted, registration, pushApp)
        try await registrations.register(
          app.customer, try Registration(body, apps: [pushApp]), returnsContact: false)
      }
      let settled = try await database.query(
        PhoneRegistrationQueries.setDevice, app.customer.rawValue, registration.id.rawValue, app.appID,
        wanted?.number.digits,
        wanted?.token, registration.number?.digits, registration.status.rawValue, registration.pushToken,
        registration.isSandbox, registration.wantsNotifications, registration.device?.number.digits,
        registration.device?.token)
      if let row = settled.first { return try PhoneRegistration(row) }
      let found = try await database.query(
        PhoneRegistrationQueries.find, app.customer.rawValue, registration.id.rawValue, app.appID)
      guard let row = found.first else { throw HybridError.deviceUnknown }
      registration = try PhoneRegistration(row)
      again = false
      if let wanted, wanted != registration.wantedDevice, wanted != registration.device {
        try await invalidate(wanted, registration, app, pushApp)
      }
    }
    // A client that keeps changing it settles it as well.
    return registration
  }

  /// Attempts to settle a registration that others keep changing.
  private static let mostTries = 5

  /// Notifies a phone that it is about to lose its number. This comes before the change, since nothing is sent to an invalid device.
  ///
  /// The change does not depend on it: it shows an owner what somebody else has done. A token that is another contact's by now gets nothing.
  private func notify(_ device: PhoneRegistration.PhoneDevice, _ app: HybridApp, _ pushApp: PushApp) async {
    guard let token = try? DeviceToken(device.token, type: pushApp.type, field: "PushToken"),
      let held = try? await Devices(database).recipient(app.customer, pushApp.id, token),
      held.contact.originalID == device.number.international, held.device.invalidatedAt == nil
    else { return }
    try? await delivery.notify(app.movedText, device.number, token: device.token, in: pushApp)
  }

  private func invalidate(
    _ device: PhoneRegistration.PhoneDevice, _ registration: PhoneRegistration, _ app: HybridApp, _ pushApp: PushApp
  ) async throws {
    var body = Self.body(device, registration, pushApp)
    body.deviceInfo[0].invalidationType = .byAppOrUser
    do {
      try await Devices(database).invalidate(app.customer, try Invalidation(body, apps: [pushApp]))
    } catch RegistryError.deviceUnknown {
      // Its token is another contact's by now.
    }
  }

  private static func body(
    _ device: PhoneRegistration.PhoneDevice, _ registration: PhoneRegistration, _ app: PushApp
  ) -> PushDevicesBody {
    var info = PushDevicesBody.DeviceInfo(deviceToken: device.token, appType: app.type)
    info.sandboxToken = registration.isSandbox
    return PushDevicesBody(originalId: device.number.international, deviceInfo: [info])
  }
}
