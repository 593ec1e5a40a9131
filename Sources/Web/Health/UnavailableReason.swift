import HTTPTypes

/// Why a hub cannot serve just now.
public enum UnavailableReason: Sendable, CaseIterable {
  case databaseAway
  case migrationsPending
  /// The database has been migrated by other files than this release has.
  case schemaUnknown
  case shuttingDown

  /// What `/readyz` answers.
  var refusal: HTTPErrorResponse { HTTPErrorResponse(.serviceUnavailable, sentence, headers: [.retryAfter: "2"]) }

  private var sentence: String {
    switch self {
    case .databaseAway: "The database cannot be reached."
    case .migrationsPending: "Migrations are pending; run `pushcart migrate`."
    case .schemaUnknown: "The schema is not the one this release knows; see `pushcart check`."
    case .shuttingDown: "The hub is shutting down."
    }
  }
}
