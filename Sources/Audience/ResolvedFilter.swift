package import Registry
package import Wire

/// Who is in a segment: those that meet a filter, or those that were put into it.
package enum SegmentDefinition: Sendable, Hashable {
  case filter(Filter)
  case members
}

/// Segments by their numbers.
package typealias SegmentDefinitions = [Int64: SegmentDefinition]

/// A filter whose lists and segments exist and have numbers in place of names. `Segments.resolve` makes it, with the definitions of these segments.
package struct ResolvedFilter: Sendable, Hashable {
  package let filter: Filter
  let segments: SegmentDefinitions
  /// The time that the filter takes for now, for tests, in milliseconds since 1970; nil for the database's.
  package var now: Int64?

  init(_ filter: Filter, _ segments: SegmentDefinitions = [:]) {
    self.filter = filter
    self.segments = segments
  }

  /// The one SQL that counts, lists, exports and freezes.
  package var sql: FilterSQL { sql(for: .all) }

  /// As `sql`, for statements that look at some ten thousand contacts at most.
  package var sqlOfFew: FilterSQL { sql(for: .few) }

  /// As `sql`, for statements that look at contacts in a range of numbers alone.
  /// - Parameter range: SQL that follows a number, as in `BETWEEN 1 AND 9`.
  package func sql(within range: String) -> FilterSQL { sql(for: .numbers(range)) }

  /// As `sql`, for pages of contacts.
  package var ofPage: PageFilter {
    let all = sql(for: .all, namingIndexes: true)
    if namesSendout { return PageFilter(all, first: (sqlOfFew, 5000)) }
    var (asksContacts, asksOthers) = (false, segments.values.contains(.members))
    for condition in conditions {
      switch condition {
      case .compare(.device, _), .list, .device, .activity, .outcome: asksOthers = true
      case .compare, .birthday, .bucket: asksContacts = true
      case .everyone, .segment, .and, .or, .not: break
      }
    }
    guard asksContacts else { return PageFilter(all) }
    return PageFilter(all, first: asksOthers ? (sqlOfFew, 5000) : (sql, 20_000))
  }

  /// As `sql`, for statements that look at some contacts alone.
  func sql(for reach: FilterCompiler.Reach, namingIndexes: Bool = false) -> FilterSQL {
    var compiler = FilterCompiler(segments, reach: reach, namingIndexes: namingIndexes)
    let condition = compiler.whole(filter)
    return FilterSQL(
      template: dated(condition.sql), literals: compiler.literals, join: compiler.join, lookUps: lookUps)
  }

  /// Conditions that name fields of contacts alone, as SQL with the same literals.
  package static func conditions(_ filters: [Filter]) -> [FilterSQL] {
    var compiler = FilterCompiler([:])
    let parts = filters.map { compiler.condition($0).sql }
    return parts.map { FilterSQL(template: $0, literals: compiler.literals) }
  }

  /// The template with `now` in place of its mark, if a test has set it.
  func dated(_ template: String) -> String {
    guard let now else { return template }
    return template.replacing(FilterSQL.nowMark, with: "(timestamptz 'epoch' + \(now) * interval '1 millisecond')")
  }

  /// As `sql`, for `report.segment_contacts`, where segments inside are what they are at the time. It has the join of all filters.
  var reportSQL: FilterSQL {
    var compiler = FilterCompiler(segments, callsSegments: true)
    let condition = compiler.whole(filter)
    return FilterSQL(template: condition.sql, literals: compiler.literals)
  }

  /// Whether it names a sendout, whose pushes are read as a whole however few contacts are looked at.
  var namesSendout: Bool {
    conditions.contains { condition in
      switch condition {
      case .activity(let activity): activity.sendout != nil
      case .outcome: true
      default: false
      }
    }
  }

  /// Whether this, or the filter of a segment inside, asks for a personal field.
  package var isPersonal: Bool {
    let inside = segments.values.compactMap { if case .filter(let filter) = $0 { filter } else { nil } }
    return ([filter] + inside).flatMap(\.all).contains { part in
      switch part {
      case .compare(let field, _), .birthday(let field, _): field.isPersonal
      case .everyone, .and, .or, .not, .list, .segment, .device, .activity, .outcome, .bucket: false
      }
    }
  }

  /// The conditions of this, and behind them those of the filters of segments inside.
  var conditions: [Filter] {
    let inside = segments.values.compactMap { if case .filter(let filter) = $0 { filter } else { nil } }
    return ([filter] + inside).flatMap(\.conditions)
  }

  /// How many conditions its SQL has, up to one more than it may have.
  var size: Int { count(upTo: Segments.mostConditions) { $0.operands.isEmpty } }

  /// A text by which counts of the same filter are found: its line, and those of its segments.
  var identity: String {
    let inside = segments.sorted { $0.key < $1.key }.map { number, definition in
      switch definition {
      case .filter(let filter): "\(number): \(filter.text)"
      case .members: "\(number)"
      }
    }
    return ([filter.text] + inside).joined(separator: "\n")
  }
}

extension ResolvedFilter {
  /// Where it names one of these segments, or one that leads to one of them by the segments in it.
  func place(leadingTo wanted: [FilterReference]) -> FilterPlace {
    var seen: Set<Int64> = []
    func leads(_ reference: FilterReference) -> Bool {
      guard case .number(let other, _) = reference else { return false }
      if wanted.contains(reference) { return true }
      guard seen.insert(other).inserted, case .filter(let inside)? = segments[other] else { return false }
      return inside.segmentReferences.contains(where: leads)
    }
    for case .number(let other, let place) in filter.segmentReferences where leads(.number(other)) { return place }
    return FilterPlace()
  }

  /// The contacts that meet this filter and not the other.
  package func excluding(_ other: ResolvedFilter) -> ResolvedFilter {
    let left = Filter.not(other.filter)
    return ResolvedFilter(
      filter == .everyone ? left : .and([filter, left]), segments.merging(other.segments) { one, _ in one })
  }
}

extension ResolvedFilter {
  /// What explains a node: its operands, or the filter of its segment. A `device` is explained as a whole, as its operands are about a device.
  func explanation(of node: Filter) -> [Filter] {
    switch node {
    case .device: []
    case .segment(.number(let number, _)): if case .filter(let filter)? = segments[number] { [filter] } else { [] }
    default: node.operands
    }
  }
}

extension Filter {
  /// Where a condition stands that names something; nil of other ones, whose place is not kept.
  var place: FilterPlace? {
    switch self {
    case .list(.number(_, let place)), .list(.name(_, let place)): place
    case .segment(.number(_, let place)), .segment(.name(_, let place)): place
    case .activity(let activity): activity.place
    case .outcome(let outcome): outcome.sendoutPlace
    case .everyone, .and, .or, .not, .compare, .birthday, .device, .bucket: nil
    }
  }

  /// The numbers and names of its segments, without those that these name.
  var segmentReferences: [FilterReference] {
    conditions.compactMap { if case .segment(let reference) = $0 { reference } else { nil } }
  }

  /// The numbers and names of its lists.
  var listReferences: [FilterReference] {
    conditions.compactMap { if case .list(let reference) = $0 { reference } else { nil } }
  }

  /// The numbers of its sendouts.
  var sendoutReferences: [FilterReference] {
    conditions.compactMap { condition in
      switch condition {
      case .activity(let activity): activity.sendout.map { .number($0, at: activity.sendoutPlace) }
      case .outcome(let outcome): .number(outcome.sendout, at: outcome.sendoutPlace)
      default: nil
      }
    }
  }
}
