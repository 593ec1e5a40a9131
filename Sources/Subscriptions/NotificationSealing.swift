import Crypto
import FoundationEssentials
import Wire

/// Encrypts notifications for the apps that they are sent to (AES-256-GCM).
enum NotificationSealing {
  /// The flat map of an event, whose app and path can be read and nothing else.
  /// - Parameters:
  ///   - key: 32 bytes; nil leaves the event readable.
  ///   - nonce: one that was never used with the key; nil for a random one.
  static func map(
    _ event: DatasyncEvent, app: String, path: String, key: [UInt8]?, nonce: AES.GCM.Nonce? = nil
  ) throws -> [String: String] {
    guard let key else { return DatasyncPayload.map(event, app: app, path: path) }
    let box = try AES.GCM.seal(
      DatasyncPayload.plaintext(event), using: SymmetricKey(data: key), nonce: nonce,
      authenticating: DatasyncPayload.authenticated(app: app, path: path))
    let sealed = Data(Array(box.nonce) + Array(box.ciphertext) + Array(box.tag))
    return [
      DatasyncPayload.app: app, DatasyncPayload.path: path, DatasyncPayload.sealed: sealed.base64EncodedString(),
    ]
  }
}
