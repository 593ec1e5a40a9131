import Audience
import Delivery
import FoundationEssentials
import Postgres
import Registry
public import Wire

/// All that is known of a sendout and one original id.
struct RecipientHistory {
  let sendout: Sendout
  let audience: Audience
  /// Which conditions of the audience leave the contact out, as things are now.
  let reasons: [String]
  let apps: [PushApp]
  /// `nil` if the customer has no such contact.
  let contact: Contact?
  /// The lists that the contact is on.
  let lists: [ListID]
  /// The contact's pushes of the sendout.
  let pushes: [PushReply]
  /// The contact's devices in the sendout's apps.
  let devices: [DeviceHistory]
  /// The names of the variants that these pushes say.
  let variants: [PushNumber: String]
  /// The contact's pushes of tests of the sendout.
  let tests: [PushReply]

  /// What happened, line by line; of a recipient outside the audience, why. Tests come last.
  func lines(for originalID: String) -> [WhyLine] {
    ownLines(for: originalID)
      + tests.flatMap { push in
        Self.lines(of: push).map { WhyLine(at: $0.at, deviceId: $0.deviceId, text: "In a test: \($0.text)") }
      }
  }

  private func ownLines(for originalID: String) -> [WhyLine] {
    guard let frozenAt = sendout.frozenAt else { return [WhyLine(text: unfrozen)] }
    var lines = [WhyLine(at: Timestamp(frozenAt), text: "The audience was written into the ledger.")]
    if let expiredAt = sendout.expiredAt {
      return lines + [
        WhyLine(
          at: Timestamp(expiredAt),
          text: "Retention had deleted the pushes. What became of one recipient is not known any more.")
      ]
    }
    guard contact != nil else {
      return lines + [WhyLine(text: "There is no contact with this original id. It is compared exactly.")]
    }
    if pushes.isEmpty { lines += outside(originalID) }
    for push in pushes {
      if let variant = variants[push.pushNo] {
        lines.append(WhyLine(deviceId: push.deviceId, pushNo: push.pushNo, text: "Its variant is \(variant)."))
      }
      lines += Self.lines(of: push)
    }
    let sentTo = Set(pushes.map(\.deviceId))
    lines += devices.filter { !sentTo.contains($0.id) }.map { Self.line(of: $0, frozenAt) }
    return lines
  }

  private var unfrozen: String {
    switch sendout.state {
    case .draft: "The sendout is a draft. It has not been started."
    case .scheduled: "The sendout is scheduled. Its audience is fixed when its time comes."
    case .freezing: "The audience is being written into the ledger."
    case .cancelled: "The sendout was cancelled before its audience was written into the ledger."
    case .paused, .running, .finished: "The sendout was paused before its audience was written into the ledger."
    }
  }

  /// Why a contact has no push at all.
  private func outside(_ originalID: String) -> [WhyLine] {
    switch audience.included {
    case .list(let list) where !lists.contains(list):
      return [WhyLine(text: "The audience is list \(list). The contact is \(places).")]
    case .lists(let wanted) where !lists.contains(where: wanted.contains):
      return [
        WhyLine(
          text:
            "The audience is the lists \(wanted.map(\.description).joined(separator: ", ")). The contact is \(places).")
      ]
    case .originalIds(let ids) where !ids.contains(originalID):
      return [WhyLine(text: "The audience names original ids, and this is none of them.")]
    default:
      if !reasons.isEmpty {
        return [WhyLine(text: "The contact is not in the audience, as things are now.")]
          + reasons.map { WhyLine(text: $0) }
      }
      guard devices.isEmpty else { return [] }
      let names = apps.map { "\($0.appID) (app type \($0.type.rawValue))" }.joined(separator: ", ")
      return [WhyLine(text: "The contact has no device in the app \(names).")]
    }
  }

  private var places: String {
    switch lists.count {
    case 0: "on no list"
    case 1: "on list \(lists[0])"
    default: "on the lists \(lists.map(\.description).joined(separator: ", "))"
    }
  }

  /// A device that the sendout has no push for.
  private static func line(of device: DeviceHistory, _ frozenAt: Date) -> WhyLine {
    if device.heldSince > frozenAt {
      return WhyLine(
        at: Timestamp(device.heldSince), deviceId: device.id,
        text: "The contact got the device after the audience was written.")
    }
    if let invalidatedAt = device.invalidatedAt {
      return WhyLine(
        at: Timestamp(invalidatedAt), deviceId: device.id,
        text: "The device was invalidated because of \(device.invalidationReason ?? "an unknown reason").")
    }
    return WhyLine(
      at: Timestamp(device.registeredAt), deviceId: device.id,
      text: "The device was last registered. It was not in the audience when that was written.")
  }

  static func lines(of push: PushReply) -> [WhyLine] {
    func line(_ at: Timestamp?, _ text: String) -> WhyLine {
      WhyLine(at: at, deviceId: push.deviceId, pushNo: push.pushNo, text: text)
    }
    var lines: [WhyLine] = []
    if let sentAt = push.sentAt {
      let again = push.resentBecause.map { " (attempt \(push.attempts), because of \($0) before)" } ?? ""
      lines.append(line(sentAt, "Sent\(again)."))
    }
    let isDue = push.state == .waiting || push.state == .queued
    lines.append(line(isDue ? push.notBefore : push.settledAt, outcome(of: push)))
    if let delivery = push.delivery {
      let reason = push.deliveryReason ?? "the provider says no more"
      lines.append(
        line(push.reportedAt, delivery == "delivered" ? "Delivered to the phone." : "Not delivered: \(reason)."))
    }
    if let openedAt = push.openedAt { lines.append(line(openedAt, "Opened by a person.")) }
    return lines
  }

