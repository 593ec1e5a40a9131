import Registry
import Wire

/// What webhooks are told of sendouts, by the statements that change them. Each of those returns its row as `changed`:
/// `WITH changed AS (UPDATE sendout … RETURNING \(columns)), \(SendoutEventSQL.told) SELECT … FROM changed`.
///
/// Streams of single messages begin and end each day, and are not told of.
enum SendoutEventSQL {
  /// That the sendout is paused now, or over. One that is cancelled before its freeze was never told of as started, so its end is not told.
  static let told = """
    told AS (\(changed("(state = 'paused' OR frozen_at IS NOT NULL AND state IN ('finished', 'cancelled'))")))
    """

  /// That the sendout has started: its audience is frozen, which happens once. The freeze may also have paused it, as it has too many contacts.
  static let toldOfFreeze = """
    started_told AS (\(EventSQL.note(.sendoutStarted, of: "changed", where: "kind = 'broadcast'", sendout: "sendout_id"))),
    told AS (\(changed("state = 'paused' AND starts_with(halt_reason, '\(HaltReason.tooManyContacts.rawValue)')")))
    """

  private static func changed(_ condition: String) -> String {
    EventSQL.note(
      .sendoutPaused, .sendoutFinished,
      named:
        "CASE WHEN state = 'paused' THEN '\(WebhookEvent.sendoutPaused.rawValue)' ELSE '\(WebhookEvent.sendoutFinished.rawValue)' END",
      of: "changed", where: "kind = 'broadcast' AND \(condition)", sendout: "sendout_id",
      reason: "CASE WHEN state = 'paused' THEN halt_reason ELSE state END")
  }
}
