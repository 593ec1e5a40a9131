package import Audience
import HTTPTypes
import Registry
import Sendouts
package import Wire

extension APIOperation.Tag {
  package static let segments = Self(
    "Segments",
    """
    Named sets of contacts: those that meet a filter at the moment, or those that were put into a static segment. Sendouts, other filters \
    and exports name them.
    """, readers: [.marketer, .analyst], editors: [.marketer])
}

/// `/api/v1/segments`, and searches by a filter.
package enum SegmentOperations: ManagedOperations {
  package static let all = [
    AnyOperation(list), AnyOperation(add), AnyOperation(count), AnyOperation(explain), AnyOperation(show),
    AnyOperation(change), AnyOperation(remove), AnyOperation(contacts), AnyOperation(changeContacts),
    AnyOperation(search),
  ]

  private static let segments = NumberedOperations<Segments>(.segments)
  package static let unknown = segments.unknown

  package static let list = segments.list
  package static let show = segments.show

  package static let add = Operation(
    .post, "/api/v1/segments", id: "addSegment", .segments, "Add a segment",
    """
    With a `filter`, or with `static`: then its contacts are put into it, by hand or by imports. A filter may be a line of text or a tree. \
    Lists and segments that it names by name are kept by number.
    """,
    at: .none, body: .json(SegmentRequest.form, upTo: longestRequest),
    replies: .created("The segment.", SegmentReply.form),
    errors: [nameTaken], audit: "segment.add"
  ) { call, _, request in
    let segment = try await call.segments.add(call.customer, request)
    return Changed(segment, .init("segment \(segment.segmentId)", after: AuditedSegment(segment)))
  }

  package static let change = Operation(
    .patch, "/api/v1/segments/{id}", id: "changeSegment", .segments, "Change a segment",
    """
    Sendouts that are not frozen yet, and segments whose filter names this one, mean what it is from now on. A filter that leads back to \
    the segment itself is refused.
    """,
    at: id, body: .json(SegmentRequest.change, upTo: longestRequest),
    replies: .ok("The segment as it is now.", SegmentReply.form), errors: [unknown, nameTaken], audit: "segment.change"
  ) { call, id, request in
    let (before, after) = try await call.segments.rewrite(call.customer, id, request)
    return Changed(
      after,
      .init(
        "segment \(id)", before: AuditedSegment(before),
        after: AuditedSegment(after, changed: before.filter == after.filter ? [] : ["filter"])))
  }

  package static let remove = Operation(
    .delete, "/api/v1/segments/{id}", id: "removeSegment", .segments, "Remove a segment",
    "One that another segment, or a sendout that is not frozen yet, names is refused.", at: id, body: .none,
    replies: .ok("The segment as it was.", SegmentReply.form),
    errors: [
      unknown, .error("Something uses the segment.", RegistryError.inUse("segment", by: "segment Nordic regulars")),
    ], audit: "segment.remove"
  ) { call, id, _ in
    let segment = try await call.segments.removeUnused(call.customer, id) {
      try await SendoutStore(call.database).first(naming: id, of: call.customer).map { "sendout \($0)" }
    }
    return Changed(segment, .init("segment \(id)", before: AuditedSegment(segment), after: nil))
  }

  package static let contacts = Operation(
    get: "/api/v1/segments/{id}/contacts", id: "listSegmentContacts", .segments, "List who is in a segment",
    "The contacts that are in it now by number, without properties and devices.",
    at: id.and(.page(of: "contact", by: ContactID.self)),
    replies: .ok("A page of contacts.", Page<ContactDetails, ContactID>(items: [.listedExample])),
    errors: [unknown, pageTooSlow]
  ) { call, target, _ in
    let (id, page) = target
    let segment = Filter.segment(.number(try await call.segments.find(call.customer, id).segmentId.rawValue))
    if !call.seesPersonal { try await call.requireShown(AskedContacts(in: segment)) }
    return try await call.contacts(segment, page)
  }

  package static let changeContacts = Operation(
    .put, "/api/v1/segments/{id}/contacts", id: "changeSegmentContacts", .segments, "Change who is in a static segment",
    """
    Puts contacts into the segment, or takes them out of it, by their original ids: \(MembersRequest.maximumCount) at most in each \
    of `add` and `remove`. Original ids that no contact has change nothing, and the reply names them.
    """, at: id, body: .members,
    replies: .ok("What it did.", MembersReply.form), errors: [unknown], audit: "segment.change_contacts"
  ) { call, id, request in
    Changed(try await call.segments.changeContacts(call.customer, id, request), of: "segment \(id)")
  }

  package static let search = Operation(
    showing: "/api/v1/contacts/search", id: "searchContacts", .segments, "List who meets a filter",
    "The contacts by number, without properties and devices. `next` is the `after` of the next page.",
    showsPersonal: true, body: .json(ContactSearchRequest.form, upTo: longestRequest),
    replies: .ok("A page of contacts.", Page<ContactDetails, ContactID>(items: [.listedExample])),
    errors: [pageTooSlow]
  ) { call, request in
    try await call.contacts(
      request.filter,
      PageRequest(after: request.after, limit: request.limit ?? PageRequest<ContactID>.usualLimit))
  }

  package static let count = Operation(
    showing: "/api/v1/segments/count", id: "countSegment", .segments, "Count who meets a filter",
    """
    An estimate at once, from the same contacts each time, with the interval in which the number is with 95 % certainty. Of 20,000 \
    contacts or fewer, all are looked at.

    With `exact` all contacts are looked at in any case. If that takes longer than a second, the reply has status 202 and `percent`: repeat \
    the request until it has the count. A count is good for a minute, on every hub.
    """,
    body: .json(SegmentCountRequest.form, upTo: longestRequest), replies: .ok("The count.", SegmentCountReply.form),
    errors: [
      .error(
        "An estimate of the filter takes too long.",
        RegistryError.filterTooSlow(instead: SegmentCounts.insteadOfEstimate))
    ]
  ) { call, request in
    let filter = try await call.resolve(request.filter)
    return request.exact == true
      ? try await call.parts.counts.exact(call.customer, filter)
      : try await call.parts.counts.estimate(call.customer, filter)
  }

  package static let explain = Operation(
    showing: "/api/v1/segments/explain", id: "explainSegment", .segments, "Tell why a contact meets a filter, or not",
    "Each part of the filter, whether the contact meets it, and what the contact has there. Segments are followed by their filters.",
    showsPersonal: true, body: .json(SegmentExplainRequest.form, upTo: longestRequest),
    replies: .ok("The parts.", SegmentExplainReply.form),
    errors: [.error("The customer has no such contact.", RegistryError.contactUnknown(originalID: "lars@example.com"))]
  ) { call, request in
    let filter = try await call.resolve(request.filter)
    return try await call.parts.counts.turn(of: call.customer) {
      try await call.reading.explain(call.customer, filter, originalID: request.originalId)
    }
  }

  /// In bytes: room for a filter of the largest size as a tree.
  private static let longestRequest = 1024 * 1024
  private static let id = Parameters.id(SegmentID.self, "The segment's `segmentId`.", example: 1)
  private static let nameTaken = APIResponse.error(
    "The customer already has a segment of this name.", RegistryError.nameTaken("segment"))
  static let pageTooSlow = APIResponse.error(
    "To look for the contacts of the filter takes too long.",
    RegistryError.filterTooSlow(instead: FilterSQL.insteadOfPage))
}