  /// The hub's own reason. Behind that of a cap stands its rule, as in `capped 3/24h marketing`.
  private static func hubReason(_ reason: String) -> HubReason? {
    HubReason(rawValue: reason) ?? HubReason(rawValue: String(reason.prefix { $0 != " " }))
  }

  private static func rule(of push: PushReply) -> String? {
    push.reason.flatMap { reason in reason.firstIndex(of: " ").map { String(reason[$0...].dropFirst()) } }
  }

  private static func outcome(of push: PushReply) -> String {
    let reason = push.reason ?? "an unknown reason"
    switch (push.state, push.reason.flatMap(hubReason)) {
    case (.queued, .hubStopped): return "Waits to be sent again, since its hub stopped before there was an answer."
    case (.queued, _): return push.notBefore == nil ? "Waits to be sent." : "Is planned to be sent."
    case (.waiting, nil): return "Waits to stand in for the other pushes of its message."
    case (.waiting, .quiet): return "Waits until the recipient's quiet hours end."
    case (.waiting, .pushFailed): return "Is due, since every other push of its message failed."
    case (.waiting, _): return "Is due for another attempt, because of \(reason)."
    case (.accepted, _): return "Accepted by the push service."
    case (.failed, .withdrawn): return "Not sent again: a later SMS has withdrawn it."
    case (.failed, _): return "Failed: \(reason). It is not sent again."
    case (.uncertain, _): return "Possibly sent, and never answered: \(reason). It is not sent again."
    case (.skipped, .deviceInvalidated): return "Not sent: the device had been invalidated by then."
    case (.skipped, .deviceReassigned): return "Not sent: another contact had the device by then."
    case (.skipped, .suppressed): return "Not sent: the recipient is suppressed."
    case (.skipped, .heldOut): return "Not sent: the contact is in the holdout, which gets nothing to compare with."
    case (.skipped, .capped):
      return "Not sent: the contact has had as many as the cap allows\(rule(of: push).map { ", \($0)" } ?? "")."
    case (.skipped, .quiet): return "Not sent: it fell into the recipient's quiet hours."
    case (.skipped, .missed):
      return "Not sent: its moment had passed, in the recipient's time zone or while hubs or the database were down."
    case (.skipped, .expired): return "Not sent: the sendout had ended by then."
    case (.cancelled, .noWinner): return "Not sent: the contact waited for a winner, and there was none."
    case (.skipped, .erased): return "Not sent: the contact had been erased by then."
    case (.skipped, .deviceGone): return "Not sent: the device had been deleted by then."
    case (.skipped, _): return "Not sent: \(reason)."
    case (.cancelled, .pushAccepted): return "Not sent: another push of its message was accepted."
    case (.cancelled, .confirmedInTime): return "Not sent: a device confirmed its message in time."
    case (.cancelled, _): return "Not sent: the sendout was cancelled."
    }
  }
}

extension SendoutStore {
  /// What became of the sendout for one recipient, whether in its audience or not.
  /// - Throws: `RegistryError.numberUnknown`.
  public func why(_ customer: CustomerID, _ sendout: SendoutID, originalID: String) async throws -> WhyReply {
    guard let row = try await reading.query(SendoutQueries.find, customer.rawValue, sendout.rawValue).first else {
      throw RegistryError.numberUnknown("sendout")
    }
    let sendout = try Sendout(row)
    let apps = try await PushApps(reading).list(customer).filter { sendout.apps.contains($0.id) }
    let contact = try await Contacts(reading).find(customer, originalID: originalID, apps: [])
    var lists: [ListID] = []
    var pushes: [PushReply] = []
    var devices: [DeviceHistory] = []
    var reasons: [String] = []
    var variants: [PushNumber: String] = [:]
    var tests: [PushReply] = []
    let audience = try sendout.audience()
    if let contact {
      lists = try await ContactLists(reading).lists(customer, of: contact.id)
      pushes = try await Ledger(reading).pushes(sendout.key, of: contact.id)
      variants = try await self.variants(of: pushes, sendout)
      devices = try await Devices(reading).histories(customer, of: contact.id, in: sendout.apps)
      for row in try await reading.query(SendoutQueries.tests, customer.rawValue, sendout.key.sendout.rawValue) {
        tests += try await Ledger(reading).pushes(Sendout(row).key, of: contact.id)
      }
      if pushes.isEmpty { reasons = try await self.reasons(customer, audience, originalID: contact.originalID) }
    }
    let history = RecipientHistory(
      sendout: sendout, audience: audience, reasons: reasons, apps: apps, contact: contact, lists: lists,
      pushes: pushes, devices: devices, variants: variants, tests: tests)
    return WhyReply(sendoutId: sendout.key.sendout, originalId: originalID, lines: history.lines(for: originalID))
  }

  /// The names of the variants that pushes say. Those who wait for the winner have none until it is decided.
  private func variants(of pushes: [PushReply], _ sendout: Sendout) async throws -> [PushNumber: String] {
    guard let variants = try sendout.campaign().variants else { return [:] }
    var names: [PushNumber: String] = [:]
    for push in pushes {
      guard let number = try await Ledger(reading).variant(of: push.pushNo, sendout.key),
        variants.indices.contains(Int(number) - 1)
      else { continue }
      names[push.pushNo] = variants[Int(number) - 1].name
    }
    return names
  }

  /// A segment of a sendout that was frozen can be gone, or name what is gone.
  private func reasons(
    _ customer: CustomerID, _ audience: Audience, originalID: String
  ) async throws -> [String] {
    let segments = Segments(reading)
    do {
      return try await segments.reasons(
        customer, try await segments.resolve(customer, audience), originalID: originalID)
    } catch RegistryError.invalid(let field, let problem) {
      return ["Which condition leaves it out is not known any more: \(field) \(problem)."]
    }
  }
}
