public import Content
public import Postgres
import Registry
public import Wire

/// One open of a push.
public struct Open: Sendable, Hashable {
  /// How the push was opened.
  public enum Via: String, Sendable, Hashable, CaseIterable {
    /// The rich page was requested.
    case page
    /// The app reported the push as read.
    case pushreadurl
  }

  /// Who opened it.
  public enum Reader: String, Sendable, Hashable, CaseIterable {
    case person
    /// A HEAD request, or a known scanner or prefetcher. It is stored separately and never counted as an open.
    case machine
  }

  public let link: PushLink
  public let via: Via
  public let reader: Reader

  public init(_ link: PushLink, via: Via, by reader: Reader) {
    self.link = link
    self.via = via
    self.reader = reader
  }
}

/// Every error of this room. Outcomes of pushes are values, not errors.
public enum DeliveryError: Error, Sendable, Hashable {
  /// Too many opens are waiting to be written. The caller may retry shortly.
  case opensOverflow
  /// Too many delivery reports are waiting to be written. The provider may post them again shortly.
  case reportsOverflow
  /// The contact of the push was erased.
  case contactErased
}

/// Takes single opens and records them in batches.
///
/// An open is answered only after its commit. Opens that arrive during a statement share the next statement and its commit.
public final class Opens: Sendable {
  private let batcher: Batcher<Open, (contact: ContactID?, isErased: Bool)>

  public init(_ database: any Querying) {
    let log = OpenLog(database)
    batcher = .ofOpens(on: database.executor) { customer, opens in
      let contacts = try await log.record(opens, of: customer)
      let erased = try await Person.missing(customer, contacts.compactMap(\.self), in: database)
      return contacts.map { contact in (contact, contact.map(erased.contains) ?? false) }
    }
  }

  /// Records an open.
  /// - Parameter done: called exactly once, after the commit, on any thread; must not block. It gets the push's contact, or
  ///   `nil` if the push does not exist and nothing was recorded. It fails with `DeliveryError.opensOverflow`, with
  ///   `.contactErased` for a push of somebody who was erased, or with an error that `DatabaseUnavailable` recognizes.
  public func record(_ open: Open, then done: @escaping @Sendable (Result<ContactID?, any Error>) -> Void) {
    batcher.answer(open.link.customer.rawValue, open) { result in
      done(
        result.flatMap { opened in
          opened.isErased ? .failure(DeliveryError.contactErased) : .success(opened.contact)
        })
    }
  }
}

extension Batcher where Item == Open {
  /// Batches opens by customer. The limits let all opens that arrive during a commit share the next one. They admit no more
  /// opens than can be written in a few seconds.
  package static func ofOpens(
    on executor: (any TaskExecutor)? = nil,
    _ call: @escaping @Sendable (CustomerID, [Open]) async throws -> [Answer]
  ) -> Batcher {
    Batcher(
      BatchLimits(batchWeight: 500, worthAnother: 128, items: 40_000), full: DeliveryError.opensOverflow, on: executor
    ) {
      try await call(CustomerID($0), $1)
    }
  }
}
