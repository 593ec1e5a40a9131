import Content
public import FoundationEssentials
public import Postgres
public import Registry
public import Wire

/// A message to be accepted: whom it is for and what it says, checked.
public struct NewMessage: Sendable {
  public enum Addressee: Sendable, Hashable {
    case contact(originalID: String)
    /// - owner: the contact that the device has to be of, if that matters.
    case device(app: PushAppID, DeviceToken, owner: String? = nil)
  }

  public var to: Addressee
  public let content: MessageContent
  /// The message as JSON, as it is stored.
  let body: String
  /// Seconds; nil for one that does not expire, or is sent once.
  let ttl: Int32?
  public let reference: String?
  let repetitionKey: RepetitionKey?
  /// Whoever waits for the verdicts of its pushes.
  public let wait: MessageWait?
  /// When it is due; `nil` for now.
  let deliverAt: Date?
  /// Of a tracked message.
  let tracked: TrackedDetails?

  /// How much of a statement it takes, in parts of 4 KiB.
  var weight: Int { max(1, (body.utf8.count + (content.properties?.utf8.count ?? 0)) >> 12) }

  /// What makes a request once only.
  public struct RepetitionKey: Sendable {
    public let key: String
    /// SHA-256 of the request.
    public let fingerprint: [UInt8]

    public init(key: String, fingerprint: [UInt8]) {
      self.key = key
      self.fingerprint = fingerprint
    }
  }

  public init(
    to: Addressee, content: MessageContent, body: String, reference: String?, repetitionKey: RepetitionKey?,
    wait: MessageWait?, deliverAt: Date? = nil, tracked: TrackedDetails? = nil
  ) {
    self.to = to
    self.content = content
    self.body = body
    ttl = tracked?.lifetime ?? content.template.ttl.flatMap { $0 > 0 ? Int32(clamping: $0) : nil }
    self.reference = reference
    self.repetitionKey = repetitionKey
    self.wait = wait
    self.deliverAt = deliverAt
    self.tracked = tracked
  }
}

/// What became of a message that was to be accepted.
public enum Acceptance: Sendable {
  /// It is committed, with these pushes: number, app.
  case accepted(number: Int32, pushes: [(number: PushNumber, app: PushAppID)])
  /// There is no such contact or device.
  case addresseeUnknown
  /// Its idempotency key was used before.
  case repeated
  /// The device of its fallback has opted out.
  case suppressed
  /// It is committed, with these pushes, none of which leaves now.
  case limited(number: Int32, pushes: [(number: PushNumber, app: PushAppID)], MessageLimit)
  /// Another message of its statement counts for the same contact. It is not committed, and has to come again in the next statement.
  case deferred
}

/// What quiet hours or a cap made of a message when it was accepted.
public struct MessageLimit: Sendable, Equatable {
  /// As the ledger has it.
  public let reason: String
  /// Until when its pushes wait; nil if they are skipped.
  public let heldUntil: Date?
}

/// Numbers of a stream that this hub has reserved, the next ones to be used.
public struct StreamNumbers: Sendable {
  public var message: Int32
  public var push: Int32
  public var batch: Int32
  /// How many are left of each.
  public var messagesLeft: Int32
  public var pushesLeft: Int32
  public var batchesLeft: Int32

  public init(
    message: Int32, push: Int32, batch: Int32, messagesLeft: Int32, pushesLeft: Int32, batchesLeft: Int32
  ) {
    self.message = message
    self.push = push
    self.batch = batch
    self.messagesLeft = messagesLeft
    self.pushesLeft = pushesLeft
    self.batchesLeft = batchesLeft
  }

  /// Reserved at a time: more than the most messages of a statement can have devices, and few enough for 7,000 processes a day. Messages
  /// that are due at moments of their own each have batches of their own, so there are as many of these as of pushes.
  public static let block = (messages: Int32(10_000), pushes: Int32(300_000), batches: Int32(300_000))

  /// Whether these are enough for so many messages, whatever number of devices they go to: numbers behind them are another hub's.
  public func suffice(for messages: Int) -> Bool {
    messagesLeft >= messages && Int(min(pushesLeft, batchesLeft)) >= messages * Device.maximumOfContact
  }

  mutating func take(messages: Int, pushes: Int, batches: Int) {
    message += Int32(messages)
    push += Int32(pushes)
    batch += Int32(batches)
    messagesLeft -= Int32(messages)
    pushesLeft -= Int32(pushes)
    batchesLeft -= Int32(batches)
  }
}

