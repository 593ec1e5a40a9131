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
    /// Bytes of a recipient with properties, on the average of the last ones that were handed over.
    var recipients: [CustomerID: Int] = [:]
  }

  private static let mostBytes = 48 << 20
  private static let mostBytesOfCustomer = 8 << 20
  private static let mostPushesOfCustomer = 10_000
  private let state = Mutex(State())

  /// Whether so many more of a customer's messages may be handed over. Their recipients are not read yet, and are expected to be as
  /// large as the last ones.
  /// - Parameter fields: what the messages name of them.
  func hasCapacity(for messages: Int, of customer: CustomerID, naming fields: RecipientFields) -> Bool {
    state.withLock { state in
      let use = state.customers[customer] ?? Use()
      let expected = fields.hasProperties ? messages * state.recipients[customer, default: 0] : 0
      // A single message always may: its recipient is read whole wherever it is sent from.
      let fits = use.bytes + expected <= Self.mostBytesOfCustomer || (messages == 1 && use.bytes == 0)
      return fits && state.total < Self.mostBytes && use.bytes < Self.mostBytesOfCustomer
        && use.pushes < Self.mostPushesOfCustomer
    }
  }

  /// How many pushes of a customer are handed over and not settled.
  func pushes(of customer: CustomerID) -> Int { state.withLock { $0.customers[customer]?.pushes ?? 0 } }

  /// Counts a batch until its part is given up.
  /// - Parameter fields: with which its recipients were read.
  func take(_ handed: HandedBatch, of customer: CustomerID, with fields: RecipientFields) -> Part {
    let contents = handed.batch.contents.values.reduce(0) { $0 + $1.size }
    let recipients = handed.recipients.reduce(0) { $0 + $1.size }
    let part = Part(
      customer: customer, bytes: contents + recipients, pushes: handed.batch.pushes.count, budget: self)
    if fields.hasProperties, !handed.recipients.isEmpty {
      state.withLock { $0.recipients[customer] = recipients / handed.recipients.count }
    }
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
