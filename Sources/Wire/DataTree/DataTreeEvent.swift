/// What a subscription's notification says (Webcom, "Parsing the notification payload").
public enum DataTreeEvent: Sendable, Hashable {
  /// The value is another one; null if there is none any more.
  case valueChanged(JSONValue)
  /// The value is another one, and too large for the messaging service.
  case valueTooBig
  /// The value is another one, which the app has to read.
  case valueChangedHidingData
  /// Children were added, got other values, or were removed.
  case childrenUpdated(ChildrenUpdate)
  /// Children were changed, and even their names are too large for the messaging service.
  case childrenTooBig
  /// The subscription has ended.
  case revoked(reason: String)

  public struct ChildrenUpdate: Sendable, Hashable {
    /// By name; all null where the values are too large.
    public var added: [UTF8String: JSONValue]
    public var changed: [UTF8String: JSONValue]
    public var removed: [String]

    public init(added: [UTF8String: JSONValue] = [:], changed: [UTF8String: JSONValue] = [:], removed: [String] = []) {
      self.added = added
      self.changed = changed
      self.removed = removed
    }

    /// The names alone, with null for each value.
    public var onlyKeys: ChildrenUpdate {
      ChildrenUpdate(added: added.mapValues { _ in .null }, changed: changed.mapValues { _ in .null }, removed: removed)
    }

    public var isEmpty: Bool { added.isEmpty && changed.isEmpty && removed.isEmpty }
  }

  /// Its name in `webcom.event`.
  public var name: String {
    switch self {
    case .valueChanged: "Value.Changed"
    case .valueTooBig: "Value.TooBig"
    case .valueChangedHidingData: "Value.ChangedHidingData"
    case .childrenUpdated: "Children.Updated"
    case .childrenTooBig: "Children.TooBig"
    case .revoked: "Revoked"
    }
  }

  /// What `webcom.data` holds; nil for events that have no data.
  public var data: JSONValue? {
    switch self {
    case .valueChanged(let value): value
    case .childrenUpdated(let update):
      [
        "added": .object(update.added), "changed": .object(update.changed),
        "removed": .array(update.removed.map(JSONValue.string)),
      ]
    case .revoked(let reason): ["reason": .string(reason)]
    case .valueTooBig, .valueChangedHidingData, .childrenTooBig: nil
    }
  }

  /// Reads a notification; nil if it is of no known event, or its data has another form.
  public init?(name: String, data: JSONValue?) {
    switch name {
    case "Value.Changed":
      guard let data else { return nil }
      self = .valueChanged(data)
    case "Value.TooBig": self = .valueTooBig
    case "Value.ChangedHidingData": self = .valueChangedHidingData
    case "Children.Updated":
      guard case .object(let added) = data?["added"], case .object(let changed) = data?["changed"],
        case .array(let removed) = data?["removed"]
      else { return nil }
      self = .childrenUpdated(ChildrenUpdate(added: added, changed: changed, removed: removed.compactMap(\.text)))
    case "Children.TooBig": self = .childrenTooBig
    case "Revoked":
      guard let reason = data?["reason"]?.text else { return nil }
      self = .revoked(reason: reason)
    default: return nil
    }
  }

  /// The next smaller form of the event for a messaging service that finds it too large; nil if there is none.
  public var smaller: DataTreeEvent? {
    switch self {
    case .valueChanged: .valueTooBig
    case .childrenUpdated(let update):
      update == update.onlyKeys ? .childrenTooBig : .childrenUpdated(update.onlyKeys)
    default: nil
    }
  }
}

/// The names in a notification's flat map.
public enum DataTreePayload {
  public static let app = "webcom.app"
  /// Begins with a slash.
  public static let path = "webcom.path"
  public static let event = "webcom.event"
  /// JSON of the value, or of what became of the children.
  public static let data = "webcom.data"
  /// In place of event and data: base64 of nonce, ciphertext and tag (AES-256-GCM) of `{"event":…,"data":…}`. App and path are
  /// authenticated with it.
  public static let sealed = "webcom.sealed"

  /// JSON of an event may be nested more deeply: names of a path, an array below them, and what the event puts around it.
  static let rules: JSONReader.Rules = {
    var rules = DataTreePath.rules
    rules.deepest += DataTreePath.maximumDepth + 4
    return rules
  }()

  /// The flat map of an event that is not encrypted.
  public static func map(_ event: DataTreeEvent, app appID: String, path: String) -> [String: String] {
    var map = [app: appID, self.path: path, self.event: event.name]
    map[data] = event.data.map { String(decoding: $0.json, as: UTF8.self) }
    return map
  }

  /// What is encrypted of an event: its name, and its data as JSON.
  public static func plaintext(_ event: DataTreeEvent) -> [UInt8] {
    var members: [UTF8String: JSONValue] = ["event": .string(event.name)]
    members["data"] = event.data
    return JSONValue.object(members).json
  }

  /// What is authenticated with it.
  public static func authenticated(app: String, path: String) -> [UInt8] { Array((app + path).utf8) }

  /// The event of a flat map that is not encrypted; nil if there is none in it.
  public static func event(in map: [String: String]) -> DataTreeEvent? {
    guard let name = map[event] else { return nil }
    return DataTreeEvent(name: name, data: map[data].flatMap { try? JSONValue(json: Array($0.utf8), rules: rules) })
  }

  /// The event of what was encrypted; nil if there is none in it.
  public static func event(plaintext: [UInt8]) -> DataTreeEvent? {
    guard let object = try? JSONValue(json: plaintext, rules: rules), let name = object["event"]?.text else {
      return nil
    }
    return DataTreeEvent(name: name, data: object["data"])
  }
}
