/// What a filter is made of.
extension Filter {
  /// The filters that this one joins, negates or asks of a device, in the order of the line.
  public var operands: [Filter] {
    switch self {
    case .and(let filters), .or(let filters): filters
    case .not(let filter), .device(let filter): [filter]
    case .everyone, .compare, .birthday, .list, .segment, .activity, .bucket: []
    }
  }

  /// This filter and all in it, each before its operands.
  public var nodes: [Filter] { [self] + operands.flatMap(\.nodes) }

  /// The nodes without operands, which `FilterLimits.conditions` limits.
  public var conditions: [Filter] { nodes.filter(\.operands.isEmpty) }

  /// The filter with each of its conditions replaced, such as names of lists by their numbers.
  public func mapConditions(_ change: (Filter) throws -> Filter) rethrows -> Filter {
    switch self {
    case .and(let filters): .and(try filters.map { try $0.mapConditions(change) })
    case .or(let filters): .or(try filters.map { try $0.mapConditions(change) })
    case .not(let filter): .not(try filter.mapConditions(change))
    case .device(let filter): .device(try filter.mapConditions(change))
    case .everyone, .compare, .birthday, .list, .segment, .activity, .bucket: try change(self)
    }
  }
}
