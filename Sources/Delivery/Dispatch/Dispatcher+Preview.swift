import Content
import FoundationEssentials
import Providers
public import Registry
public import Wire

extension Dispatcher {
  /// The request that a message would be sent with, in the contact's language. Nothing is stored or sent. Its links lead nowhere.
  /// - Parameters:
  ///   - contact: whose fields the texts name; empty ones if nil.
  ///   - device: the contact's; nil for one that is not known.
  ///   - token: in place of the device's; an example if both are nil.
  public func preview(
    _ content: MessageContent, for app: PushApp, _ credentials: PushServiceCredentials, contact: Contact?,
    device: Device?, token: String? = nil
  ) -> PreviewedRequest {
    let (target, push) = push(content, for: app, credentials, contact: contact, device: device, token: token)
    var preview = PreviewedRequest(app)
    preview.service = target.account.service
    switch target.account.prepare(push) {
    case .request(let request):
      let environments = target.account.environments
      let wanted: PushEnvironment = device?.isSandbox == true ? .sandbox : .production
      let environment = environments.contains(wanted) ? wanted : environments.first ?? .production
      let shown = target.account.preview(request, to: environment)
      preview.fill(shown, request.reductions)
      preview.shown = ShownPush(push.message, body: shown.body, for: app.type)
    case .refused(let verdict):
      let size = PushServices.payloadSize(of: push.message.smallest, for: app.type)
      if app.type != .sms { (preview.bytes, preview.limit) = (size.bytes, size.limit) }
      preview.problem = "The push is refused: \(verdict.problem ?? "accepted")."
    }
    return preview
  }

  /// How large a message becomes for a contact's device, and what is left out of it there.
  package func size(
    of content: MessageContent, for app: PushApp, _ credentials: PushServiceCredentials, contact: Contact,
    device: Device
  ) -> MessageSize {
    let (target, push) = push(content, for: app, credentials, contact: contact, device: device, token: nil)
    var size = MessageSize(
      service: target.account.service, whole: PushServices.payloadSize(of: push.message, for: app.type))
    switch target.account.prepare(push) {
    case .request(let request): size.dropped = request.reductions.description
    case .refused(let verdict): size.problem = verdict.problem
    }
    return size
  }

  /// Whether an app's credentials reach its devices in an environment. Certificates are of one or of both; all else reaches every device.
  package func reaches(isSandbox: Bool, _ app: PushApp, _ credentials: PushServiceCredentials) -> Bool {
    app.certificates.isEmpty
      || target(for: app, credentials).account.environments.contains(isSandbox ? .sandbox : .production)
  }

  private func push(
    _ content: MessageContent, for app: PushApp, _ credentials: PushServiceCredentials, contact: Contact?,
    device: Device?, token: String?
  ) -> (target: AppTarget, push: OutgoingPush) {
    let target = target(for: app, credentials)
    let content = content.inLanguage(contact?.spokenLanguage ?? device?.locale)
    var context =
      contact.map { PageContext($0, device, app: target.fields, sendout: content.sendout) }
      ?? PageContext(app: target.fields, sendout: content.sendout)
    if let own = content.properties {
      context.properties = Properties(json: own).merged(over: Properties(json: contact?.properties ?? "{}"))
    }
    let key = SendoutKey(app.customer, SendoutID(0))
    let link = PushLink(
      customer: app.customer, sendout: key.sendout, push: PushNumber(0), device: device?.id ?? DeviceID(0))
    links.fill(&context, link, content, ContactLink(customer: app.customer, contact: ContactID(0)))
    return (
      target,
      content.push(
        context, for: app.kind.traits, to: token ?? device?.token ?? target.account.exampleToken,
        id: PushIdentity.id(key, link.push), at: now(), collapseKey: PushIdentity.collapseKey(key))
    )
  }
}

/// How large a message becomes for somebody.
package struct MessageSize: Sendable {
  /// The push service, for people.
  package let service: String
  /// Before anything is left out, and the most that the service takes, in bytes.
  package let whole: (bytes: Int, limit: Int)
  /// What is left out so that it fits; nil for nothing.
  package fileprivate(set) var dropped: String?
  /// Why the push would be refused; nil if it would not.
  package fileprivate(set) var problem: String?
}

extension PreviewedRequest {
  /// - Parameter problem: why nothing can be sent to the app.
  public init(_ app: PushApp, problem: String? = nil) {
    self.init(pushAppId: app.id, appId: app.appID, appType: app.type, problem: problem)
  }

  fileprivate mutating func fill(_ request: RequestPreview, _ reductions: Reductions) {
    method = "POST"
    url = request.url
    headers = Dictionary(request.headers.map { ($0.name, $0.value) }) { first, _ in first }
    body = (try? JSONValue(json: request.body)) ?? .string(String(decoding: request.body, as: UTF8.self))
    if let size = request.parts {
      (parts, mostParts) = (size.count, size.most)
    } else {
      (bytes, limit) = (request.size, request.limit)
    }
    dropped = reductions.description
  }
}
