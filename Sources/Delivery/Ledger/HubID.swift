public import FoundationEssentials

/// A hub process, from its start to its end: what batches are claimed in the name of. A restarted hub is another one.
public struct HubID: Sendable, Hashable {
  public let uuid: UUID
  public init(_ uuid: UUID = UUID()) { self.uuid = uuid }
}
