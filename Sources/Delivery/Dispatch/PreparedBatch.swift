import Content
import FoundationEssentials
import Providers
import Registry
import Wire

/// A claimed batch, prepared: pushes to be sent, and outcomes of pushes that are not.
struct PreparedBatch: Sendable {
  /// Pushes to one environment that are sent in one call.
  struct Slice: Sendable {
    var environment: PushEnvironment
    var pushes: [QueuedPush] = []
    var requests: [PushRequest] = []
    /// The index in `pushes` of each request.
    var requested: [Int] = []
    /// Pushes that the push service would certainly refuse, by their index in `pushes`.
    var refused: [PushOutcome] = []
    /// The requests that leave at least, where equal pushes that follow each other share one.
    private(set) var distinctRequests = 0
    /// What was left out of messages that were too large, by their pushes' index.
    var reduced: [Int: Reductions] = [:]

    /// Pushes that leave once and are not put off, by their index in `pushes`.
    var leavingOnce: Set<Int> = []
    /// When the first of its messages expires; `nil` for never.
    private(set) var expiresAt: Date?

    mutating func append(_ push: QueuedPush, _ prepared: PreparedPush, isOnce: Bool) {
      if isOnce { leavingOnce.insert(pushes.count) }
      if let expiry = push.messageExpiresAt { expiresAt = min(expiresAt ?? expiry, expiry) }
      switch prepared {
      case .request(let request):
        if requests.last?.sharesRequest(with: request) != true { distinctRequests += 1 }
        if !request.reductions.isEmpty { reduced[pushes.count] = request.reductions }
        requested.append(pushes.count)
        requests.append(request)
      case .refused(let verdict): refused.append(PushOutcome(index: pushes.count, verdict: verdict, sentAt: nil))
      }
      pushes.append(push)
    }
  }

  var run: BatchRun
  var slices: [Slice] = []
  var settlements: [Settlement] = []
  /// Held until all slices have begun, if it was claimed from the ledger.
  var permit: CustomerPermit?
}

/// The capacity that a slice takes in its run's window: one for each push, and never more than `HubWindow.share`. So a request that stands for
/// many pushes takes no more capacity than as many requests as a slice can have.
struct SliceCapacity {
  private let places: Int
  private var unanswered: Int
  private let limit: Int

  /// - Parameters:
  ///   - limit: 0 if the pushes have their capacity already.
  ///   - places: of which the slice has its capacity.
  init(of pushes: Int, limit: Int, places: Int = 0) {
    self.places = places
    unanswered = pushes
    self.limit = limit
  }

  /// What the pushes take that are not answered yet.
  var held: Capacity { Capacity(places: places, count: min(unanswered, limit)) }

  /// - Returns: the capacity that so many answers make free.
  mutating func answered(_ count: Int) -> Capacity {
    let before = held.count
    unanswered -= count
    return Capacity(places: places, count: before - held.count)
  }
}

/// Prepares a batch's pushes.
struct Preparation: Sendable {
  let plan: SendoutPlan
  let app: AppTarget
  let links: PublicLinks
  let sliceSize: Int
  let now: @Sendable () -> Date

  /// What pushes may name of their recipients.
  /// - Parameter contents: of a stream's messages, by their numbers.
  func recipientFields(_ contents: [Int32: MessageContent]) -> RecipientFields {
    let said =
      switch plan.content {
      case .same(let content): [content]
      case .variants(let contents): contents
      case .ofMessages: Array(contents.values)
      }
    return said.reduce(into: []) { $0.formUnion($1.recipientFields) }
  }

  /// Bytes of pushes and their contacts' properties that are prepared before others get the core.
  private static let longestTurn = 128 << 10

