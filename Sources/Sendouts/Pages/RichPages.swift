public import Content
public import Delivery
public import Logging
public import Postgres
public import Registry
import Wire

/// Shows the rich page behind a push, and counts that it was opened.
///
/// Pages are asked for by the thousand, so recipients are read as opens are written: one statement for all that came in while
/// the one before was under way. The two run side by side.
public final class RichPages: Sendable {
  private let database: any Querying
  private let opens: Opens
  private let templates: PageTemplateCache
  private let links: PublicLinks
  private let sources: PageSources
  private let recipients: Gatherer<CustomerID, DeviceID, Recipient?>
  private let logger: Logger

  public init(
    _ database: any Querying, opens: Opens, templates: PageTemplateCache, links: PublicLinks, vault: Vault,
    logger: Logger
  ) {
    self.database = database
    self.opens = opens
    self.templates = templates
    self.links = links
    self.logger = logger
    sources = PageSources(database, vault: vault)
    recipients = Gatherer(group: 500, limit: 20_000, full: DeliveryError.opensOverflow) { customer, devices in
      let found = try await Devices(database).recipients(customer, devices)
      let byDevice = Dictionary(found.map { ($0.device.id, $0) }) { first, _ in first }
      return devices.map { byDevice[$0] }
    }
  }

  /// The page for that device and user, with the template version the sendout was created with, as soon as the open is
  /// committed. When only the open cannot be written, the page is shown all the same: the reader is not to blame.
  /// - Returns: `nil` if there is nothing to show: no such push, a sendout without pages, or a phone that is another
  ///   user's by now, who must not see what was meant for the former one.
  public func open(_ link: PushLink, by reader: OpenReader) async throws -> RichPage? {
    guard let source = try await sources.source(SendoutKey(link.customer, link.sendout)), let name = source.template
    else { return nil }
    async let contact = record(link, by: reader)
    async let reading = recipients.answer(link.customer, link.device)
    async let template = templates.template(link.customer, name: name.name, version: name.version)
    guard let recipient = try await reading, try await contact == recipient.contact.id else { return nil }
    var context = PageContext(recipient, app: source.app, sendout: source.sendout)
    context.url = links.page(link)
    context.pushreadurl = links.read(link)
    source.message.fill(&context)
    let page = try await template
    return RichPage(contentType: page.format.contentType, body: page.render(context))
  }

  /// - Returns: whom the push was for.
  private func record(_ link: PushLink, by reader: OpenReader) async throws -> ContactID? {
    do {
      return try await opens.record(link, via: .page, reader: reader)
    } catch {
      let contact = try await Ledger(database).contact(of: link)
      logger.warning("an open was not counted", metadata: ["error": "\(error)"])
      return contact
    }
  }
}
