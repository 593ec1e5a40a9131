import Content
import Delivery
import FoundationEssentials
import Postgres
import Registry
public import Wire

extension MessageService {
  /// Shows a message as push services would get it, for each of the apps. Nothing is stored or sent.
  /// - Parameter allowed: the only app that the caller may see; `nil` for all.
  /// - Throws: `SendoutError.invalid`, `.recipientUnknown`; `RegistryError.appUnknown`; `ContentError`.
  public func preview(
    _ customer: CustomerID, _ request: MessagePreviewRequest, allowed: String? = nil
  ) async throws -> MessagePreviewReply {
    let template = try MessageTemplate(request.message)
    try template.checkForm(for: [])
    try SendoutRules.checkLink(template, beside: request.template)
    _ = try await SendoutRules.currentTemplate(customer, request.template, in: database)
    var content = MessageContent(
      template: template, sendout: SendoutFields(fields: request.message.fields ?? [:]),
      hasPage: request.template != nil)
    content.properties = request.properties.map { String(decoding: JSONValue.object($0).json, as: UTF8.self) }
    content.expiresAt = MessageContent.expiry(of: template.ttl, from: now())
    let apps = try await apps(customer, request, allowed)
    let addressee = try await addressee(customer, request.to, apps)
    var requests: [PreviewedRequest] = []
    for app in apps {
      guard let opened = try await credentials.credentials(for: app) else {
        requests.append(PreviewedRequest(app, problem: "The app has no \(app.missingCredential ?? "push service")."))
        continue
      }
      let device = addressee.devices.first { $0.app == app.id && $0.invalidatedAt == nil }
      requests.append(
        dispatcher.preview(
          content, for: app, opened, contact: addressee.contact, device: device, token: addressee.tokens[app.id]))
    }
    return MessagePreviewReply(requests: requests)
  }

  private func apps(
    _ customer: CustomerID, _ request: MessagePreviewRequest, _ allowed: String?
  ) async throws -> [PushApp] {
    let isMeant = { (app: PushApp) in request.appType == nil || app.type == request.appType }
    if request.appId == nil, request.appIds == nil {
      return try await apps.all(customer).filter { isMeant($0) && (allowed == nil || $0.appID == allowed) }
    }
    let appIDs = try SendoutRules.appIDs(request.appId, request.appIds)
    if let allowed, appIDs.contains(where: { $0 != allowed }) { throw RegistryError.appUnknown(appID: allowed) }
    var found: [PushApp] = []
    for appID in appIDs {
      let meant = try await apps.apps(customer, appID: appID).filter(isMeant)
      if meant.isEmpty { throw RegistryError.appUnknown(appID: appID) }
      found += meant
    }
    return found
  }

  /// Whose fields and devices the preview has.
  private struct Addressee {
    var contact: Contact?
    var devices: [Device] = []
    var tokens: [PushAppID: String] = [:]
  }

  private func addressee(
    _ customer: CustomerID, _ target: MessageTarget?, _ apps: [PushApp]
  ) async throws -> Addressee {
    var addressee = Addressee()
    guard let target else { return addressee }
    guard target.originalId != nil || target.deviceToken != nil else {
      throw SendoutError.invalid(field: "to", problem: "names nobody: give originalId or deviceToken")
    }
    if let originalID = target.originalId {
      guard let contact = try await Contacts(database).find(customer, originalID: originalID, apps: apps.map(\.id))
      else { throw SendoutError.recipientUnknown }
      (addressee.contact, addressee.devices) = (contact, contact.devices)
    }
    if target.deviceToken != nil {
      guard case .device(let app, let deviceToken, _) = try self.addressee(target, apps) else { return addressee }
      let recipient = try await Devices(database).recipient(customer, app, deviceToken)
      if recipient == nil, target.originalId == nil { throw SendoutError.recipientUnknown }
      if let recipient, target.originalId == nil { addressee.contact = recipient.contact }
      if let recipient { addressee.devices = [recipient.device] }
      addressee.tokens[app] = deviceToken.text
    }
    return addressee
  }
}