/// A batch that was written already claimed, with all that sending it takes.
struct HandedBatch: Sendable {
  let lane: Lane
  var batch: ClaimedBatch
  var recipients: [Recipient] = []
  /// When they were read.
  let readAt: ContinuousClock.Instant
  /// The capacity of its pushes whose write-ahead mark is committed already.
  var marked = Capacity()
  var memory: HandoverBudget.Part?
}

/// Writes single messages into the ledger, many with one commit.
struct MessageLedger: Sendable {
  let database: any Querying
  let key: SendoutKey
  let apps: [PushAppID]
  /// Who sends them; `nil` for whichever hub claims them.
  let run: RunID?
  let lease: Duration
  /// Most pushes that may leave by the write-ahead mark that is committed with them. If there are more, none is marked.
  let capacity: Int
  let suppressions: SuppressionKey
  /// Of tracked messages.
  var tracked: TrackedTraits?
  /// What decides about each message; nil for nothing. Of tracked messages only caps do.
  var limits: StreamLimits?

  /// Accepts messages of the stream; once this returns, they are committed. Should the reply be lost, it finds out whether they are.
  /// - Parameters:
  ///   - numbers: enough for them; what is used is taken from them.
  ///   - fields: what recipients are read with for the batches; those that the messages name if `nil`.
  func accept(
    _ messages: [NewMessage], _ numbers: inout StreamNumbers, reading fields: RecipientFields? = nil
  ) async throws -> (acceptances: [Acceptance], batches: [HandedBatch]) {
    let first = numbers.message
    let asked = ContinuousClock.now
    // Whoever claims what is not handed over reads its recipients then.
    let columns = RecipientColumns((run == nil ? [] : fields ?? Self.fields(of: messages)).union(.suppression))
    let (rows, missing) = try await rows(messages, numbers, columns)
    var acceptances = [Acceptance](repeating: .addresseeUnknown, count: messages.count)
    var pushes = [[(number: PushNumber, app: PushAppID)]](repeating: [], count: messages.count)
    var limited: [Int: MessageLimit] = [:]
    var contents: [Int32: MessageContent] = [:]
    var batches: [Int32: HandedBatch] = [:]
    var pushCount = 0
    var batchNumbers: Set<Int32> = []
    for row in rows {
      let number: Int32 = try row.column(0)
      let index = Int(number - first)
      switch try row.column(1) as Int16 {
      case 0: acceptances[index] = .accepted(number: number, pushes: [])
      case 2: acceptances[index] = .repeated
      case 3: acceptances[index] = .suppressed
      case 4: acceptances[index] = .deferred
      default: continue
      }
      let next = 2 + columns.count
      guard let push: Int64 = try row.column(next), let recipient = try columns.recipient(row, from: 2) else {
        continue
      }
      let batch: Int32 = try row.column(next + 1)
      pushCount += 1
      batchNumbers.insert(batch)
      pushes[index].append((PushNumber(push), recipient.device.app))
      // What is due later waits in the ledger for whichever hub claims it then.
      if messages[index].deliverAt != nil { continue }
      if limits != nil, let reason: String = try row.column(next + 3) {
        limited[index] = MessageLimit(reason: reason, heldUntil: try row.column(next + 4))
        continue
      }
      // So does a fallback until its moment.
      if tracked != nil, try row.column(next + 2) { continue }
      contents[number] = messages[index].content
      let queued = QueuedPush(
        number: PushNumber(push), batch: batch, device: recipient.device.id, contact: recipient.contact.id,
        message: number, attempts: 0, giveUpAt: nil)
      batches[batch, default: handed(batch, push, recipient, asked)].batch.add(queued)
      batches[batch]?.recipients.append(recipient)
    }
    for (index, acceptance) in missing { acceptances[index] = acceptance }
    for index in messages.indices {
      if case .accepted(let number, _) = acceptances[index], let limit = limited[index] {
        acceptances[index] = .limited(number: number, pushes: pushes[index], limit)
      } else if case .accepted(let number, _) = acceptances[index] {
        acceptances[index] = .accepted(number: number, pushes: pushes[index])
        messages[index].wait?.expect(pushes[index].map(\.number))
      }
    }
    numbers.take(messages: messages.count, pushes: pushCount, batches: batchNumbers.count)
    let claimed = batches.values.reduce(0) { $0 + $1.batch.pushes.count }
    return (
      acceptances,
      batches.values.map { handed in
        var handed = handed
        handed.batch.isMarked = claimed <= capacity
        for push in handed.batch.pushes {
          if let message = push.message { handed.batch.contents[message] = contents[message] }
        }
        return handed
      }
    )
  }

