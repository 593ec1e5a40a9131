package import Registry
package import Wire

/// Who is in a segment: those that meet a filter, or those that were put into it.
package enum SegmentDefinition: Sendable, Hashable {
  case filter(Filter)
  case members
}

/// Segments by their numbers.
package typealias SegmentDefinitions = [Int64: SegmentDefinition]

/// A filter whose lists and segments exist, named by numbers, with the filters of these segments as they are now. `Segments.resolve` makes it.
package struct ResolvedFilter: Sendable, Hashable {
  package let filter: Filter
  let segments: SegmentDefinitions
  /// When it is, for tests: milliseconds since 1970. The database's own time if nil.
  package var now: Int64?

  init(_ filter: Filter, _ segments: SegmentDefinitions = [:]) {
    self.filter = filter
    self.segments = segments
  }

  /// The one SQL that counts, lists, exports and freezes.
  package var sql: FilterSQL {
    var compiler = FilterCompiler(segments)
    let condition = compiler.condition(filter)
    return FilterSQL(template: dated(condition.sql), literals: compiler.literals, join: compiler.join)
  }

  /// With the moment in its place, if there is one.
  func dated(_ template: String) -> String {
    guard let now else { return template }
    return template.replacing(FilterSQL.nowMark, with: "(timestamptz 'epoch' + \(now) * interval '1 millisecond')")
  }

  /// As `sql`, for `report.segment_contacts`, where segments inside are what they are at the time. It has the join of all filters.
  var reportSQL: FilterSQL {
    var compiler = FilterCompiler(segments, callsSegments: true)
    let condition = compiler.condition(filter)
    return FilterSQL(template: condition.sql, literals: compiler.literals)
  }

  /// All parts of this and of the filters of segments inside.
  private var parts: [Filter] {
    let inside = segments.values.compactMap { if case .filter(let filter) = $0 { filter } else { nil } }
    return ([filter] + inside).flatMap(\.all)
  }

  /// Whether it names a sendout, whose pushes are read as a whole however few contacts are looked at.
  var namesSendout: Bool {
    parts.contains { if case .activity(let activity) = $0 { activity.sendout != nil } else { false } }
  }

  /// Whether this, or the filter of a segment inside, asks for a personal field.
  package var isPersonal: Bool {
    parts.contains { part in
      switch part {
      case .compare(let field, _), .birthday(let field, _): field.isPersonal
      case .everyone, .and, .or, .not, .list, .segment, .device, .activity, .bucket: false
      }
    }
  }

  /// What is the same for filters that mean the same contacts: the line, and those of segments.
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

/// Whom an audience is, when its contacts have to meet a filter.
extension ResolvedFilter {
  /// Those who meet this and not the other.
  package func excluding(_ other: ResolvedFilter) -> ResolvedFilter {
    let left = Filter.not(other.filter)
    return ResolvedFilter(
      filter == .everyone ? left : .and([filter, left]), segments.merging(other.segments) { one, _ in one })
  }
}

extension Filter {
  /// The filters that this one has, in their order. Those of a device are about the device, and are not among them.
  var parts: [Filter] {
    switch self {
    case .and(let parts), .or(let parts): parts
    case .not(let part): [part]
    case .everyone, .compare, .birthday, .list, .segment, .device, .activity, .bucket: []
    }
  }

  /// This filter and all in it, each before its parts.
  var all: [Filter] { [self] + parts.flatMap(\.all) }

  /// How many conditions it has.
  var conditions: Int {
    switch self {
    case .and, .or, .not: parts.reduce(0) { $0 + $1.conditions }
    case .device(let inside): max(1, inside.conditions)
    case .everyone, .compare, .birthday, .list, .segment, .activity, .bucket: 1
    }
  }

  /// Puts other references in place of those to lists and segments, and keeps all other conditions.
  func renamed(
    list: (FilterReference) throws -> FilterReference, segment: (FilterReference) throws -> FilterReference
  ) rethrows -> Filter {
    switch self {
    case .and(let parts): .and(try parts.map { try $0.renamed(list: list, segment: segment) })
    case .or(let parts): .or(try parts.map { try $0.renamed(list: list, segment: segment) })
    case .not(let part): .not(try part.renamed(list: list, segment: segment))
    case .list(let reference): .list(try list(reference))
    case .segment(let reference): .segment(try segment(reference))
    case .everyone, .compare, .birthday, .device, .activity, .bucket: self
    }
  }

  /// The numbers and names of its segments, without those in these.
  var segmentReferences: [FilterReference] {
    all.compactMap { if case .segment(let reference) = $0 { reference } else { nil } }
  }

  /// The numbers and names of its lists.
  var listReferences: [FilterReference] {
    all.compactMap { if case .list(let reference) = $0 { reference } else { nil } }
  }
}
