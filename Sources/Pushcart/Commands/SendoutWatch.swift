import Postgres
import Sendouts
import Wire

/// Follows a sendout until nothing more happens to it by itself.
struct SendoutWatch {
  private let stores: ManagementStores
  private let customer: CustomerID
  private var line = ProgressLine(.error)

  init(stores: ManagementStores, customer: CustomerID) {
    self.stores = stores
    self.customer = customer
  }

  /// Looks twice a second, and writes to standard error how far it is.
  /// - Returns: the sendout as it is at the end: finished, cancelled, paused, or a draft.
  func follow(_ sendout: SendoutReply) async throws -> SendoutReply {
    var watch = self
    return try await watch.follow(from: sendout)
  }

  private mutating func follow(from sendout: SendoutReply) async throws -> SendoutReply {
    var current = try await stores.sendouts.find(customer, sendout.sendoutId)
    try await warnIfNobodyServes(current)
    while current.state == .freezing || current.state == .running {
      line.show(current)
      try await Task.sleep(for: .milliseconds(500))
      current = try await stores.sendouts.find(customer, sendout.sendoutId)
    }
    line.finish(current)
    return current
  }

  /// A sendout that waits for a hub to be started would look like one that is stuck.
  private func warnIfNobodyServes(_ sendout: SendoutReply) async throws {
    guard sendout.state == .freezing || sendout.state == .running else { return }
    if try await stores.pool.query(HubQueries.serving, HubQueries.applicationName).isEmpty {
      StandardStream.error.write("No hub seems to serve this database, and the sendout waits for one: pushcart serve\n")
    }
  }
}
