/// Names of members of FCM's `data` (FCM's reference, REST resource `projects.messages`).
public enum FCMDataName {
  /// Whether FCM refuses a message with a member of this name.
  public static func isReserved(_ name: String) -> Bool {
    let bytes = Array(name.utf8)
    return reserved.contains(bytes) || prefixes.contains { bytes.starts(with: $0) }
  }

  private static let reserved = Set(["from", "message_type", "collapse_key"].map { Array($0.utf8) })
  private static let prefixes = ["google", "gcm"].map { Array($0.utf8) }
}
