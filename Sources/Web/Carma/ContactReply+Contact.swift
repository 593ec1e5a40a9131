import Registry
import Wire

extension ContactReply {
  /// What is stored, with the devices of these apps. Carma knows no telephone numbers among them.
  init(_ contact: Contact, _ apps: [PushApp]) {
    self.init(originalId: contact.originalID)
    listId = contact.listID?.rawValue
    texts = contact.texts
    dateOfBirth = contact.dateOfBirth.map { Int64($0) * 86_400_000 }
    properties = contact.properties
    deviceInfo = contact.devices.compactMap { device in
      apps.first { $0.id == device.app && $0.type != .sms }.map { DeviceInfo(device, $0.type) }
    }
  }

  /// What was sent and nothing else, for keys that must not read: they lie in every copy of an app.
  init(echo body: PushDevicesBody, invalidated: Bool = false) {
    self.init(originalId: body.originalId ?? "")
    if case .set(let list) = body.listId { listId = list }
    texts = body.texts
    if case .set(let date) = body.dateOfBirth { dateOfBirth = Int64(date.day) * 86_400_000 }
    properties = body.properties ?? "{}"
    deviceInfo = body.deviceInfo.map { DeviceInfo(echo: $0, invalidated) }
  }
}

extension ContactReply.DeviceInfo {
  fileprivate init(_ device: Device, _ type: AppType) {
    self.init(deviceToken: device.token)
    appType = type
    sandboxToken = device.isSandbox
    manufacturer = device.manufacturer
    model = device.model
    osVersion = device.osVersion
    country = device.country
    timeZone = device.timeZone
    locale = device.locale
    dateOfInvalidation = device.invalidatedAt
    invalidationType = device.invalidationType
  }

  fileprivate init(echo info: PushDevicesBody.DeviceInfo, _ invalidated: Bool) {
    let token = info.deviceToken ?? ""
    let subscription = token.hasPrefix("{") ? try? WebPushSubscription(json: token) : nil
    self.init(deviceToken: subscription?.text ?? token)
    appType = info.appType
    sandboxToken = info.sandboxToken ?? false
    manufacturer = info.manufacturer
    model = info.model
    osVersion = info.osVersion
    country = info.country
    timeZone = info.timeZone
    locale = info.locale
    if case .set(let date) = info.dateOfInvalidation { dateOfInvalidation = date.milliseconds }
    invalidationType = info.invalidationType ?? (invalidated ? .byAppOrUser : .valid)
  }
}
