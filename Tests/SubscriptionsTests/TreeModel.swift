import Wire

/// A data tree as a plain value, and what its subscriptions have to be told: the rules once more, without leaves and without SQL.
struct TreeModel {
  var root = JSONValue.null
  var subscriptions: [Subscription] = []

  struct Subscription {
    var path: [String]
    var event: SubscribedEvent
    var tells: (added: Bool, changed: Bool, removed: Bool)
    /// Whether something is to be told.
    var isPending = false
    /// Children by name, each with whether it was there when the last notification left.
    var children: [UTF8String: Bool] = [:]
  }

  func value(at path: [String]) -> JSONValue { path.reduce(root) { $0[$1] ?? .null } }

  mutating func put(_ value: JSONValue, at path: [String]) {
    change { $0 = Self.replacing($0, path[...], value) }
  }

  mutating func patch(_ children: [UTF8String: JSONValue], at path: [String]) {
    change { root in
      for (name, value) in children { root = Self.replacing(root, (path + [name.text])[...], value) }
    }
  }

  private mutating func change(_ body: (inout JSONValue) -> Void) {
    let before = self
    body(&root)
    for index in subscriptions.indices {
      let path = subscriptions[index].path
      let (old, new) = (before.value(at: path), value(at: path))
      if old != new { subscriptions[index].note(old, new) }
    }
  }

  /// Without empty objects: they are the same as nothing.
  private static func replacing(_ tree: JSONValue, _ path: ArraySlice<String>, _ value: JSONValue) -> JSONValue {
    guard let name = path.first else { return plain(value) }
    let child = replacing(tree[name] ?? .null, path.dropFirst(), value)
    guard case .object(var members) = tree else {
      return child == .null ? tree : .object([UTF8String(name): child])
    }
    members[name] = nil
    if child != .null { members[name] = child }
    return members.isEmpty ? .null : .object(members)
  }

  private static func plain(_ value: JSONValue) -> JSONValue {
    guard case .object(let members) = value else { return value }
    let plain = members.mapValues(plain).filter { $0.value != .null }
    return plain.isEmpty ? .null : .object(plain)
  }

  /// What each subscription is told now, and nothing of it twice.
  mutating func events() -> [DataTreeEvent?] {
    subscriptions.indices.map { index in
      let event = subscriptions[index].told(value(at: subscriptions[index].path))
      (subscriptions[index].isPending, subscriptions[index].children) = (false, [:])
      return event
    }
  }
}

extension TreeModel.Subscription {
  fileprivate mutating func note(_ old: JSONValue, _ new: JSONValue) {
    guard event == .child else { return isPending = true }
    let (old, new) = (Self.members(old), Self.members(new))
    for name in Set(old.keys).union(new.keys) where old[name] != new[name] {
      let isTold =
        switch (old[name], new[name]) {
        case (nil, _): tells.added
        case (_, nil): tells.removed
        default: tells.changed
        }
      guard isTold else { continue }
      isPending = true
      children[name] = children[name] ?? (old[name] != nil)
    }
  }

  private static func members(_ value: JSONValue) -> [UTF8String: JSONValue] {
    if case .object(let members) = value { members } else { [:] }
  }

  fileprivate func told(_ value: JSONValue) -> DataTreeEvent? {
    guard isPending else { return nil }
    switch event {
    case .value: return .valueChanged(value)
    case .valueHidingData: return .valueChangedHidingData
    case .child:
      var update = DataTreeEvent.ChildrenUpdate()
      for (name, wasThere) in children {
        switch (wasThere, value[name.text]) {
        case (false, let new?) where tells.added: update.added[name] = new
        case (true, let new?) where tells.changed: update.changed[name] = new
        case (true, nil) where tells.removed: update.removed.append(name.text)
        default: break
        }
      }
      update.removed.sort()
      return update.isEmpty ? nil : .childrenUpdated(update)
    }
  }
}
