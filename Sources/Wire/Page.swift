/// One page of a list.
public struct Page<Item: Codable & Sendable, Cursor: Codable & Sendable>: Codable, Sendable {
  public var items: [Item]
  /// What to give as `after` for the next page; absent on the last one.
  public var next: Cursor?

  public init(items: [Item], next: Cursor?) {
    self.items = items
    self.next = next
  }
}

extension Page: Equatable where Item: Equatable, Cursor: Equatable {}

/// Which part of a list to give.
public struct PageRequest<Cursor: Sendable>: Sendable {
  /// Give what comes behind this one; `nil` for the first page.
  public var after: Cursor?
  /// Count of items, 1 to 1000.
  public var limit: Int

  public static var limits: ClosedRange<Int> { 1...1000 }
  public static var usualLimit: Int { 100 }

  public init(after: Cursor? = nil, limit: Int = Self.usualLimit) {
    self.after = after
    self.limit = limit
  }
}

extension PageRequest {
  /// A page out of what a statement gave that was asked for one item more than the limit: the last one only tells
  /// that there is a further page.
  public func page<Item>(of found: [Item], cursor: (Item) -> Cursor) -> Page<Item, Cursor>
  where Item: Codable & Sendable, Cursor: Codable {
    let items = found.prefix(limit)
    return Page(items: Array(items), next: found.count > limit ? items.last.map(cursor) : nil)
  }
}
