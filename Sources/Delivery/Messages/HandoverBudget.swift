import Registry
import Locking
import Wire

/// Bounds the memory of messages that are handed over from their acceptance to their lanes: texts, properties and recipients, until their
/// outcomes are written. What comes beyond waits in the ledger, and any hub sends it.
final class HandoverBudget: Sendable {
  private struct Use {
    var bytes = 0
    var pushes = 0
  }

  private struct State {
    var total = 0
    var customers: [CustomerID: Use] = [:]
  }

  private static let mostBytes = 48 << 20
  private static let mostBytesOfCustomer = 8 << 20
  private static let mostPushesOfCustomer = 10_000
  private let state = Mutex(State())

  /// Whether more of a customer's messages may be handed over.
  func hasRoom(for customer: CustomerID) -> Bool {
    state.withLock { state in
      guard state.total < Self.mostBytes, let use = state.customers[customer] else {
        return state.total < Self.mostBytes
      }
      return use.bytes < Self.mostBytesOfCustomer && use.pushes < Self.mostPushesOfCustomer
    }
  }

  /// How many pushes of a customer are handed over and not settled.
  func pushes(of customer: CustomerID) -> Int { state.withLock { $0.customers[customer]?.pushes ?? 0 } }

  /// Counts a batch until its part is given up.
  func take(_ handed: HandedBatch, of customer: CustomerID) -> Part {
    let contents = handed.batch.contents.values.reduce(0) { $0 + $1.size }
    let part = Part(
      customer: customer, bytes: handed.recipients.reduce(contents) { $0 + $1.size },
      pushes: handed.batch.pushes.count, budget: self)
    change(part, by: 1)
    return part
  }

  private func change(_ part: Part, by sign: Int) {
    state.withLock { state in
      state.total += sign * part.bytes
      var use = state.customers[part.customer] ?? Use()
      use.bytes += sign * part.bytes
      use.pushes += sign * part.pushes
      state.customers[part.customer] = use.pushes > 0 ? use : nil
    }
  }

  /// What one batch takes, until nobody holds this any more.
  final class Part: Sendable {
    fileprivate let customer: CustomerID
    fileprivate let bytes: Int
    fileprivate let pushes: Int
    private let budget: HandoverBudget

    fileprivate init(customer: CustomerID, bytes: Int, pushes: Int, budget: HandoverBudget) {
      self.customer = customer
      self.bytes = bytes
      self.pushes = pushes
      self.budget = budget
    }

    deinit { budget.change(self, by: -1) }
  }
}

extension MessageContent {
  /// Bytes in memory, nearly.
  var size: Int { 1024 + (properties?.utf8.count ?? 0) }
}

extension Recipient {
  /// Bytes in memory, nearly.
  fileprivate var size: Int { 512 + contact.properties.utf8.count }
}