  /// What messages name of their recipients.
  static func fields(of messages: [NewMessage]) -> RecipientFields {
    messages.reduce(into: []) { $0.formUnion($1.content.recipientFields) }
  }

  private func handed(_ batch: Int32, _ push: Int64, _ recipient: Recipient, _ asked: ContinuousClock.Instant)
    -> HandedBatch
  {
    HandedBatch(
      lane: Lane(app: recipient.device.app, isSandbox: recipient.device.isSandbox),
      batch: ClaimedBatch(
        claim: Claim(batch: batch, ordinal: 1), range: push...push, pushes: [], isRetry: false, leaseEnd: asked + lease),
      readAt: asked)
  }

  /// - Returns: also what became of messages by their indices, if the rows do not say so.
  private func rows(
    _ messages: [NewMessage], _ numbers: StreamNumbers, _ columns: RecipientColumns
  ) async throws -> (rows: Rows, missing: [Int: Acceptance]) {
    do {
      return (try await database.query(accept: messages, numbers, self, columns), [:])
    } catch PostgresError.unknownOutcome {
      return try await committedRows(messages, numbers, columns)
    }
  }

  /// The reply was lost. If the statement was committed, the same one with the same numbers finds them taken, or its own idempotency keys.
  private func committedRows(
    _ messages: [NewMessage], _ numbers: StreamNumbers, _ columns: RecipientColumns
  ) async throws -> (rows: Rows, missing: [Int: Acceptance]) {
    do {
      do {
        let again = try await database.query(accept: messages, numbers, self, columns)
        let results = Set(try again.map { try $0.column(1) as Int16 })
        guard results.contains(2), !results.contains(0) else { return (again, [:]) }
        let committed = try await acceptedRows(messages, numbers, columns)
        return try committed.rows.contains { try $0.column(1) as Int16 == 0 } ? committed : (again, [:])
      } catch PostgresError.server(let error) where error.sqlState == ServerError.uniqueViolation {
        return try await acceptedRows(messages, numbers, columns)
      }
    } catch let error as PostgresError where DatabaseUnavailable(error) != nil {
      // Whether the first one was committed is still unknown, so the error must not say that nothing was done.
      throw PostgresError.unknownOutcome(statement: MessageQueries.accept.reading(columns).name)
    }
  }

  /// Reads what a statement has written whose reply was lost. A message that is not there has a key that was used before, or nobody to
  /// go to. With limits it may also have been deferred, and the next statement finds out.
  private func acceptedRows(
    _ messages: [NewMessage], _ numbers: StreamNumbers, _ columns: RecipientColumns
  ) async throws -> (rows: Rows, missing: [Int: Acceptance]) {
    let rows = try await database.query(
      MessageQueries.accepted.reading(columns), key.customer.rawValue, key.sendout.rawValue,
      (0..<messages.count).map { numbers.message + Int32($0) }, suppressions.inner, suppressions.outer)
    let missing = try rows.compactMap { row -> Int? in
      try row.column(1) as Int16 == 0 ? nil : Int(try row.column(0) as Int32 - numbers.message)
    }
    let keys = missing.compactMap { messages[$0].repetitionKey?.key }
    let taken = keys.isEmpty ? [:] : try await Messages(database).repetitions(key.customer, of: keys)
    var found: [Int: Acceptance] = [:]
    for index in missing {
      if let key = messages[index].repetitionKey?.key, taken[key] != nil {
        found[index] = .repeated
      } else if limits != nil {
        found[index] = .deferred
      }
    }
    return (rows, found)
  }
}

