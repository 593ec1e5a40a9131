import Crypto
import FoundationEssentials
import Registry
import Wire

/// Makes the messages of a lane's notifications. Those of a place that follow each other share one, unless they are encrypted.
struct NotificationMessages {
  typealias Forms = (events: [DataTreeEvent], rendered: [RenderedMessage])

  let lane: NotificationQueue.Lane
  let vault: Vault
  private let alert: [UInt8]
  private var last: (event: DataTreeEvent, path: String, forms: Forms)?

  init(lane: NotificationQueue.Lane, vault: Vault) {
    self.lane = lane
    self.vault = vault
    alert = JSONText.quoted(lane.app)
  }

  /// An event and its smaller forms, each with its message.
  /// - Throws: `VaultError` if the subscription's key cannot be opened.
  mutating func forms(of event: DataTreeEvent, for claimed: NotificationQueue.Claimed) throws -> Forms {
    if claimed.key == nil, let last, last.path == claimed.path, last.event == event { return last.forms }
    let key = try claimed.key.map {
      try vault.open($0, context: SealedColumn.subscriptionKey.place(lane.customer, "\(claimed.id)")).bytes
    }
    let path = claimed.path.withoutLastSlash
    let events = Array(sequence(first: event, next: \.smaller))
    let forms = (
      events,
      try events.map { event in
        RenderedMessage(
          literalData: try NotificationSealing.map(event, app: lane.app, path: path, key: key), alert: alert)
      }
    )
    if key == nil { last = (event, claimed.path, forms) }
    return forms
  }
}

/// Encrypts notifications for the apps that they are sent to (AES-256-GCM).
enum NotificationSealing {
  /// The flat map of an event, whose app and path can be read and nothing else.
  /// - Parameters:
  ///   - key: 32 bytes; nil leaves the event readable.
  ///   - nonce: one that was never used with the key; nil for a random one.
  static func map(
    _ event: DataTreeEvent, app: String, path: String, key: [UInt8]?, nonce: AES.GCM.Nonce? = nil
  ) throws -> [String: String] {
    guard let key else { return DataTreePayload.map(event, app: app, path: path) }
    let box = try AES.GCM.seal(
      DataTreePayload.plaintext(event), using: SymmetricKey(data: key), nonce: nonce,
      authenticating: DataTreePayload.authenticated(app: app, path: path))
    let sealed = Data(Array(box.nonce) + Array(box.ciphertext) + Array(box.tag))
    return [
      DataTreePayload.app: app, DataTreePayload.path: path, DataTreePayload.sealed: sealed.base64EncodedString(),
    ]
  }
}
