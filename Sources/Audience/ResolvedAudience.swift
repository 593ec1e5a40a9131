package import Registry
package import Wire

/// An audience whose list, segments and filters exist.
package struct ResolvedAudience: Sendable {
  /// As it is stored: filters have the numbers of lists and segments.
  package let audience: Audience
  /// What contacts have to meet; nil where that is nothing, or a list alone.
  package let filter: ResolvedFilter?
  /// What they have to meet apart from what is excluded.
  private let wanted: ResolvedFilter?
  private let unwanted: ResolvedFilter?

  fileprivate init(_ audience: Audience, wanted: ResolvedFilter?, excluding unwanted: ResolvedFilter?) {
    self.audience = audience
    self.wanted = wanted
    self.unwanted = unwanted
    filter = unwanted.map { (wanted ?? ResolvedFilter(.everyone)).excluding($0) } ?? wanted
  }

  /// As statements take it. Whole lists and everybody have statements of their own.
  package var selection: SelectedAudience { selected(filter) }

  /// All of the audience, those excluded too.
  package var included: SelectedAudience {
    if case .list(let list) = audience.included { .list(list) } else { selected(wanted) }
  }

  /// What contacts meet that are excluded; nil where nobody is.
  package var excluded: FilterSQL? { unwanted?.sql }

  private func selected(_ filter: ResolvedFilter?) -> SelectedAudience {
    switch (audience.included, filter?.sql) {
    case (.originalIds(let ids), let filter?): .originalIdsMeeting(ids, filter)
    case (_, let filter?): .meeting(filter)
    case (.list(let list), nil): .list(list)
    case (.originalIds(let ids), nil): .originalIds(ids)
    case (.all, nil), (.lists, nil), (.segment, nil), (.filter, nil), (.excluding, nil): .all
    }
  }
}

extension Segments {
  /// Looks up what an audience names.
  /// - Parameter isHolding: whether segments stay until the transaction ends.
  /// - Throws: `RegistryError.invalid`, naming the field.
  package func resolve(
    _ customer: CustomerID, _ audience: Audience, holding isHolding: Bool = false
  ) async throws -> ResolvedAudience {
    let included = audience.included
    let (filter, field): (Filter?, String) =
      switch included {
      case .all, .originalIds, .excluding: (nil, "audience")
      case .list(let list): (audience.exclude == nil ? nil : .list(.number(list.rawValue)), "audience.listId")
      // A contact meets it once, however many of the lists it is on.
      case .lists(let lists): (.or(lists.map { .list(.number($0.rawValue)) }), "audience.lists")
      case .segment(let segment): (.segment(.number(segment.rawValue)), "audience.segmentId")
      case .filter(let filter): (filter, "audience.filter")
      }
    var resolved: ResolvedFilter?
    if let filter { resolved = try await resolve(customer, filter, field: field, holding: isHolding) }
    var stored = included
    if case .filter = included, let filter = resolved?.filter { stored = .filter(filter) }
    var unwanted: ResolvedFilter?
    if let exclude = audience.exclude {
      let left = try await resolve(customer, exclude, field: "audience.exclude", holding: isHolding)
      unwanted = left
      stored = .excluding(stored, left.filter)
    }
    return ResolvedAudience(stored, wanted: resolved, excluding: unwanted)
  }

  /// Which conditions of an audience leave a contact out, as things are now: a sentence for each, or none.
  package func reasons(
    _ customer: CustomerID, _ audience: ResolvedAudience, originalID: String
  ) async throws -> [String] {
    guard let filter = audience.filter else { return [] }
    let explanation = try await explain(customer, filter, originalID: originalID)
    guard !explanation.result else { return [] }
    var nodes = explanation.nodes[...]
    let root = ExplainedNode(filter.filter, in: filter, &nodes)
    return root?.reasons(against: true) ?? []
  }
}

/// A node of a filter, with whether a contact meets it, and the nodes that explain that.
private struct ExplainedNode {
  private let filter: Filter
  private let reply: SegmentExplainReply.Node
  private let explanation: [ExplainedNode]

  /// - Parameter replies: in the order of `ResolvedFilter.explained`, from this one on; nil when there is no further one.
  init?(_ filter: Filter, in resolved: ResolvedFilter, _ replies: inout ArraySlice<SegmentExplainReply.Node>) {
    guard let reply = replies.popFirst() else { return nil }
    self.filter = filter
    self.reply = reply
    explanation = resolved.explanation(of: filter).compactMap { ExplainedNode($0, in: resolved, &replies) }
  }

  /// The conditions that make this true or false, each with a sentence.
  /// - Parameter wanted: what it would have to be, and is not.
  func reasons(against wanted: Bool) -> [String] {
    if case .not = filter { return explanation.flatMap { $0.reasons(against: !wanted) } }
    let causes = explanation.filter { $0.reply.result != wanted }
    if !causes.isEmpty { return causes.flatMap { $0.reasons(against: wanted) } }
    let value = reply.value.map { ": it has \($0) there" } ?? ""
    return [
      wanted
        ? "The contact does not meet `\(reply.text)`\(value)."
        : "The contact meets `\(reply.text)`, which leaves it out\(value)."
    ]
  }
}
