import FoundationEssentials
import Postgres
import Wire

extension SendoutCounts {
  init(_ row: Row) throws {
    self.init(
      audience: try row.get("audience"), queued: try row.get("queued"), sending: try row.get("sending"),
      waiting: try row.get("waiting"), sent: try row.get("sent"), accepted: try row.get("accepted"),
      failed: try row.get("failed"), uncertain: try row.get("uncertain"), skipped: try row.get("skipped"),
      cancelled: try row.get("cancelled"), opened: try row.get("opened"))
  }
}

extension PushReply {
  init(_ row: Row) throws {
    let (device, contact, state, attempts, reason, resent, sent, settled, due, opened) = try row.decode(
      Int64.self, Int64.self, String.self, Int32.self, String?.self, String?.self, Date?.self, Date?.self, Date?.self,
      Date?.self)
    guard let state = PushState(rawValue: state) else {
      throw PostgresError.decoding(statement: LedgerQueries.pushes.name, column: "state", .format("an unknown state"))
    }
    self.init(
      deviceId: DeviceID(device), contactId: ContactID(contact), state: state, attempts: Int(attempts), reason: reason,
      resentBecause: resent, sentAt: sent.map(Wire.Timestamp.init), settledAt: settled.map(Wire.Timestamp.init),
      notBefore: due.map(Wire.Timestamp.init), openedAt: opened.map(Wire.Timestamp.init))
  }
}