  /// Prepares the next pushes of a batch.
  /// - Parameters:
  ///   - recipients: of the devices that still exist, in any order.
  ///   - erased: those of the others' contacts that were erased.
  func prepare(
    _ pushes: ArraySlice<QueuedPush>, for recipients: [Recipient], erased: Set<ContactID> = [],
    into prepared: inout PreparedBatch
  ) async {
    let recipients = Dictionary(recipients.map { ($0.device.id, $0) }) { first, _ in first }
    var bytes = 0
    for push in pushes {
      // What comes at once of many or large contacts takes longer than a single message may wait for a core.
      if bytes > Self.longestTurn {
        await Task.yield()
        bytes = 0
      }
      bytes += 1024
      guard let recipient = recipients[push.device] else {
        prepared.settlements.append(
          .withoutSending(push, .skipped, .hub(erased.contains(push.contact) ? .erased : .deviceGone)))
        continue
      }
      bytes += recipient.contact.properties.utf8.count
      if let reason = reasonToSkip(push, recipient) {
        prepared.settlements.append(.withoutSending(push, .skipped, reason))
        continue
      }
      guard var content = content(of: push, prepared.run.contents)?.inLanguage(recipient.spokenLanguage) else {
        prepared.settlements.append(.withoutSending(push, .skipped, .hub(.messageGone)))
        continue
      }
      if let planned = prepared.run.plannedAt {
        content.expiresAt = MessageContent.expiry(of: content.template.ttl, from: planned)
      }
      if let settlement = settlementIfLate(push, content) {
        prepared.settlements.append(settlement)
        continue
      }
      // Whoever suppresses meanwhile is looked up again where the push has to wait for long.
      if recipient.suppression?.stops(content.purpose) == true {
        prepared.settlements.append(.withoutSending(push, .skipped, .hub(.suppressed)))
        continue
      }
      var push = push
      push.messageExpiresAt = [content.expiresAt, plan.endAt].compactMap(\.self).min()
      let environment: PushEnvironment = recipient.device.isSandbox ? .sandbox : .production
      // Slices keep the order of the pushes: the write-ahead mark of one then covers no push of a later one.
      if prepared.slices.last.map({ $0.environment != environment || isFull($0) }) ?? true {
        prepared.slices.append(PreparedBatch.Slice(environment: environment))
      }
      prepared.slices[prepared.slices.count - 1].append(
        push, app.account.prepare(outgoing(push, recipient, content)), isOnce: content.template.ttl == 0)
    }
  }

  /// Equal pushes of a service that takes them in one request fill a slice only when they fill the request.
  private func isFull(_ slice: PreparedBatch.Slice) -> Bool {
    guard slice.pushes.count >= sliceSize else { return false }
    return slice.distinctRequests + slice.refused.count >= sliceSize || slice.pushes.count >= app.account.mostRecipients
  }

  /// A phone with a new user must not show what was meant for the former one.
  private func reasonToSkip(_ push: QueuedPush, _ recipient: Recipient) -> String? {
    if recipient.device.invalidatedAt != nil { return .hub(.deviceInvalidated) }
    return recipient.contact.id == push.contact || app.traits.hasSeveralAccounts ? nil : .hub(.deviceReassigned)
  }

  /// What is settled of a push that is too late. A message with a time to live of 0 leaves once, and is not put off. If it was
  /// tried before, that is because a hub was stopped, and nobody knows whether it left.
  private func settlementIfLate(_ push: QueuedPush, _ content: MessageContent) -> Settlement? {
    if content.template.ttl == 0, push.attempts > 0 { return .withoutSending(push, .uncertain, .hub(.hubStopped)) }
    let isLate = content.template.ttl == 0 ? push.giveUpAt != nil : content.expiresAt.map { $0 <= now() } ?? false
    if isLate { return .withoutSending(push, .failed, MessageContent.reason(expiredAt: content.expiresAt)) }
    return plan.endAt.map { $0 <= now() } ?? false ? .withoutSending(push, .skipped, .hub(.expired)) : nil
  }

  private func content(of push: QueuedPush, _ contents: [Int32: MessageContent]) -> MessageContent? {
    switch plan.content {
    case .same(let content): content
    case .variants(let contents):
      push.variant.flatMap { contents.indices.contains(Int($0) - 1) ? contents[Int($0) - 1] : nil }
    case .ofMessages: push.message.flatMap { contents[$0] }
    }
  }

