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
    let known = try await known(deliveries, in: form, customer)
    var bodies: [[UInt8]?] = []
    for delivery in deliveries {
      var items = try await items(of: delivery, known, customer)
      if !showsPersonal { for index in items.indices { items[index].originalID = nil } }
      guard !items.isEmpty else {
        bodies.append(nil)
        continue
      }
      switch form {
      case .standard: bodies.append(Self.standard(items, of: delivery))
      case .carma: bodies.append(Self.carma(items, of: delivery)?.json)
      }
    }
    return bodies
  }

  // MARK: What they tell

  /// One thing that happened.
  fileprivate struct Item {
    let event: NotedEvent
    let at: Date
    var sendout: SendoutID?
    var push: ToldPush?
    var contact: ContactID?
    var originalID: String?
    /// Known for the form `carma` alone.
    var list: ListID?
    var app: PushApp?
    var reason: String?
    /// What else the form `standard` has.
    var members: [(name: StaticString, value: JSONValue)] = []
  }

  /// What the items of several deliveries have in common.
  fileprivate struct Known {
    /// By the numbers of the events that tell them.
    var pushes: [Int64: [ToldPush]] = [:]
    var triggers: [SendoutID: TriggerID] = [:]
    /// Of streams that are tests: the sendouts that they test.
    var tested: [SendoutID: SendoutID] = [:]
    /// Those that events name, and in the form `carma` those of pushes.
    var contacts: [ContactID: ToldContacts.Contact] = [:]
    var devices: [Int64: PushAppID] = [:]
    var apps: [PushAppID: PushApp] = [:]
  }

  private func known(
    _ deliveries: [EventDelivery], in form: EventWebhookForm, _ customer: CustomerID
  ) async throws -> Known {
    let events = deliveries.flatMap(\.events)
    let ofTriggers = deliveries.filter { $0.event == .triggerFailed }.flatMap(\.events)
    var known = Known()
    known.pushes = try await pushes(
      of: deliveries.filter { $0.event != .triggerFailed }.flatMap(\.events), areLastFailures: false, customer)
    let streams = Set(known.pushes.values.flatMap(\.self).filter { $0.message != nil }.map(\.sendout))
    if !streams.isEmpty { known.tested = try await tested(by: Array(streams), customer) }
    if !ofTriggers.isEmpty {
      known.pushes.merge(try await pushes(of: ofTriggers, areLastFailures: true, customer)) { first, _ in first }
      known.triggers = try await triggers(of: Array(Set(ofTriggers.compactMap(\.sendout))), customer)
    }
    let ofPushes = form == .carma ? known.pushes.values.flatMap(\.self).map(\.contact) : []
    known.contacts = try await ToldContacts(database).contacts(
      customer, Set(events.compactMap(\.contact)).union(ofPushes))
    let devices = deliveries.filter { $0.event == .deviceInvalidated }.flatMap(\.events).compactMap(\.subject)
    known.devices = try await ToldContacts(database).apps(customer, ofDevices: Set(devices))
    known.apps = Dictionary(
      try await PushApps(database).list(customer).map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    return known
  }

  /// The pushes that events tell and that are still there, by the events' numbers.
  private func pushes(
    of events: [NotedEvent], areLastFailures: Bool, _ customer: CustomerID
  ) async throws -> [Int64: [ToldPush]] {
    var numbers: [(sendout: SendoutID, number: Int32)] = []
    for event in events {
      guard let sendout = event.sendout else { continue }
      for number in event.pushes { numbers.append((sendout, number)) }
    }
    var rest = try await ToldPushes(database).find(customer, numbers, areLastFailures: areLastFailures)[...]
    var pushes: [Int64: [ToldPush]] = [:]
    for event in events where event.sendout != nil {
      pushes[event.number] = rest.prefix(event.pushes.count).compactMap(\.self)
      rest = rest.dropFirst(event.pushes.count)
    }
    return pushes
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
        for push in known.pushes[event.number] ?? [] { items.append(item(event, push, delivery.event, known)) }
      case .triggerFailed:
        guard let trigger = event.sendout.flatMap({ known.triggers[$0] }) else { continue }
        for push in known.pushes[event.number] ?? [] {
          var item = item(event, push, delivery.event, known)
          item.members.append(("triggerId", .integer(trigger.rawValue)))
          items.append(item)
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

  private func item(_ event: NotedEvent, _ push: ToldPush, _ kind: WebhookEvent, _ known: Known) -> Item {
    let moment =
      switch kind {
      case .pushOpened: push.openedAt
      case .messageDelivered: push.reportedAt
      default: push.settledAt
      }
    var item = Item(event: event, at: moment ?? event.at, sendout: push.sendout, push: push)
    item.contact = push.contact
    item.originalID = push.originalID
    item.list = known.contacts[push.contact]?.list
    item.app = known.apps[push.app]
    if kind == .pushFailed || kind == .triggerFailed { item.reason = push.reason }
    if let tested = known.tested[push.sendout] { item.members.append(("testOf", .integer(tested.rawValue))) }
    return item
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
    var item = Item(event: event, at: event.at, sendout: sendout)
    item.reason = event.reason
    let whole = try JSONValue(encoding: reply)
    let names: [StaticString] = ["name", "state", "seriesId", "startedAt", "finishedAt", "counts"]
    for name in names {
      if let value = whole[name.description] { item.members.append((name, value)) }
    }
    return item
  }

  private func other(_ event: NotedEvent, _ delivery: EventDelivery, _ known: Known) -> Item {
    var item = Item(event: event, at: event.at)
    if let contact = event.contact {
      item.contact = contact
      item.originalID = known.contacts[contact]?.originalID
      item.list = known.contacts[contact]?.list
    }
    func add(_ name: StaticString, _ value: JSONValue?) {
      if let value { item.members.append((name, value)) }
    }
    let subject = event.subject.map { JSONValue.integer($0) }
    let word = event.reason.map { JSONValue.string($0) }
    switch delivery.event {
    case .deviceInvalidated:
      add("deviceId", subject)
      item.reason = event.reason
      item.app = event.subject.flatMap { known.devices[$0] }.flatMap { known.apps[$0] }
    case .contactSuppressed:
      add("suppressionId", subject)
      add("scope", word)
    case .importFinished:
      add("importId", subject)
      add("state", word)
    case .appRefused:
      item.reason = event.reason
      item.app = event.subject.flatMap { known.apps[PushAppID($0)] }
    case .certificateExpiring:
      let parts = (event.reason ?? "").split(separator: " ")
      add("notAfter", parts.first.map { .string(String($0)) })
      add("days", parts.last.flatMap { Int64($0) }.map { .integer($0) })
      item.app = event.subject.flatMap { known.apps[PushAppID($0)] }
    case .webhookTest: add("webhookId", .integer(delivery.webhook.rawValue))
    default: break
    }
    return item
  }

  // MARK: Forms

  /// Pushes are told by the hundred thousand, so no tree is made of them first.
  private static func standard(_ items: [Item], of delivery: EventDelivery) -> [UInt8] {
    var json = JSONWriter(capacity: 256 * items.count)
    json.open("{")
    json.member("type", delivery.event.rawValue)
    json.member("timestamp", Wire.Timestamp(items[0].at).description)
    json.name("data")
    if delivery.event.isList { json.open("[") }
    for item in items { item.write(to: &json) }
    if delivery.event.isList { json.close("]") }
    json.close("}")
    return json.bytes
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
        members["description"] = item.reason.map { .string($0) }
        return .object(members)
      })
  }
}

extension EventBodies.Item {
  /// Unique among the customer's, for Carma's `eventId`.
  fileprivate var id: String { push.map { "\(event.number)-\($0.number)" } ?? "\(event.number)" }

  /// Writes the item of the form `standard`. What is not known is absent.
  fileprivate func write(to json: inout JSONWriter) {
    json.open("{")
    json.member("at", Wire.Timestamp(at).description)
    if let sendout { json.member("sendoutId", sendout.rawValue) }
    if let push {
      json.member("pushNo", push.number.rawValue)
      json.member("deviceId", push.device.rawValue)
      if let message = push.message { json.member("messageId", message.description) }
    }
    if let contact { json.member("contactId", contact.rawValue) }
    if let originalID { json.member("originalId", originalID) }
    if let app {
      json.member("pushAppId", app.id.rawValue)
      json.member("appId", app.appID)
      json.member("appType", app.type.rawValue)
    }
    for (name, value) in members {
      json.name(name)
      json.value(value)
    }
    if let reason { json.member("reason", reason) }
    json.close("}")
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
