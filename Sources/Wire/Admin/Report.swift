/// A view of schema `report`, as the REST API and the command line call it.
public enum Report: String, Codable, Sendable, Hashable, CaseIterable {
  /// How many devices there are now, by app, environment and state.
  case devices
  /// What registrations changed, by day.
  case registrations
  /// How many devices became invalid, by day and reason.
  case invalidations
  /// What became of each sendout's pushes.
  case sendouts
  /// From audience to open, four rows a sendout.
  case funnel
  /// Why pushes did not arrive, or have not yet.
  case failures
  /// When pushes were opened, by hour.
  case opens
  /// What happened with one contact.
  case timeline
}