  private func outgoing(_ push: QueuedPush, _ recipient: Recipient, _ content: MessageContent) -> OutgoingPush {
    let link = PushLink(
      customer: plan.key.customer, sendout: plan.key.sendout, push: push.number, device: recipient.device.id)
    var context =
      content.template.isPersonal
      ? PageContext(recipient, app: app.fields, content: content)
      : PageContext(app: app.fields, sendout: content.sendout)
    links.fill(&context, link, content, ContactLink(customer: plan.key.customer, contact: push.contact))
    var outgoing = content.push(
      context, for: app.traits, to: recipient.device.token, id: PushIdentity.id(plan.key, push.number), at: now(),
      collapseKey: PushIdentity.collapseKey(plan.key, push.message))
    if !content.idFields.isEmpty {
      outgoing.message.carry(UpdateID(plan.key.sendout, push.number), in: content.idFields)
    }
    return outgoing
  }
}

extension RenderedMessage {
  /// Adds the id by which a device confirms the push.
  fileprivate mutating func carry(_ id: UpdateID, in names: [String]) {
    let value = JSONText.quoted(id.description)
    for name in names {
      fields.append(RenderedMessage.Field(name: JSONText.quoted(name), value: value, isOptional: false))
    }
  }
}

extension MessageContent {
  /// A push of the message, rendered with `context`.
  /// - Parameters:
  ///   - now: by the database's clock.
  ///   - collapseKey: for a message without its own.
  func push(
    _ context: PageContext, for app: PushAppTraits, to token: String, id: UUID, at now: Date,
    collapseKey: @autoclosure () -> String
  ) -> OutgoingPush {
    var message = template.rendered(for: context)
    app.adapt(&message)
    return OutgoingPush(
      token: token, id: id, collapseKey: message.collapseKey ?? collapseKey(), message: message,
      lifetime: template.ttl == 0
        ? .atOnce : expiresAt.map { PushLifetime(until: $0, asked: template.ttl, at: now) },
      priority: template.priority)
  }
}

extension PublicLinks {
  /// Signs the links that the push has.
  /// - Parameter contact: whom the push is for.
  func fill(_ context: inout PageContext, _ link: PushLink, _ content: MessageContent, _ contact: ContactLink) {
    switch (content.hasPage, content.template.tracksOpens) {
    case (true, true): (context.url, context.pushreadurl) = links(link)
    case (true, false): context.url = page(link)
    case (false, true): context.pushreadurl = read(link)
    case (false, false): break
    }
    if content.template.namesLinks { context.unsubscribeUrl = unsubscribe(contact) }
  }
}

extension Settlement {
  static func withoutSending(_ push: QueuedPush, _ state: PushState, _ reason: String) -> Settlement {
    Settlement(push: push.number, batch: push.batch, state: state, reason: reason, left: false)
  }
}

/// Ids of a push for push services, derived from its key in the ledger.
enum PushIdentity {
  /// Every attempt has it, so that a push service's logs can be compared with the ledger: its numbers, as a UUID of version 8
  /// (RFC 9562, section 5.8). From the left, it has 48 bits of the customer's, 42 of the sendout's and 32 of the push's.
  static func id(_ key: SendoutKey, _ push: PushNumber) -> UUID {
    let (customer, sendout) = (UInt64(key.customer.rawValue), UInt64(key.sendout.rawValue))
    let high = customer << 16 | 0x8000 | sendout >> 30 & 0xFFF
    let low = 0x8000_0000_0000_0000 | (sendout & 0x3FFF_FFFF) << 32 | UInt64(push.rawValue) & 0xFFFF_FFFF
    return withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }

  /// A push that is sent again replaces the one already on the screen.
  static func collapseKey(_ key: SendoutKey, _ message: Int32? = nil) -> String {
    message.map { "s\(key.sendout)-\($0)" } ?? "s\(key.sendout)"
  }
}
