import HTTPTypes
import Operations
import Registry
import Sendouts
import Wire

/// What a message looks like to one contact, on each platform of its apps.
struct ComposerPreview: Sendable {
  var requests: [PreviewedRequest] = []
  /// Whose fields the texts have; `nil` for nobody's.
  var contact: ContactDetails?
  /// Others that the same text finds.
  var others: [ContactDetails] = []
  /// Why there is no preview.
  var problem: String?
  /// Whether the message has anything yet. What an empty one lacks is no problem while one writes.
  private let isWritten: Bool
  /// By the apps' numbers.
  private var names: [PushAppID: String] = [:]

  /// - Parameters:
  ///   - form: what the message says, and the beginning of what its contact is looked up by: the first one if empty.
  ///   - apps: of the customer.
  init(_ form: ComposerForm, among apps: [PushAppReply], _ call: ConsoleCall) async throws {
    isWritten = form.isWritten
    for app in apps { names[app.pushAppId] = app.name }
    // The texts hold fields of the contact.
    if call.allows(ContactOperations.list), call.allows(MessageOperations.preview) {
      let query = form.values.text(ComposerForm.Own.contact)
      let found = try await call.read(
        ContactOperations.list, (((query, nil), nil), PageRequest(limit: Self.shownContacts))
      ).items
      contact = found.first { query?.hasSameBytes(as: $0.originalId) == true } ?? found.first
      others = found.filter { $0.contactId != contact?.contactId }
    }
    do {
      let request = try form.messageRequest(to: contact.map { MessageTarget(originalId: $0.originalId) })
      // Without a contact the texts hold nothing of anybody.
      let reply =
        contact == nil
        ? try await call.messages.preview(call.customer, request)
        : try await call.change(MessageOperations.preview, (), request)
      let callApps = Set(apps.filter { $0.kind.traits.takesCallsAlone }.map(\.pushAppId))
      requests = reply.requests.filter { !callApps.contains($0.pushAppId) }
    } catch {
      guard let refusal = ErrorReplies.response(for: error), refusal.status.code < 500 else { throw error }
      problem = refusal.sentence
    }
  }

  private static let shownContacts = 6

  /// What the sender should know before it is sent.
  var warnings: [String] {
    requests.compactMap { request in
      let app = "\(request.appType.platform), \(request.appId)"
      if let problem = request.problem { return "\(app): \(problem)" }
      if let dropped = request.dropped { return "\(app): the message is too large, so \(dropped)." }
      if request.shown == nil { return "\(app): nothing is shown, the app alone gets the message." }
      return nil
    }
  }

  /// For `{{>_compose-preview}}`.
  var values: [String: Any] {
    [
      "problem": isWritten ? problem ?? "" : "", "isWritten": isWritten, "contact": contact.map(Self.named) ?? "",
      "hasContact": contact != nil,
      "others": others.map { ["originalId": $0.originalId, "name": Self.named($0)] }, "hasOthers": false,
      "previews": requests.map(shown), "isEmpty": requests.isEmpty && (problem == nil || !isWritten),
    ]
  }

  private static func named(_ contact: ContactDetails) -> String {
    contact.fullName.map { "\($0), \(contact.originalId)" } ?? contact.originalId
  }

  private func shown(_ request: PreviewedRequest) -> [String: Any] {
    var values: [String: Any] = [
      "id": "request-\(request.pushAppId)", "appName": names[request.pushAppId] ?? "",
      "platform": request.device, "class": request.appType.cssClass, "appId": request.appId,
      "service": request.service ?? "", "title": request.shown?.title ?? "", "text": request.shown?.text ?? "",
      "image": request.shown?.image ?? "", "badge": request.shown?.badge ?? "", "isShown": request.shown != nil,
      "dropped": request.dropped ?? "", "problem": request.problem ?? "",
      "request": request.body.map { String(decoding: $0.json.prefix(4096), as: UTF8.self) } ?? "",
      "isSized": false, "isSMS": false,
    ]
    if let bytes = request.bytes, let limit = request.limit {
      values["isSized"] = true
      values["bytes"] = ComposerForm.grouped(bytes)
      values["limit"] = ComposerForm.grouped(limit)
      values["left"] = ComposerForm.grouped(max(0, limit - bytes))
      values["used"] = min(bytes, limit)
      values["most"] = limit
      values["isOver"] = bytes > limit
    } else if let parts = request.parts, let most = request.mostParts {
      values["isSMS"] = true
      values["parts"] = parts
      values["mostParts"] = most
    }
    return values
  }
}

extension PreviewedRequest {
  /// What shows it, as people call it.
  fileprivate var device: String {
    switch appType {
    case .ios: "iPhone"
    case .web: "Browser"
    default: appType.platform
    }
  }
}

extension AppType {
  /// The class that gives the picture its form.
  fileprivate var cssClass: String {
    switch self {
    case .ios: "ios"
    case .android, .firebase: "android"
    case .huawei: "huawei"
    case .windows: "windows"
    case .web: "web"
    case .sms: "sms"
    }
  }
}
