import FoundationEssentials
import Postgres
import Wire

/// A batch that this hub has claimed, and its pushes that are to be sent now.
struct ClaimedBatch: Sendable {
  let claim: Claim
  let devices: ClosedRange<Int64>
  var pushes: [QueuedPush]
  /// Whether some of them were put off before.
  let isDueAgain: Bool
  /// When the lease may be over: its length after the claim was asked for, which is a little before it was given.
  let leaseEnd: ContinuousClock.Instant
}

/// A push that is to be sent.
struct QueuedPush: Sendable, Equatable {
  let device: DeviceID
  /// Whose device it was when the audience was frozen.
  let contact: ContactID
  /// How often it left before.
  let attempts: Int
  /// Until when it is tried again; `nil` if it was never put off.
  let giveUpAt: Date?
}

extension ClaimedBatch {
  /// - Returns: `nil` when there was nothing to claim.
  init?(_ rows: Rows, leaseEnd: ContinuousClock.Instant) throws {
    guard let first = rows.first else { return nil }
    let (batch, ordinal, from, to) = try first.decode(Int32.self, Int32.self, Int64.self, Int64.self)
    var isDueAgain = false
    let pushes = try rows.compactMap { row -> QueuedPush? in
      let (_, _, _, _, device, contact, attempts, giveUpAt, isAgain) = try row.decode(
        Int32.self, Int32.self, Int64.self, Int64.self, Int64?.self, Int64?.self, Int32?.self, Date?.self, Bool.self)
      if isAgain { isDueAgain = true }
      guard let device, let contact, let attempts else { return nil }
      return QueuedPush(
        device: DeviceID(device), contact: ContactID(contact), attempts: Int(attempts), giveUpAt: giveUpAt)
    }
    self.init(
      claim: Claim(batch: batch, ordinal: ordinal), devices: from...to, pushes: pushes, isDueAgain: isDueAgain,
      leaseEnd: leaseEnd)
  }
}
