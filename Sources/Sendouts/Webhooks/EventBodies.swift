import Delivery
import FoundationEssentials
package import Outbox
package import Postgres
import Registry
package import Wire

/// Makes what webhooks are told, from the ledger and the tables of contacts, apps and sendouts as they are when it is posted.
///
/// The form `standard` has `type`, `timestamp` and `data`. Events of pushes, devices and contacts come as a list in `data`, all others as one
/// object. The form `carma` is a list of Carma's own events. Original ids are all that they have of personal fields.
package struct EventBodies: WebhookBodies {
  private let database: any Querying

  private let showsPersonal: Bool

  /// - Parameter showsPersonal: false for somebody who may not see personal fields: bodies lack original ids.
  package init(_ database: any Querying, showsPersonal: Bool = true) {
    self.database = database
    self.showsPersonal = showsPersonal
  }

  package func bodies(
    of deliveries: [EventDelivery], in form: EventWebhookForm, _ customer: CustomerID
  ) async throws -> [[UInt8]?] {
    let known = try await known(deliveries, customer)
    var bodies: [[UInt8]?] = []
    for delivery in deliveries {
      var items = try await items(of: delivery, known, customer)
      if !showsPersonal { for index in items.indices { items[index].originalID = nil } }
      guard !items.isEmpty else {
        bodies.append(nil)
        continue
      }
      switch form {
      case .standard: bodies.append(Self.standard(items, of: delivery).json)
      case .carma: bodies.append(Self.carma(items, of: delivery)?.json)
      }
    }
    return bodies
  }

  // MARK: What they tell

  /// One thing that happened.
  fileprivate struct Item {
    /// Unique among the customer's, for Carma's `eventId`.
    let id: String
    let at: Date
    var contact: ContactID?
    var originalID: String?
    var list: ListID?
    var sendout: SendoutID?
    /// Members of the form `standard` beside those of the contact and the sendout.
    var members: [UTF8String: JSONValue] = [:]
  }

  /// What the items of several deliveries have in common.
  fileprivate struct Known {
    var pushes: [SendoutID: [Int32: ToldPush]] = [:]
    /// Those of messages that have failed on all devices, for triggers.
    var lastFailures: [SendoutID: [Int32: ToldPush]] = [:]
    var triggers: [SendoutID: TriggerID] = [:]
    /// Of streams that are tests: the sendouts that they test.
    var tested: [SendoutID: SendoutID] = [:]
    var contacts: [ContactID: ToldContacts.Contact] = [:]
    var devices: [Int64: PushAppID] = [:]
    var apps: [PushAppID: PushApp] = [:]
  }

  private func known(_ deliveries: [EventDelivery], _ customer: CustomerID) async throws -> Known {
    func numbers(_ isWanted: (WebhookEvent) -> Bool) -> [(sendout: SendoutID, number: Int32)] {
      var numbers: [(sendout: SendoutID, number: Int32)] = []
      for event in deliveries.filter({ isWanted($0.event) }).flatMap(\.events) {
        guard let sendout = event.sendout else { continue }
        for number in event.pushes { numbers.append((sendout, number)) }
      }
      return numbers
    }
    func found(
      _ numbers: [(sendout: SendoutID, number: Int32)], areLastFailures: Bool
    ) async throws -> [SendoutID: [Int32: ToldPush]] {
      guard !numbers.isEmpty else { return [:] }
      let pushes = try await ToldPushes(database).find(customer, numbers, areLastFailures: areLastFailures)
      return Dictionary(grouping: pushes, by: \.sendout).mapValues {
        Dictionary($0.map { (Int32($0.number.rawValue), $0) }, uniquingKeysWith: { first, _ in first })
      }
    }
    var known = Known()
    known.pushes = try await found(numbers { $0 != .triggerFailed }, areLastFailures: false)
    known.lastFailures = try await found(numbers { $0 == .triggerFailed }, areLastFailures: true)
    if !known.lastFailures.isEmpty { known.triggers = try await triggers(of: Array(known.lastFailures.keys), customer) }
    let streams = known.pushes.filter { $1.values.contains { $0.message != nil } }.map(\.key)
    if !streams.isEmpty { known.tested = try await tested(by: streams, customer) }
    let events = deliveries.flatMap(\.events)
    let ofPushes = (Array(known.pushes.values) + Array(known.lastFailures.values)).flatMap(\.values).map(\.contact)
    known.contacts = try await ToldContacts(database).contacts(
      customer, Set(events.compactMap(\.contact)).union(ofPushes))
    let devices = deliveries.filter { $0.event == .deviceInvalidated }.flatMap(\.events).compactMap(\.subject)
    known.devices = try await ToldContacts(database).apps(customer, ofDevices: Set(devices))
    known.apps = Dictionary(
      try await PushApps(database).list(customer).map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    return known
  }

  /// The triggers whose messages these streams have.
  private func triggers(of streams: [SendoutID], _ customer: CustomerID) async throws -> [SendoutID: TriggerID] {
    let rows = try await database.query(
      EventBodyQueries.triggers, customer.rawValue, streams.map(\.rawValue))
    return Dictionary(
      try rows.compactMap { row in
        let (stream, trigger) = try row.decode(Int64.self, String.self)
        return TriggerID(trigger).map { (SendoutID(stream), $0) }
      }, uniquingKeysWith: { first, _ in first })
  }

  /// Of those streams that are tests: the sendouts that they test.
  private func tested(by streams: [SendoutID], _ customer: CustomerID) async throws -> [SendoutID: SendoutID] {
    let rows = try await database.query(EventBodyQueries.tested, customer.rawValue, streams.map(\.rawValue))
    return Dictionary(
      try rows.map { row in
        let (stream, sendout) = try row.decode(Int64.self, Int64.self)
        return (SendoutID(stream), SendoutID(sendout))
      }, uniquingKeysWith: { first, _ in first })
  }

  private func items(of delivery: EventDelivery, _ known: Known, _ customer: CustomerID) async throws -> [Item] {
    var items: [Item] = []
    for event in delivery.events {
      switch delivery.event {
      case .pushAccepted, .pushFailed, .pushOpened, .messageDelivered:
        items += pushes(event, delivery.event, known.pushes, known)
      case .triggerFailed:
        guard let trigger = event.sendout.flatMap({ known.triggers[$0] }) else { continue }
        items += pushes(event, delivery.event, known.lastFailures, known).map { item in
          var item = item
          item.members["triggerId"] = .integer(trigger.rawValue)
          return item
        }
      case .sendoutStarted, .sendoutPaused, .sendoutFinished:
        guard let item = try await sendout(event, customer) else { continue }
        items.append(item)
      case .deviceInvalidated, .contactUpdated, .contactSuppressed, .importFinished, .appRefused, .certificateExpiring,
        .webhookTest:
        items.append(other(event, delivery, known))
      }
    }
    return items
  }

  private func pushes(
    _ event: NotedEvent, _ kind: WebhookEvent, _ pushes: [SendoutID: [Int32: ToldPush]], _ known: Known
  ) -> [Item] {
    guard let sendout = event.sendout, let pushes = pushes[sendout] else { return [] }
    return event.pushes.compactMap { number in
      guard let push = pushes[number] else { return nil }
      let moment =
        switch kind {
        case .pushOpened: push.openedAt
        case .messageDelivered: push.reportedAt
        default: push.settledAt
        }
      var item = Item(id: "\(event.number)-\(number)", at: moment ?? event.at, sendout: sendout)
      known.add(push.contact, to: &item)
      known.add(push.app, to: &item)
      item.members["pushNo"] = .integer(number)
      item.members["deviceId"] = .integer(push.device.rawValue)
      if let message = push.message { item.members["messageId"] = .string(message.description) }
      if let tested = known.tested[sendout] { item.members["testOf"] = .integer(tested.rawValue) }
      if kind == .pushFailed || kind == .triggerFailed, let reason = push.reason {
        item.members["reason"] = .string(reason)
      }
      return item
    }
  }

  /// The sendout as it is now, with its counts, and the state that is told.
  private func sendout(_ event: NotedEvent, _ customer: CustomerID) async throws -> Item? {
    guard let sendout = event.sendout else { return nil }
    let reply: SendoutReply
    do {
      reply = try await SendoutStore(database).find(customer, sendout)
    } catch RegistryError.numberUnknown(_) {
      return nil
    }
    var item = Item(id: "\(event.number)", at: event.at, sendout: sendout)
    let whole = try JSONValue(encoding: reply)
    for name: UTF8String in ["name", "state", "seriesId", "startedAt", "finishedAt", "counts"] {
      if let value = whole[name.text] { item.members[name] = value }
    }
    if let reason = event.reason { item.members["reason"] = .string(reason) }
    return item
  }

  private func other(_ event: NotedEvent, _ delivery: EventDelivery, _ known: Known) -> Item {
    var item = Item(id: "\(event.number)", at: event.at)
    if let contact = event.contact { known.add(contact, to: &item) }
    let subject = event.subject.map { JSONValue.integer($0) }
    switch delivery.event {
    case .deviceInvalidated:
      item.members["deviceId"] = subject
      item.members["reason"] = event.reason.map { .string($0) }
      if let app = event.subject.flatMap({ known.devices[$0] }) { known.add(app, to: &item) }
    case .contactSuppressed:
      item.members["suppressionId"] = subject
      item.members["scope"] = event.reason.map { .string($0) }
    case .importFinished:
      item.members["importId"] = subject
      item.members["state"] = event.reason.map { .string($0) }
    case .appRefused:
      item.members["reason"] = event.reason.map { .string($0) }
      if let app = event.subject { known.add(PushAppID(app), to: &item) }
    case .certificateExpiring:
      let parts = (event.reason ?? "").split(separator: " ")
      item.members["notAfter"] = parts.first.map { .string(String($0)) }
      item.members["days"] = parts.last.flatMap { Int64($0) }.map { .integer($0) }
      if let app = event.subject { known.add(PushAppID(app), to: &item) }
    case .webhookTest: item.members["webhookId"] = .integer(delivery.webhook.rawValue)
    default: break
    }
    return item
  }

  // MARK: Forms

  private static func standard(_ items: [Item], of delivery: EventDelivery) -> JSONValue {
    let data = items.map { item in
      var members = item.members
      members["at"] = .string(Wire.Timestamp(item.at).description)
      members["sendoutId"] = item.sendout.map { .integer($0.rawValue) }
      members["contactId"] = item.contact.map { .integer($0.rawValue) }
      members["originalId"] = item.originalID.map { .string($0) }
      return JSONValue.object(members)
    }
    return [
      "type": .string(delivery.event.rawValue), "timestamp": .string(Wire.Timestamp(items[0].at).description),
      "data": delivery.event.isList ? .array(data) : data[0],
    ]
  }

  /// - Returns: nil for what Carma has no event of.
  private static func carma(_ items: [Item], of delivery: EventDelivery) -> JSONValue? {
    guard let name = delivery.event.carmaName else { return nil }
    func milliseconds(_ date: Date) -> JSONValue { .integer(Int64((date.timeIntervalSince1970 * 1000).rounded(.down))) }
    return .array(
      items.map { item in
        var members: [UTF8String: JSONValue] = [
          "event": .string(name), "eventId": .string(item.id), "timestamp": milliseconds(item.at),
          "sentTimestamp": milliseconds(delivery.createdAt),
        ]
        members["listId"] = item.list.map { .integer($0.rawValue) }
        members["contactId"] = item.originalID.map { .string($0) }
        members["carmaContactId"] = item.contact.map { .integer($0.rawValue) }
        members["campaignId"] = item.sendout.map { .integer($0.rawValue) }
        members["description"] = item.members["reason"]
        return .object(members)
      })
  }
}

extension EventBodies.Known {
  fileprivate func add(_ contact: ContactID, to item: inout EventBodies.Item) {
    item.contact = contact
    item.originalID = contacts[contact]?.originalID
    item.list = contacts[contact]?.list
  }

  fileprivate func add(_ app: PushAppID, to item: inout EventBodies.Item) {
    guard let app = apps[app] else { return }
    item.members["pushAppId"] = .integer(app.id.rawValue)
    item.members["appId"] = .string(app.appID)
    item.members["appType"] = .integer(app.type.rawValue)
  }
}

/// Statements that say what events are about. `$1` is the customer.
enum EventBodyQueries {
  static let all: [Statement] = [triggers, tested]

  /// The sendouts that those of the streams `$2` test that are tests.
  static let tested = Statement(
    "told.tested", .read,
    """
    SELECT sendout_id, test_of FROM sendout
     WHERE customer_id = $1::bigint AND sendout_id = ANY ($2::bigint[]) AND test_of IS NOT NULL
    """)

  /// The triggers of those of the streams `$2` that are of one. A stream's name ends with it.
  static let triggers = Statement(
    "told.triggers", .read,
    """
    SELECT sendout_id, substring(stream FROM ' trigger/([0-9]+)$') FROM sendout
     WHERE customer_id = $1::bigint AND sendout_id = ANY ($2::bigint[]) AND stream ~ ' trigger/[0-9]+$'
    """)
}
