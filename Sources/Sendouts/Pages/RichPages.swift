public import Content
public import Delivery
public import Logging
public import Postgres
public import Registry
import Wire

/// Shows the rich page behind a push, and counts that it was opened.
///
/// Pages are asked for by the thousand, so they are served in groups: one statement reads all recipients and one records all
/// opens, side by side, for what came in while those before were under way.
public final class RichPages: Sendable {
  private let templates: PageTemplateCache
  private let links: PublicLinks
  private let sources: PageSources
  private let visits: Batcher<Open, Visit>

  public init(
    _ database: any Querying, templates: PageTemplateCache, links: PublicLinks, vault: Vault, logger: Logger
  ) {
    self.templates = templates
    self.links = links
    sources = PageSources(database, vault: vault)
    let desk = VisitDesk(database: database, logger: logger)
    visits = .ofOpens { customer, opens in
      try await desk.receive(opens, of: customer)
    }
  }

  /// Counts an open, and gives the page for that device and user, with the template version the sendout was started with, as
  /// soon as the open is committed. When only the open cannot be written, the page is shown all the same: the reader is not to
  /// blame.
  /// - Parameter done: called exactly once, on any thread, soon to return. It gets `nil` if there is nothing to show: no such
  ///   push, a sendout without pages, or a phone that is another user's by now, who must not see what was meant for the
  ///   former one.
  public func open(
    _ link: PushLink, by reader: Open.Reader, then done: @escaping @Sendable (Result<OpenedPage?, any Error>) -> Void
  ) {
    if let paper = paperAtHand(for: link) { return open(link, by: reader, on: paper, then: done) }
    Task {
      do {
        guard let paper = try await paper(for: link) else { return done(.success(nil)) }
        open(link, by: reader, on: paper, then: done)
      } catch {
        done(.failure(error))
      }
    }
  }

  private func open(
    _ link: PushLink, by reader: Open.Reader, on paper: PageTemplateContext,
    then done: @escaping @Sendable (Result<OpenedPage?, any Error>) -> Void
  ) {
    visits.answer(link.customer.rawValue, Open(link, via: .page, by: reader)) { [links] result in
      done(
        result.map { visit in
          guard let recipient = visit.recipient, visit.contact == recipient.contact.id else { return nil }
          return OpenedPage(paper: paper, recipient: recipient, link: link, links: links)
        })
    }
  }

  private func paperAtHand(for link: PushLink) -> PageTemplateContext? {
    guard let source = sources.cached(SendoutKey(link.customer, link.sendout)) ?? nil, let name = source.template else {
      return nil
    }
    let template = templates.cached(link.customer, name: name.name, version: name.version)
    return template.map { PageTemplateContext(source: source, template: $0) }
  }

  private func paper(for link: PushLink) async throws -> PageTemplateContext? {
    guard let source = try await sources.source(SendoutKey(link.customer, link.sendout)), let name = source.template
    else { return nil }
    let template = try await templates.template(link.customer, name: name.name, version: name.version)
    return PageTemplateContext(source: source, template: template)
  }
}
