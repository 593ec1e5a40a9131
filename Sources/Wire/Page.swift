/// One page of a list.
public struct Page<Item: Codable & Sendable, Cursor: Codable & Sendable>: Codable, Sendable {
  public var items: [Item]
  public var next: Cursor?

  public init(items: [Item], next: Cursor? = nil) {
    self.items = items
    self.next = next
  }
}

extension Page: SchemaProviding, APIObject where Item: APIObject, Cursor: SchemaProviding {
  public static var schemaName: String? { nil }
  public static var schemaDescription: String { "" }
  public static var example: Page { Page(items: [Item.example]) }

  public static var fieldTable: FieldTable {
    ["items": "The items of this page.", "next": "The `after` of the next page. Absent on the last page."]
  }
}

extension Page: Equatable where Item: Equatable, Cursor: Equatable {}

/// Which part of a list to return.
public struct PageRequest<Cursor: Sendable>: Sendable {
  /// The cursor of the last item before this page; `nil` for the first page.
  public var after: Cursor?
  /// Items on a page, 1 to 1000. Of long ones there are fewer.
  public var limit: Int

  public static var limits: ClosedRange<Int> { 1...1000 }
  public static var usualLimit: Int { 100 }

  public init(after: Cursor? = nil, limit: Int = Self.usualLimit) {
    self.after = after
    self.limit = limit
  }
}

extension PageRequest {
  /// A page of what a statement returned that was asked for one item more than the limit. The last item only shows that
  /// there is a further page.
  public func page<Item>(of found: [Item], cursor: (Item) -> Cursor) -> Page<Item, Cursor>
  where Item: Codable & Sendable, Cursor: Codable {
    let items = found.prefix(limit)
    return Page(items: Array(items), next: found.count > limit ? items.last.map(cursor) : nil)
  }

  /// A page that ends early where its items are long. An item that is beyond it only shows that there is a further page.
  public func page<Item>(of found: [(item: Item, isBeyond: Bool)], cursor: (Item) -> Cursor) -> Page<Item, Cursor>
  where Item: Codable & Sendable, Cursor: Codable {
    let items = found.prefix(limit).prefix { !$0.isBeyond }.map(\.item)
    return Page(items: items, next: found.count > items.count ? items.last.map(cursor) : nil)
  }
}
