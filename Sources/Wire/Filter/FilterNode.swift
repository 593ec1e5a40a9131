/// A part of a filter, for showing a filter row by row and explaining it.
public struct FilterNode: Sendable, Hashable {
  public let filter: Filter
  /// 0 for the whole filter, and 1 more in each `and`, `or`, `not` and `device`.
  public let level: Int
  /// Whether it is asked of one device.
  public let isInDevice: Bool

  /// The part as a line.
  public var text: String { filter.text }
}

extension Filter {
  /// Every part, each before those in it, in the order of the line.
  public var nodes: [FilterNode] { nodes(at: 0, isInDevice: false) }

  private func nodes(at level: Int, isInDevice: Bool) -> [FilterNode] {
    let inDevice = if case .device = self { true } else { isInDevice }
    let inner = operands.flatMap { $0.nodes(at: level + 1, isInDevice: inDevice) }
    return [FilterNode(filter: self, level: level, isInDevice: isInDevice)] + inner
  }

  /// The filters that this one joins, negates or asks of a device.
  public var operands: [Filter] {
    switch self {
    case .and(let filters), .or(let filters): filters
    case .not(let filter), .device(let filter): [filter]
    default: []
    }
  }

  /// The filter with each condition in it replaced, such as names of lists by their numbers.
  public func mapConditions(_ change: (Filter) throws -> Filter) rethrows -> Filter {
    switch self {
    case .and(let filters): .and(try filters.map { try $0.mapConditions(change) })
    case .or(let filters): .or(try filters.map { try $0.mapConditions(change) })
    case .not(let filter): .not(try filter.mapConditions(change))
    case .device(let filter): .device(try filter.mapConditions(change))
    default: try change(self)
    }
  }
}
