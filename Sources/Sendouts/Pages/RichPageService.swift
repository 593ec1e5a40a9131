public import Content
public import Delivery
public import Logging
public import Postgres
public import Registry
import Wire

/// Opens the rich page behind a push: records the open, and finds what to render.
///
/// Pages are requested by the thousand, so they are served in batches: while one batch is under way, the next is collected. One
/// statement reads all its recipients, and one records all its opens.
public final class RichPageService: Sendable {
  private let templates: PageTemplateCache
  private let links: PublicLinks
  private let sources: PageSources
  private let database: any Querying
  private let batcher: Batcher<Open, RecordedOpen>

  public init(
    _ database: any Querying, templates: PageTemplateCache, links: PublicLinks, vault: Vault, logger: Logger
  ) {
    self.templates = templates
    self.links = links
    self.database = database
    sources = PageSources(database, vault: vault)
    batcher = .ofOpens { customer, opens in
      try await Self.record(opens, of: customer, in: database, logger)
    }
  }

  /// Records an open, and gives the page of that device and user once it is committed. The page has the template version that the
  /// sendout was started with. If only the open cannot be written, the page is shown nevertheless.
  /// - Parameter done: called exactly once, on any thread; must return soon. It gets `nil` if there is nothing to show:
  ///   no such push, or a sendout without pages. A phone's new user must not see what was meant for the former one, and
  ///   gets `nil`, too. It fails with `DeliveryError.contactErased` for a push of somebody who was erased.
  public func open(
    _ link: PushLink, by reader: Open.Reader, then done: @escaping @Sendable (Result<OpenedPage?, any Error>) -> Void
  ) {
    attempt {
      try self.page(of: link, $0)
    } then: { page in
      switch page {
      case .failure(let error): done(.failure(error))
      case .success(nil): self.nothing(link, then: done)
      case .success(let page?): self.open(link, by: reader, page, then: done)
      }
    }
  }

  /// Answers that there is no page, and whether that is because the contact was erased.
  private func nothing(
    _ link: PushLink, then done: @escaping @Sendable (Result<OpenedPage?, any Error>) -> Void
  ) {
    Task { [database] in
      do {
        let contacts = try await OpenLog(database).contacts(
          of: [Open(link, via: .page, by: .machine)], of: link.customer)
        let erased = try await Person.missing(link.customer, contacts.compactMap(\.self), in: database)
        done(erased.isEmpty ? .success(nil) : .failure(DeliveryError.contactErased))
      } catch {
        done(.failure(error))
      }
    }
  }

  private func open(
    _ link: PushLink, by reader: Open.Reader, _ page: SendoutPageTemplate,
    then done: @escaping @Sendable (Result<OpenedPage?, any Error>) -> Void
  ) {
    batcher.answer(link.customer.rawValue, Open(link, via: .page, by: reader)) { [links] result in
      done(
        result.flatMap { open in
          if open.isErased { return .failure(DeliveryError.contactErased) }
          guard let recipient = open.recipient, open.contact == recipient.contact.id else { return .success(nil) }
          return .success(OpenedPage(page: page, recipient: recipient, link: link, links: links))
        })
    }
  }

  /// - Returns: nil if there is nothing to show.
  /// - Throws: `MustLookUp`.
  private func page(of link: PushLink, _ found: LookedUp) throws -> SendoutPageTemplate? {
    let key = SendoutKey(link.customer, link.sendout)
    guard let known = found.source ?? sources.cached(key) else {
      throw MustLookUp { $0.source = .some(try await self.sources.source(key)) }
    }
    guard let source = known, let said = try said(link, source, found), let name = said.template else { return nil }
    guard
      let template = found.template ?? templates.cached(link.customer, name: name.name, version: name.version)
    else {
      throw MustLookUp {
        $0.template = try await self.templates.template(link.customer, name: name.name, version: name.version)
      }
    }
    return SendoutPageTemplate(source: source, template: template, content: said.content)
  }