extension Querying {
  fileprivate func query(
    accept messages: [NewMessage], _ numbers: StreamNumbers, _ ledger: MessageLedger, _ columns: RecipientColumns
  ) async throws -> Rows {
    if let traits = ledger.tracked { return try await query(accept: messages, numbers, ledger, columns, traits) }
    var originalIDs: [String?] = []
    var apps: [Int64?] = []
    var tokens: [Bytes?] = []
    var isLean = true
    for message in messages {
      if message.deliverAt != nil || message.repetitionKey != nil { isLean = false }
      switch message.to {
      case .contact(let originalID):
        originalIDs.append(originalID)
        apps.append(nil)
        tokens.append(nil)
      case .device(let app, let token, let owner):
        isLean = false
        originalIDs.append(owner)
        apps.append(app.rawValue)
        tokens.append(Bytes(token.key))
      }
    }
    let (customer, stream, run) = (ledger.key.customer.rawValue, ledger.key.sendout.rawValue, ledger.run?.uuid)
    let (lease, capacity) = (ledger.run.map { _ in ledger.lease.inSeconds }, Int32(clamping: ledger.capacity))
    let streamApps = ledger.apps.map(\.rawValue)
    let (bodies, properties) = (
      messages.map { JSONDocument($0.body) }, messages.map { $0.content.properties.map { JSONDocument($0) } }
    )
    let messageNumbers = messages.indices.map { numbers.message + Int32($0) }
    let (lifetimes, references) = (messages.map(\.ttl), messages.map(\.reference))
    let key = ledger.suppressions
    if let limits = ledger.limits {
      let (rules, places) = (limits.rules, limits.places)
      let caps = CapSQL.Parameters(rules.caps)
      return try await query(
        RuledMessageQueries.accept.reading(columns), customer, stream, streamApps, numbers.push, numbers.batch, run,
        lease, capacity, messageNumbers, originalIDs, bodies, properties, lifetimes, references, apps, tokens,
        messages.map(\.deliverAt), messages.map { $0.repetitionKey?.key },
        messages.map { $0.repetitionKey.map { Bytes($0.fingerprint) } }, key.inner, key.outer,
        rules.quietHours?.start.description, rules.quietHours?.end.description, rules.quietHours?.policy?.rawValue,
        Int32(rules.holdMinutes), places.customerZone, places.countryZones.countries, places.countryZones.zones,
        caps.counts, caps.hours, caps.purposes, caps.names, rules.purpose.rawValue, Int32(rules.keptMoments))
    }
    if isLean {
      return try await query(
        MessageQueries.accept.reading(columns), customer, stream, streamApps, numbers.push, numbers.batch, run, lease,
        capacity, messageNumbers, originalIDs, bodies, properties, lifetimes, references, key.inner, key.outer)
    }
    let keys = messages.map { $0.repetitionKey?.key }
    if keys.allSatisfy({ $0 == nil }) {
      return try await query(
        MessageQueries.acceptAny.reading(columns), customer, stream, streamApps, numbers.push, numbers.batch, run,
        lease, capacity, messageNumbers, originalIDs, bodies, properties, lifetimes, references, apps, tokens,
        messages.map(\.deliverAt), key.inner, key.outer)
    }
    return try await query(
      MessageQueries.acceptOnce.reading(columns), customer, stream, streamApps, numbers.push, numbers.batch, run, lease,
      capacity, messageNumbers, originalIDs, bodies, properties, lifetimes, references, apps, tokens,
      messages.map(\.deliverAt), keys, messages.map { $0.repetitionKey.map { Bytes($0.fingerprint) } },
      key.inner, key.outer)
  }
}

extension Querying {
  private func query(
    accept messages: [NewMessage], _ numbers: StreamNumbers, _ ledger: MessageLedger, _ columns: RecipientColumns,
    _ traits: TrackedTraits
  ) async throws -> Rows {
    let details = messages.map(\.tracked)
    let originalIDs = messages.map { message -> String? in if case .contact(let id) = message.to { id } else { nil } }
    // Both calls list their values: to pass the rules on as a parameter pack makes Swift 6.3.1 free its stack in the wrong order.
    if let rules = ledger.limits?.rules {
      let caps = CapSQL.Parameters(rules.caps)
      return try await query(
        TrackedMessageQueries.acceptRuled.reading(columns), ledger.key.customer.rawValue, ledger.key.sendout.rawValue,
        ledger.apps.map(\.rawValue),
        numbers.push, numbers.batch, ledger.run?.uuid, ledger.run.map { _ in ledger.lease.inSeconds },
        messages.indices.map { numbers.message + Int32($0) }, originalIDs,
        messages.map { JSONDocument($0.body) }, messages.map(\.ttl), messages.map(\.reference),
        Int32(clamping: ledger.capacity),
        traits.fallback?.rawValue, details.map { $0?.recipient }, details.map { $0?.sender },
        details.map { $0?.text },
        details.map { $0?.parts }, traits.appID, traits.kind, traits.reportApp, traits.fallbackDelay?.inSeconds,
        ledger.suppressions.inner, ledger.suppressions.outer, caps.counts, caps.hours, caps.purposes, caps.names,
        rules.purpose.rawValue, Int32(rules.keptMoments))
    }
    return try await query(
      TrackedMessageQueries.accept.reading(columns), ledger.key.customer.rawValue, ledger.key.sendout.rawValue,
      ledger.apps.map(\.rawValue),
      numbers.push, numbers.batch, ledger.run?.uuid, ledger.run.map { _ in ledger.lease.inSeconds },
      messages.indices.map { numbers.message + Int32($0) }, originalIDs,
      messages.map { JSONDocument($0.body) }, messages.map(\.ttl), messages.map(\.reference),
      Int32(clamping: ledger.capacity),
      traits.fallback?.rawValue, details.map { $0?.recipient }, details.map { $0?.sender },
      details.map { $0?.text },
      details.map { $0?.parts }, traits.appID, traits.kind, traits.reportApp, traits.fallbackDelay?.inSeconds,
      ledger.suppressions.inner, ledger.suppressions.outer)
  }
}

