import Postgres
import Registry
import Wire

/// Makes events of claimed subscriptions from the tree as it is. Subscriptions of the same place, event and changes share one.
struct NotificationEvents: Sendable {
  let database: any Querying
  let lane: NotificationQueue.Lane

  /// Most places whose sizes are asked at once, but those of one subscription.
  private static let mostPlaces = 1000
  /// Most bytes of values and paths that are read at once, but those of one place.
  private static let portionBytes = 1 << 20

  /// Most bytes of a value that a notification can have, by the limits of the services' payloads.
  private var longestValue: Int { lane.webhook == nil ? 4096 : 65_536 }
  /// Most bytes of the paths of its leaves, which name again what they share: JSON of 4096 bytes has 341 leaves below 2000 bytes of names
  /// at worst. That of a webhook could have ten times as many as a value that is written, so then it is too large.
  private var longestPaths: Int { lane.webhook == nil ? 1 << 20 : DataTreeLeaves.longestPaths }

  /// What a child has become for a device.
  private enum ChildChange { case added, changed, removed }

  private struct Key: Hashable {
    let path: String
    let event: SubscribedEvent
    let reported: [Bool]
    let changes: JSONValue

    /// The children that may be reported, each with whether the device has it, as far as that is known; nil for too many.
    var children: [UTF8String: Bool?]? {
      guard case .object(let names) = changes, names[""] == nil else { return nil }
      return names.mapValues { if case .bool(let isThere) = $0 { isThere } else { nil } }
    }

    /// What has to be known of the tree.
    var places: [String] {
      switch event {
      case .value: [path]
      case .valueHidingData: []
      case .child: children?.keys.map { place(of: $0.text) } ?? []
      }
    }

    func place(of child: String) -> String { "\(path)\(child)/" }

    /// What is reported of a child, if anything.
    func change(wasThere: Bool?, isThere: Bool) -> ChildChange? {
      switch (wasThere, isThere) {
      case (false?, true): reported[0] ? .added : nil
      case (true?, true): reported[1] ? .changed : nil
      case (nil, true): reported[0] ? .added : reported[1] ? .changed : nil
      case (true?, false), (nil, false): reported[2] ? .removed : nil
      case (false?, false): nil
      }
    }

    /// The places whose values are sent, if they fit.
    func placesWithValues(_ sizes: [String: DataTree.Size]) -> [String] {
      guard event == .child else { return places }
      return (children ?? [:]).compactMap { name, wasThere in
        let place = place(of: name.text)
        guard sizes[place]?.leaves != 0, change(wasThere: wasThere, isThere: true) != nil else { return nil }
        return place
      }
    }
  }

  /// The event of each subscription; nil where nothing is left to report.
  func events(of claimed: [NotificationQueue.Claimed]) async throws -> [DataTreeEvent?] {
    let keys = claimed.map { one in
      one.revoked == nil
        ? one.changes.map { Key(path: one.path, event: one.event, reported: one.reported, changes: $0) } : nil
    }
    var made: [Key: DataTreeEvent?] = [:]
    var next: [Key] = []
    var places = 0
    for key in Set(keys.compactMap { $0 }) {
      next.append(key)
      places += key.places.count
      guard places >= Self.mostPlaces else { continue }
      try await make(next, &made)
      (next, places) = ([], 0)
    }
    try await make(next, &made)
    return zip(claimed, keys).map { one, key in
      guard let key else { return one.hasEnded ? .revoked(reason: one.revoked ?? "expired") : nil }
      return made[key] ?? nil
    }
  }

  private func make(_ keys: [Key], _ made: inout [Key: DataTreeEvent?]) async throws {
    let places = Array(Set(keys.flatMap(\.places)))
    let all = try await DataTree.sizes(
      database, lane.customer, lane.app, of: places, upTo: longestValue / Self.shortestLeaf + 1)
    let sizes = Dictionary(uniqueKeysWithValues: zip(places, all))
    let read = Set(
      keys.flatMap { key in valuesFit(key, sizes) ? key.placesWithValues(sizes).filter { sizes[$0]?.leaves != 0 } : [] }
    )
    let values = try await values(of: read, sizes)
    for key in keys { made[key] = event(of: key, sizes, values) }
  }

  /// Bytes of the shortest member of an object but its name, with what stands around it: `"":1`.
  private static let shortestLeaf = 4

  /// Whether the values of a subscription's places may fit into a notification.
  private func valuesFit(_ key: Key, _ sizes: [String: DataTree.Size]) -> Bool {
    var left = (leaves: longestValue / Self.shortestLeaf, valueBytes: longestValue, pathBytes: longestPaths)
    for place in key.placesWithValues(sizes) {
      guard let size = sizes[place] else { continue }
      left.leaves -= size.leaves
      left.valueBytes -= size.valueBytes
      left.pathBytes -= size.pathBytes
    }
    return left.leaves >= 0 && left.valueBytes >= 0 && left.pathBytes >= 0
  }

  private func values(of places: Set<String>, _ sizes: [String: DataTree.Size]) async throws -> [UTF8String: JSONValue]
  {
    var values: [UTF8String: JSONValue] = [:]
    var next: [String] = []
    var bytes = 0
    func read() async throws {
      let read = try await DataTree.values(database, lane.customer, lane.app, at: next)
      for (place, value) in zip(next, read) { values[place] = value }
      (next, bytes) = ([], 0)
    }
    for place in places {
      next.append(place)
      bytes += sizes[place].map { $0.valueBytes + $0.pathBytes } ?? 0
      if bytes >= Self.portionBytes { try await read() }
    }
    if !next.isEmpty { try await read() }
    return values
  }

  private func event(
    of key: Key, _ sizes: [String: DataTree.Size], _ values: [UTF8String: JSONValue]
  ) -> DataTreeEvent? {
    let valuesFit = valuesFit(key, sizes)
    switch key.event {
    case .valueHidingData: return .valueChangedHidingData
    case .value: return valuesFit ? .valueChanged(values[key.path] ?? .null) : .valueTooBig
    case .child: break
    }
    guard let children = key.children else { return .childrenTooBig }
    var update = DataTreeEvent.ChildrenUpdate()
    for (name, wasThere) in children {
      let place = key.place(of: name.text)
      // A plain null where the values are too large.
      let value = values[place] ?? .null
      switch key.change(wasThere: wasThere, isThere: sizes[place]?.leaves != 0) {
      case .added: update.added[name] = value
      case .changed: update.changed[name] = value
      case .removed: update.removed.append(name.text)
      case nil: break
      }
    }
    update.removed.sort()
    if !valuesFit { update = update.onlyKeys }
    return update.isEmpty ? nil : .childrenUpdated(update)
  }
}