  /// What the push says, and its template.
  /// - Returns: nil if there is no such push.
  /// - Throws: `MustLookUp`.
  private func said(
    _ link: PushLink, _ source: PageSource, _ found: LookedUp
  ) throws -> (template: (name: String, version: Int32)?, content: MessageContent)? {
    if !source.variants.isEmpty {
      guard let found = found.variant else {
        throw MustLookUp { $0.variant = .some(try await self.sources.variant(of: link)) }
      }
      guard let variant = found, source.variants.indices.contains(Int(variant) - 1) else { return nil }
      let said = source.variants[Int(variant) - 1]
      return (said.template, said.content)
    }
    if let content = source.content { return (source.template, content) }
    guard source.template != nil else { return nil }
    // In a stream each push has a message of its own.
    guard let content = found.content else {
      throw MustLookUp { $0.content = .some(try await self.sources.content(of: link, source.traits)) }
    }
    return content.map { (source.template, $0) }
  }

  /// Records the opens and reads the recipients, concurrently.
  private static func record(
    _ opens: [Open], of customer: CustomerID, in database: any Querying, _ logger: Logger
  ) async throws -> [RecordedOpen] {
    async let contacts = contacts(of: opens, customer, in: database, logger)
    let found = try await Devices(database).recipients(
      customer, Array(Set(opens.map(\.link.device))), with: [.all, .spokenLanguage])
    let recipients = Dictionary(found.map { ($0.device.id, $0) }) { first, _ in first }
    let known = try await contacts
    let missing = zip(opens, known).compactMap { recipients[$0.link.device] == nil ? $1 : nil }
    let erased = missing.isEmpty ? [] : try await Person.missing(customer, missing, in: database)
    return zip(opens, known).map { open, contact in
      RecordedOpen(
        contact: contact, recipient: recipients[open.link.device], isErased: contact.map(erased.contains) ?? false)
    }
  }

  /// Records the opens, and returns the contacts of their pushes even if that fails.
  private static func contacts(
    of opens: [Open], _ customer: CustomerID, in database: any Querying, _ logger: Logger
  ) async throws -> [ContactID?] {
    let log = OpenLog(database)
    do {
      return try await log.record(opens, of: customer)
    } catch {
      let contacts = try await log.contacts(of: opens, of: customer)
      logger.warning(
        "could not record opens of pages, which were shown without",
        metadata: ["count": "\(opens.count)", "error": "\(error)"])
      return contacts
    }
  }
}

/// A rich page, rendered for one recipient.
public struct RenderedPage: Sendable, Equatable {
  /// Its media type with parameters.
  public let contentType: String
  /// In UTF-8.
  public let body: [UInt8]
}

/// The template of a sendout's pages, with what they have in common.
struct SendoutPageTemplate: Sendable {
  let source: PageSource
  let template: PageTemplate
  let content: MessageContent
}

/// A page whose open is committed, and that may be shown to its recipient.
public struct OpenedPage: Sendable {
  let page: SendoutPageTemplate
  let recipient: Recipient
  let link: PushLink
  let links: PublicLinks

  public func render() -> RenderedPage {
    let (template, content) = (page.template, page.content.inLanguage(recipient.spokenLanguage))
    var context = PageContext(
      recipient, app: page.source.apps[recipient.device.app] ?? AppFields(), content: content)
    if template.namesLinks || content.template.namesLinks {
      context.url = links.page(link)
      context.pushreadurl = content.template.tracksOpens ? links.read(link) : nil
      context.unsubscribeUrl = links.unsubscribe(
        ContactLink(customer: link.customer, contact: recipient.contact.id))
    }
    content.template.fill(&context)
    return RenderedPage(contentType: template.format.contentType, body: template.bytes(for: context))
  }
}

/// An open of a page, with what decides whether it may be shown.
struct RecordedOpen: Sendable {
  /// The contact that the push was for; `nil` if there is no such push.
  let contact: ContactID?
  /// The device and its contact of now; `nil` if there is no such device any more.
  let recipient: Recipient?
  /// Whether the contact was erased. It is asked only where the device is not there.
  let isErased: Bool
}
