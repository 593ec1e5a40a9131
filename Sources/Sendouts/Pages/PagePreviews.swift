import Content
import Delivery
package import Postgres
import Registry
package import Wire

/// Shows a template's text as a page for one contact. Nothing is stored.
package struct PagePreviews: Sendable {
  private let database: any Querying

  package init(_ database: any Querying) { self.database = database }

  /// - Throws: `ContentError`; `SendoutError.recipientUnknown`.
  package func preview(_ customer: CustomerID, _ request: PagePreviewRequest) async throws -> PagePreviewReply {
    let format = try request.contentType.map { try TemplateFormat(contentType: $0) } ?? .html
    let message = try request.message.map { try MessageTemplate($0) }
    try message?.checkForm(for: [])
    var reply = PagePreviewReply(
      contentType: format.contentType, warnings: PageTemplate.warnings(request.body, format: format))
    if let problem = PageTemplate.problem(request.body) {
      reply.problems = [problem]
      return reply
    }
    let template = try PageTemplate(request.body, format: format)
    reply.page = template.render(try await context(customer, request, message))
    return reply
  }

  private func context(
    _ customer: CustomerID, _ request: PagePreviewRequest, _ message: MessageTemplate?
  ) async throws -> PageContext {
    let sendout = SendoutFields(fields: request.message?.fields ?? [:])
    var context = PageContext(sendout: sendout)
    var (own, language) = (Properties(), nil as String?)
    if let originalID = request.originalId {
      let apps = try await PushApps(database).list(customer)
      let contact = try await Contacts(database).find(customer, originalID: originalID, apps: apps.map(\.id))
      guard let contact else { throw SendoutError.recipientUnknown }
      let device = contact.devices.first { $0.invalidatedAt == nil }
      let app = apps.first { $0.id == device?.app }
      context = PageContext(
        contact, device, app: AppFields(appId: app?.appID, name: app?.name), sendout: sendout)
      own = Properties(json: contact.properties)
      language = contact.spokenLanguage
    }
    if let properties = request.properties {
      let json = String(decoding: JSONValue.object(properties).json, as: UTF8.self)
      context.properties = Properties(json: json).merged(over: own)
    }
    if let message = message?.inLanguage(language) {
      context.sendout.fields = message.givenFields
      message.fill(&context)
    }
    return context
  }
}
