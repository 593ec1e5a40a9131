import FoundationEssentials

/// One run of a sendout on a hub, from its start to its end: what batches are claimed in the name of. The next run of the same
/// hub is another one: what this one had to leave to its leases, the next neither holds on to nor gives back.
struct RunID: Sendable, Hashable {
  let uuid: UUID
  init(_ uuid: UUID = UUID()) { self.uuid = uuid }
}