/// Reads messages that were accepted.
public struct Messages: Sendable {
  let database: any Querying

  public init(_ database: any Querying) { self.database = database }

  /// The message's reference, when it is due unless that was at once, its pushes, and the sendout that it tested; `nil` if there is no such
  /// message.
  public func find(
    _ customer: CustomerID, _ id: MessageID
  ) async throws -> (reference: String?, deliverAt: Date?, pushes: [MessagePush], testOf: SendoutID?)? {
    let rows = try await database.query(
      MessageQueries.find, customer.rawValue, id.sendout.rawValue, id.number)
    guard let first = rows.first else { return nil }
    let pushes = try rows.compactMap { row -> MessagePush? in
      let (_, _, number, app, state, reason, heldUntil) = try row.decode(
        String?.self, Date?.self, Int64?.self, Int64?.self, String?.self, String?.self, Date?.self)
      guard let number, let app, let state = state.flatMap(PushState.init(rawValue:)) else { return nil }
      return MessagePush(
        number: PushNumber(number), app: PushAppID(app), state: state, reason: reason, heldUntil: heldUntil)
    }
    let testOf: Int64? = try first.get("test_of")
    return (try first.get("reference"), try first.get("deliver_at"), pushes, testOf.map { SendoutID($0) })
  }

  /// The messages that requests with these idempotency keys made, and the fingerprints of the requests.
  public func repetitions(
    _ customer: CustomerID, of keys: [String]
  ) async throws -> [UTF8String: (fingerprint: [UInt8], message: MessageID)] {
    let rows = try await database.query(MessageQueries.repetitions, customer.rawValue, keys)
    let found = try rows.map { row in
      let (key, fingerprint, sendout, number) = try row.decode(String.self, Bytes.self, Int64.self, Int32.self)
      return (key, (fingerprint.bytes, MessageID(SendoutID(sendout), number)))
    }
    return Dictionary(named: found)
  }

  /// Deletes a customer's idempotency keys that are older than 24 hours.
  @discardableResult
  public func forgetExpiredKeys(_ customer: CustomerID) async throws -> Int {
    try await database.deleteInPortions(MessageQueries.forgetKeys, customer.rawValue)
  }

  /// What the message of a push says; `nil` if the push is of no message.
  public func content(ofPush push: PushNumber, _ key: SendoutKey, _ traits: StreamTraits) async throws
    -> MessageContent?
  {
    try await database.query(MessageQueries.ofPush, key.customer.rawValue, key.sendout.rawValue, push.rawValue).first
      .map { try MessageContent($0, traits) }
  }

  func contents(_ numbers: [Int32], of key: SendoutKey, _ traits: StreamTraits) async throws -> [Int32: MessageContent]
  {
    let rows = try await database.query(
      MessageQueries.contents, key.customer.rawValue, key.sendout.rawValue, numbers)
    return Dictionary(try rows.map { (try $0.column(0) as Int32, try MessageContent($0, traits)) }) { first, _ in first
    }
  }

  /// Why pushes of those among these messages are not sent that have expired, by the database's clock.
  func expired(_ numbers: [Int32], of key: SendoutKey) async throws -> [Int32: String] {
    let rows = try await database.query(
      MessageQueries.expired, key.customer.rawValue, key.sendout.rawValue, numbers)
    return Dictionary(
      try rows.map { row in
        let (number, moment) = try row.decode(Int32.self, Date.self)
        return (number, MessageContent.reason(expiredAt: moment))
      }
    ) { first, _ in first }
  }
}

/// A push of a message as the ledger has it.
public struct MessagePush: Sendable, Equatable {
  public let number: PushNumber
  public let app: PushAppID
  public let state: PushState
  public let reason: String?
  /// Until when quiet hours hold it; nil if they do not.
  public let heldUntil: Date?
}
