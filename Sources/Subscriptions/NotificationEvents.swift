import Postgres
import Registry
import Wire

/// Makes events of claimed subscriptions from the tree as it is now. Subscriptions of the same place, event and changes share one.
struct NotificationEvents: Sendable {
  let database: any Querying
  let lane: NotificationQueue.Lane

  /// Most bytes of a value that is read for a notification: more never fits.
  static let mostBytes = 65_536

  private struct Key: Hashable {
    let path: String
    let event: SubscribedEvent
    let tells: [Bool]
    let changes: JSONValue?
    let revoked: String?
  }

  private var made: [Key: DatasyncEvent?] = [:]

  init(_ database: any Querying, _ lane: NotificationQueue.Lane) {
    self.database = database
    self.lane = lane
  }

  /// The event of a subscription; nil if nothing is left to tell.
  mutating func event(of claimed: NotificationQueue.Claimed) async throws -> DatasyncEvent? {
    if let revoked = claimed.revoked { return .revoked(reason: revoked) }
    guard let changes = claimed.changes else { return .revoked(reason: "expired") }
    let tells = [claimed.tells.added, claimed.tells.changed, claimed.tells.removed]
    let key = Key(path: claimed.path, event: claimed.event, tells: tells, changes: changes, revoked: nil)
    if let made = made[key] { return made }
    let event = try await make(claimed, changes)
    made[key] = event
    return event
  }

  private func make(_ claimed: NotificationQueue.Claimed, _ changes: JSONValue) async throws -> DatasyncEvent? {
    switch claimed.event {
    case .valueHidingData: return .valueChangedHidingData
    case .value: return try await leaves(claimed.path).map { .valueChanged($0.value(at: claimed.path)) } ?? .valueTooBig
    case .child: return try await children(claimed, changes)
    }
  }

  /// The children whose state is another than the last notification knew, and is to be told.
  private func children(
    _ claimed: NotificationQueue.Claimed, _ changes: JSONValue
  ) async throws -> DatasyncEvent? {
    guard case .object(let names) = changes, names[""] == nil else { return .childrenTooBig }
    var update = DatasyncEvent.ChildrenUpdate()
    var left = Self.mostBytes
    for (name, wasThere) in names {
      let path = "\(claimed.path)\(name)/"
      var value: JSONValue?
      if left > 0, let leaves = try await leaves(path) {
        left -= leaves.json.reduce(0) { $0 + $1.value.utf8.count }
        // A plain nil would be JSON's null here.
        if !leaves.json.isEmpty { value = leaves.value(at: path) }
      } else if try await !isEmpty(path) {
        // There, and too large to be told.
        left = 0
        value = .null
      }
      switch (wasThere == true, value) {
      case (false, let value?): if claimed.tells.added { update.added[name] = value }
      case (true, let value?): if claimed.tells.changed { update.changed[name] = value }
      case (true, nil): if claimed.tells.removed { update.removed.append(name) }
      case (false, nil): break
      }
    }
    update.removed.sort()
    if left <= 0 { update = update.onlyKeys }
    return update.isEmpty ? nil : .childrenUpdated(update)
  }

  private func leaves(_ path: String) async throws -> DatasyncLeaves? {
    try await DataTree.leaves(
      database, lane.customer, lane.app, path, mostBytes: Self.mostBytes, most: Self.mostBytes / 4)
  }

  private func isEmpty(_ path: String) async throws -> Bool {
    try await DataTree.leaves(database, lane.customer, lane.app, path, mostBytes: .max, most: 0) != nil
  }
}
