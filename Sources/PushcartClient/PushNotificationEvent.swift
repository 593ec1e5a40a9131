import Crypto
public import FoundationEssentials
public import Wire

/// A notification of a data tree, as an app or its service extension gets it.
///
/// ```swift
/// guard PushNotificationEvent.isPushNotification(payload) else { return }  // of another sender
/// let notification = try PushNotificationEvent(payload, key: key)
/// switch notification.event {
/// case .valueChange(.value(let value)): …
/// ```
public struct PushNotificationEvent: Sendable, Hashable {
  public let appId: String
  /// The place that is subscribed to; begins with a slash.
  public let path: String
  public let event: Event

  public enum Event: Sendable, Hashable {
    case valueChange(ValueChange)
    case childrenUpdate(ChildrenUpdate)
    /// The subscription has ended.
    case revocation(reason: String)
  }

  public enum ValueChange: Sendable, Hashable {
    /// The new value; null if there is none any more.
    case value(JSONValue)
    /// The app has to read it.
    case hidden
    /// It is too large for a notification: the app has to read it.
    case tooBig
  }

  public enum ChildrenUpdate: Sendable, Hashable {
    case full(Children)
    /// The values are too large for a notification.
    case onlyKeys(ChildNames)
    /// Even the names are.
    case tooBig
  }

  public struct Children: Sendable, Hashable {
    public let additions: [UTF8String: JSONValue]
    public let changes: [UTF8String: JSONValue]
    public let removals: [String]
  }

  public struct ChildNames: Sendable, Hashable {
    public let additions: [String]
    public let changes: [String]
    public let removals: [String]
  }

  /// Why a payload cannot be read.
  public enum Problem: Error, Sendable, Hashable {
    /// It is of another sender.
    case otherSender
    /// It is encrypted, and there was no key.
    case keyMissing
    /// The key does not open it, or somebody has changed it.
    case notOpened
    /// Its event is none of this version.
    case unknownEvent
  }

  /// Whether a push comes from a data tree.
  /// - Parameter payload: FCM's `data`; of Push Kit its `data`, read as JSON.
  public static func isPushNotification(_ payload: [String: String]) -> Bool {
    payload[DataTreePayload.app] != nil && payload[DataTreePayload.path]?.utf8.first == UInt8(ascii: "/")
      && (payload[DataTreePayload.event] != nil || payload[DataTreePayload.sealed] != nil)
  }

  /// Reads a payload.
  /// - Parameter key: the subscription's `encryptionKey`, 32 bytes. It is needed for notifications that are encrypted.
  /// - Throws: `Problem`.
  public init(_ payload: [String: String], key: Data? = nil) throws(Problem) {
    guard Self.isPushNotification(payload), let app = payload[DataTreePayload.app],
      let path = payload[DataTreePayload.path]
    else { throw .otherSender }
    appId = app
    self.path = path
    guard let sealed = payload[DataTreePayload.sealed] else {
      guard let event = DataTreePayload.event(in: payload) else { throw .unknownEvent }
      self.event = Event(event)
      return
    }
    guard let key else { throw .keyMissing }
    guard key.count == 32, let bytes = Data(base64Encoded: sealed), let box = try? AES.GCM.SealedBox(combined: bytes),
      let opened = try? AES.GCM.open(
        box, using: SymmetricKey(data: key), authenticating: DataTreePayload.authenticated(app: app, path: path))
    else { throw .notOpened }
    guard let event = DataTreePayload.event(plaintext: Array(opened)) else { throw .unknownEvent }
    self.event = Event(event)
  }
}

extension PushNotificationEvent.Event {
  fileprivate init(_ event: DataTreeEvent) {
    self =
      switch event {
      case .valueChanged(let value): .valueChange(.value(value))
      case .valueTooBig: .valueChange(.tooBig)
      case .valueChangedHidingData: .valueChange(.hidden)
      case .childrenTooBig: .childrenUpdate(.tooBig)
      case .revoked(let reason): .revocation(reason: reason)
      case .childrenUpdated(let update): .childrenUpdate(Self.children(update))
      }
  }

  private static func children(_ update: DataTreeEvent.ChildrenUpdate) -> PushNotificationEvent.ChildrenUpdate {
    // No child is null, so values that all are were left out.
    if !(update.added.isEmpty && update.changed.isEmpty), update == update.onlyKeys {
      return .onlyKeys(
        .init(
          additions: update.added.keys.sorted().map(\.text), changes: update.changed.keys.sorted().map(\.text),
          removals: update.removed))
    }
    return .full(.init(additions: update.added, changes: update.changed, removals: update.removed))
  }
}

extension JSONValue {
  /// The value as JSON text, with members in the order of their names.
  public var serialized: String { String(decoding: json, as: UTF8.self) }
}