extension OperationCall {
  /// The store in the call's transaction, or for reading.
  fileprivate var segments: Segments { Segments(database, retentionDays: parts.retentionDays) }
  /// For what reads contacts.
  fileprivate var reading: Segments { Segments(slowReads, retentionDays: parts.retentionDays) }

  /// Looks up what a filter names.
  /// - Throws: `RegistryError.invalid`.
  func resolve(_ filter: Filter) async throws -> ResolvedFilter {
    try await segments.resolve(customer, filter)
  }

  /// The segments that a contact is in.
  /// - Throws: `RegistryError.contactUnknown`.
  func segments(of originalID: String) async throws -> [ContactSegment] {
    try await reading.containing(customer, originalID: originalID).map {
      ContactSegment(segmentId: $0.segmentId, name: $0.name)
    }
  }

  /// Makes sure that neither a filter or audience, nor a segment in it, asks for personal fields.
  /// - Throws: `HTTPErrorResponse.personalFilterRefused`; `RegistryError.invalid`.
  func requireShown(_ asked: AskedContacts) async throws {
    var found: [ResolvedFilter] = []
    for filter in asked.filters { found.append(try await segments.resolve(customer, filter)) }
    for audience in asked.audiences {
      if let filter = try await segments.resolve(customer, audience).filter { found.append(filter) }
    }
    if found.contains(where: \.isPersonal) { throw HTTPErrorResponse.personalFilterRefused }
  }

  /// A page of those who meet a filter, as the caller may see them.
  fileprivate func contacts(
    _ filter: Filter, _ page: PageRequest<ContactID>
  ) async throws -> Page<ContactDetails, ContactID> {
    let resolved = try await resolve(filter)
    return try await parts.counts.turn(of: customer) {
      try await FilterSQL.read(orElse: FilterSQL.insteadOfPage) { try await reading.contacts(customer, resolved, page) }
    }.shown(to: self)
  }
}

/// A segment in the audit log. Of its filter it tells only whether that has changed, as it may name people.
private struct AuditedSegment: Encodable, Sendable {
  let name: String
  let description: String?
  let isStatic: Bool
  let changed: [String]

  init(_ segment: SegmentReply, changed: [String] = []) {
    (name, description, isStatic) = (segment.name, segment.description, segment.static)
    self.changed = changed
  }

  private enum CodingKeys: String, CodingKey {
    case name, description, isStatic = "static", changed
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(name, forKey: .name)
    try container.encodeIfPresent(description, forKey: .description)
    try container.encode(isStatic, forKey: .isStatic)
    if !changed.isEmpty { try container.encode(changed, forKey: .changed) }
  }
}
