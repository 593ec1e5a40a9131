import Content
public import Delivery
public import FoundationEssentials
public import Postgres
public import Registry
public import Wire

/// Accepts single messages, and reads what became of them.
///
/// A message belongs to a stream, the sendout of one day to the same apps with the same template, or of one trigger. It is
/// committed together with its pushes, and sent by this hub without another look at the database.
public final class MessageService: Sendable {
  struct TemplateName: Hashable {
    let customer: CustomerID
    let name: String
  }

  let database: any Querying
  let dispatcher: Dispatcher
  let messages: MessageDispatcher
  let apps: PushAppCache
  let credentials: PushCredentialVault
  let registrations: RegistrationBatcher
  /// Permits for each customer's lists, so that no customer waits for another.
  private let lists = KeyedSemaphore<CustomerID>(MessageService.mostLists)
  /// Most lists of a customer that are being accepted at a time.
  private static let mostLists = 8
  /// How long a list waits at most for earlier pushes of its customer to be sent.
  private static let longestWait = Duration.seconds(2)
  let streams = SharedCache<StreamName, OpenStream>(capacity: 10_000, lifetime: .seconds(60))
  /// By what they take up in memory, since one message can be of 4 MiB and of a million items.
  private let templates = SharedCache<MessageBody, CompiledMessage>(
    capacity: MessageService.templateMemory, lifetime: .seconds(60), size: \.memory)
  /// Bytes of compiled messages of which is remembered what was used last.
  static let templateMemory = 4 << 20
  let versions = SharedCache<TemplateName, Int32>(capacity: 1000, lifetime: .seconds(5))
  private let limits: CustomerLimitsCache

  struct OpenStream: Sendable {
    var stream: MessageStream
    let traits: StreamTraits
  }

  struct CompiledMessage: Sendable {
    let template: MessageTemplate
    /// The message as it is stored.
    let json: String
    /// Why it cannot be sent, by platform.
    private let problems: [AppType: ContentError]

    /// About how many bytes it takes up: its items stand between commas, and each is a value of its own.
    var memory: Int { 512 + json.utf8.count + 64 * json.utf8.count { $0 == UInt8(ascii: ",") } }

    /// - Parameter types: the platforms that it may be sent to.
    init(_ message: MessageBody, types: [AppType] = AppType.allCases, mayNamePIN: Bool = false) throws {
      let template = try MessageTemplate(message, mayNamePIN: mayNamePIN)
      self.template = template
      json = message.json
      let mayBeTooLarge = json.utf8.count > Self.fitsEverywhere
      problems = Dictionary(
        uniqueKeysWithValues: types.compactMap { type in
          do throws(ContentError) {
            try template.checkForm(for: mayBeTooLarge ? [type] : [])
            return nil
          } catch {
            return (type, error)
          }
        })
    }

    /// A message of so many bytes of JSON fits every push service. Twice as many would still do.
    static let fitsEverywhere = 320

    func check(for apps: [PushApp]) throws {
      for app in apps { if let problem = problems[app.type] { throw problem } }
    }
  }

  public init(
    _ pool: Pool, dispatcher: Dispatcher, messages: MessageDispatcher, apps: PushAppCache,
    credentials: PushCredentialVault, registrations: RegistrationBatcher, limits: CustomerLimitsCache? = nil
  ) {
    self.limits = limits ?? CustomerLimitsCache(pool)
    database = pool
    self.dispatcher = dispatcher
    self.messages = messages
    self.apps = apps
    self.credentials = credentials
    self.registrations = registrations
  }

  /// Whether suppressions stop all that goes to a telephone number, even what its owner has asked for, such as a PIN.
  public func isSuppressed(_ number: PhoneNumber, of customer: CustomerID) async throws -> Bool {
    try await Suppressions(database, key: dispatcher.suppressions).find(
      customer, Suppressions.concerning(number.international)
    ).contains { $0.scope == .all }
  }

  /// The time by the database's clock.
  public func now() -> Date { dispatcher.now() }

  /// Accepts a list with a permit, once few of the customer's pushes wait to be sent. Before that its messages are not compiled, which takes
  /// most of its memory. A push service that is slow holds a list up for `longestWait`, the wait for the permit included.
  /// - Throws: what `accept` throws; `CancellationError` when the task is cancelled while it waits.
  func withListPermit<Answer>(_ customer: CustomerID, _ accept: () async throws -> Answer) async throws -> Answer {
    let end = ContinuousClock.now + Self.longestWait
    return try await lists.withPermit(customer) {
      await messages.waitForCapacity(customer, until: end)
      try Task.checkCancellation()
      return try await accept()
    }
  }

  /// The message, and whether an earlier request with the same key made it.
  public typealias Sent = (message: MessageReply, isRepeated: Bool)

  /// Accepts a message. Once this returns it is committed, and with `wait` the push services have given their verdicts, or the time is
  /// over. One that is due later is sent at that time, by whichever hub.
  /// - Parameters:
  ///   - allowed: the only app that the caller may send to; `nil` for all.
  ///   - repetition: what makes the request once only.
  /// - Throws: `SendoutError.invalid`, `.recipientUnknown`; `RegistryError.appUnknown`,
  ///   `.idempotencyKeyReused`; `ContentError`.
  public func send(
    _ customer: CustomerID, _ request: MessageRequest, allowed: String? = nil,
    repetition: NewMessage.RepetitionKey? = nil
  ) async throws -> Sent {
    try await send(customer, try plan(request, allowed), repetition)
  }

  /// Sends a message as the other `send` does, but starts no task if caches have all that it needs.
  /// - Parameter answer: called once, from any thread.
  public func send(
    _ customer: CustomerID, _ request: MessageRequest, allowed: String? = nil,
    repetition: NewMessage.RepetitionKey? = nil, _ answer: @escaping @Sendable (Result<Sent, any Error>) -> Void
  ) {
    attempt {
      try self.ready(customer, try self.plan(request, allowed), repetition, $0)
    } then: { ready in
      switch ready {
      case .failure(let error): answer(.failure(error))
      case .success(let ready): self.accept(customer, ready, answer)
      }
    }
  }

  /// Accepts an SMS of the hub's own, whose field `SMSText.pinField` says which PIN stands in its text.
  /// - Throws: as above.
  public func sendPIN(_ customer: CustomerID, _ request: MessageRequest) async throws -> MessageReply {
    var plan = try plan(request, nil)
    plan.namesPIN = true
    plan.isLimited = false
    return try await send(customer, plan, nil).message
  }

  /// Accepts a notice of the hub's own, which a person must hear of: no rule of caps looks at it.
  /// - Throws: as above.
  public func sendNotice(_ customer: CustomerID, _ request: MessageRequest) async throws -> MessageReply {
    var plan = try plan(request, nil)
    plan.isLimited = false
    return try await send(customer, plan, nil).message
  }

  /// Accepts a message as a test of a sendout, to the apps of that alone. No rule of quiet hours or caps looks at it.
  /// - Throws: as above.
  func sendTest(
    _ customer: CustomerID, _ request: MessageRequest, of sendout: TestedSendout
  ) async throws -> MessageReply {
    var plan = try plan(request, nil)
    plan.isLimited = false
    var tested = sendout
    while true {
      plan.tested = tested
      do {
        return try await send(customer, plan, nil).message
      } catch SendoutError.streamEnded(_) {
        // Whoever has paused or cancelled messages of earlier tests means those alone.
        tested.endedStreams += 1
      }
    }
  }

  private func plan(_ request: MessageRequest, _ allowed: String?) throws -> MessagePlan {
    try Self.check(request)
    let appIDs = try SendoutRules.appIDs(request.appId, request.appIds)
    if let allowed, appIDs.contains(where: { $0 != allowed }) { throw RegistryError.appUnknown(appID: allowed) }
    return MessagePlan(
      request: request, appIDs: appIDs,
      properties: request.properties.map { String(decoding: JSONValue.object($0).json, as: UTF8.self) },
      deliverAt: try later(request.deliverAt?.date, field: "deliverAt"), trigger: nil, savedFor: nil)
  }

  /// Accepts a message of a trigger, which says to which apps it goes and what it says.
  ///
  /// With `saveProps` its properties are stored with the contact before the message is committed. A repetition stores nothing.
  /// - Throws: `SendoutError.triggerInactive`, `.recipientUnknown`, `.invalid`; `RegistryError.invalid`; as above.
  public func send(
    _ customer: CustomerID, _ message: TriggerMessage, by trigger: TriggerReply,
    repetition: NewMessage.RepetitionKey? = nil
  ) async throws -> Sent {
    let originalID = try Registration.originalID(message.originalId)
    // Clients that have the field always send a number.
    guard [nil, 0, customer.rawValue].contains(message.customerId) else {
      throw SendoutError.invalid(field: "customerId", problem: "differs from the customer in the path")
    }
    guard message.optOut != true else {
      throw SendoutError.invalid(
        field: "optOut", problem: "is true, but this hub keeps no subscriptions: invalidate the contact's devices")
    }
    var moment: Date?
    if case .set(let date) = message.deliveryTime {
      moment = Date(timeIntervalSince1970: Double(date.milliseconds) / 1000)
    }
    let deliverAt = try later(moment, field: "deliveryTime")
    guard trigger.active else {
      // What was accepted before is still answered as it was.
      if let earlier = try await earlier(customer, repetition) { return (earlier, true) }
      throw SendoutError.triggerInactive(trigger.triggerId)
    }
    let plan = MessagePlan(
      request: MessageRequest(
        to: MessageTarget(originalId: originalID), message: trigger.message, purpose: trigger.purpose,
        template: trigger.template),
      appIDs: trigger.appIds, properties: message.properties, deliverAt: deliverAt, trigger: trigger,
      savedFor: message.saveProps == true ? originalID : nil)
    return try await send(customer, plan, repetition)
  }

  /// A message that is to be accepted, checked.
  private struct MessagePlan: Sendable {
    let request: MessageRequest
    let appIDs: [String]
    /// What its texts can name: a JSON object.
    let properties: String?
    /// When it is due; `nil` for now.
    let deliverAt: Date?
    let trigger: TriggerReply?
    /// The contact that the properties are stored with; `nil` for none.
    let savedFor: String?
    /// Whether it is the hub's own, with a PIN.
    var namesPIN = false
    /// Whether quiet hours and caps look at it.
    var isLimited = true
    /// Of a test.
    var tested: TestedSendout?
  }

  private func send(
    _ customer: CustomerID, _ plan: MessagePlan, _ repetition: NewMessage.RepetitionKey?
  ) async throws -> Sent {
    let ready = try await complete { try self.ready(customer, plan, repetition, $0) }
    if let originalID = plan.savedFor, let properties = plan.properties {
      if let earlier = try await earlier(customer, repetition) { return (earlier, true) }
      guard try await Contacts(database).merge(customer, originalID: originalID, properties: properties) else {
        throw SendoutError.recipientUnknown
      }
    }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        accept(customer, ready) { continuation.resume(with: $0) }
      }
    } onCancel: {
      ready.message.wait?.end()
    }
  }

  /// A message that has all it needs.
  private struct ReadyMessage: Sendable {
    let plan: MessagePlan
    let apps: [PushApp]
    let stream: MessageStream
    let message: NewMessage
    let repetition: NewMessage.RepetitionKey?
  }

  /// - Throws: `MustLookUp`; what the message is refused for.
  private func ready(
    _ customer: CustomerID, _ plan: MessagePlan, _ repetition: NewMessage.RepetitionKey?, _ found: LookedUp
  ) throws -> ReadyMessage {
    let request = plan.request
    let apps = try Self.served(
      try plan.appIDs.map { appID in
        if let apps = found.apps[appID] ?? self.apps.cached(customer, appID: appID) { return apps }
        throw MustLookUp { $0.apps[appID] = try await self.apps.apps(customer, appID: appID) }
      }, plan)
    // One that names a PIN differs each time.
    guard let compiled = found.compiled ?? (plan.namesPIN ? nil : templates.cached(request.message)) else {
      throw MustLookUp { $0.compiled = try await self.compiled(plan) }
    }
    let purpose = request.purpose ?? .transactional
    let stream = try self.stream(
      customer, apps, found, template: request.template, trigger: plan.trigger, tested: plan.tested, purpose: purpose)
    var limited = stream.stream
    if plan.isLimited { limited.limits = try limits(of: customer, for: purpose, found) }
    try compiled.check(for: apps)
    try SendoutRules.checkLink(compiled.template, beside: request.template)
    var content = stream.traits.content(request.message, compiled.template)
    content.properties = plan.properties
    content.expiresAt = MessageContent.expiry(of: content.template.ttl, from: now())
    // A later message may be sent by another hub, so nobody waits for its verdicts.
    let wait = plan.deliverAt == nil && request.wait ?? 0 > 0 ? MessageWait() : nil
    let message = NewMessage(
      to: try addressee(request.to, apps), content: content, body: compiled.json, reference: request.reference,
      repetitionKey: repetition, wait: wait, deliverAt: plan.deliverAt)
    return ReadyMessage(plan: plan, apps: apps, stream: limited, message: message, repetition: repetition)
  }

  /// - Throws: `MustLookUp`.
  func limits(
    of customer: CustomerID, for purpose: MessagePurpose, _ found: LookedUp
  ) throws -> StreamLimits? {
    guard let known = found.limits ?? limits.cached(customer) else {
      throw MustLookUp { $0.limits = try await self.limits.limits(customer) }
    }
    return StreamLimits(known, for: purpose)
  }

  /// Accepts a message, and waits for its verdicts if it says so.
  /// - Parameters:
  ///   - isRegistered: whether its token has just become a device.
  ///   - answer: called once, from any thread.
  private func accept(
    _ customer: CustomerID, _ ready: ReadyMessage, isRegistered: Bool = false,
    _ answer: @escaping @Sendable (Result<Sent, any Error>) -> Void
  ) {
    let target = ready.plan.request.to
    messages.accept(ready.message, in: ready.stream) { acceptance in
      switch acceptance {
      case .failure(let error): answer(.failure(error))
      case .success(.accepted(let number, let pushes)):
        guard let wait = ready.message.wait, !pushes.isEmpty else {
          return answer(.success((Self.reply(ready, number, pushes, [:]), false)))
        }
        self.messages.verdicts(
          wait, on: pushes.map(\.number), of: ready.stream.key, within: .seconds(ready.plan.request.wait ?? 0)
        ) { verdicts in
          answer(.success((Self.reply(ready, number, pushes, verdicts), false)))
        }
      case .success(.limited(let number, let pushes, let limit)):
        answer(.success((Self.reply(ready, number, pushes, limit: limit), false)))
      case .success(.repeated):
        Task {
          do {
            guard let earlier = try await self.earlier(customer, ready.repetition) else {
              throw RegistryError.idempotentReplyLost
            }
            answer(.success((earlier, true)))
          } catch {
            answer(.failure(error))
          }
        }
      case .success(.addresseeUnknown):
        // A token that is not registered yet becomes a device of the contact that the caller names.
        guard !isRegistered, let token = target.deviceToken?.text, let contact = target.originalId else {
          return answer(.failure(SendoutError.recipientUnknown))
        }
        Task {
          do {
            try await self.register(customer, token, of: contact, target.appType, ready.apps)
            self.accept(customer, ready, isRegistered: true, answer)
          } catch {
            answer(.failure(error))
          }
        }
      case .success(.suppressed), .success(.deferred): answer(.failure(SendoutError.recipientUnknown))
      }
    }
  }

  private static func reply(
    _ ready: ReadyMessage, _ number: Int32, _ pushes: [(number: PushNumber, app: PushAppID)],
    _ verdicts: [PushNumber: PushVerdict] = [:], limit: MessageLimit? = nil
  ) -> MessageReply {
    let plan = ready.plan
    let state = limit.map { $0.heldUntil == nil ? PushState.skipped : .waiting } ?? .queued
    return MessageReply(
      messageId: MessageID(ready.stream.key.sendout, number), reference: plan.request.reference,
      deliverAt: plan.deliverAt.map(Wire.Timestamp.init), isDue: plan.deliverAt == nil,
      heldUntil: limit?.heldUntil.map(Wire.Timestamp.init),
      pushes: pushes.map { push in
        MessageReply.Push(
          pushNo: push.number, appType: ready.apps.first { $0.id == push.app }?.type ?? .ios,
          state: verdicts[push.number]?.state ?? state, reason: verdicts[push.number]?.reason ?? limit?.reason)
      })
  }

  func register(
    _ customer: CustomerID, _ token: String, of contact: String, _ type: AppType?, _ apps: [PushApp]
  ) async throws {
    let body = PushDevicesBody(originalId: contact, deviceInfo: [.init(deviceToken: token, appType: type)])
    let registration = try Registration(body, apps: apps)
    try await registrations.register(customer, registration, returnsContact: false)
  }

  /// The message that an earlier request with the same key made; `nil` if there is none.
  private func earlier(_ customer: CustomerID, _ repetition: NewMessage.RepetitionKey?) async throws -> MessageReply? {
    guard let repetition,
      let earlier = try await Messages(database).repetitions(customer, of: [repetition.key])[repetition.key]
    else { return nil }
    guard earlier.fingerprint == repetition.fingerprint else { throw RegistryError.idempotencyKeyReused }
    return try await find(customer, earlier.message)
  }

  /// - Parameter allowed: the only app whose messages the caller may see; `nil` for all.
  /// - Throws: `SendoutError.messageUnknown`, also for a message that the caller may not see.
  public func find(_ customer: CustomerID, _ id: MessageID, allowed: String? = nil) async throws -> MessageReply {
    guard let (reference, deliverAt, pushes, testOf) = try await Messages(database).find(customer, id) else {
      throw SendoutError.messageUnknown(id)
    }
    let apps = try await apps.all(customer)
    if let allowed {
      let rows = try await database.query(SendoutQueries.find, customer.rawValue, id.sendout.rawValue)
      let ofStream = try rows.first.map { try Sendout($0).apps } ?? []
      guard !ofStream.isEmpty, ofStream.allSatisfy({ id in apps.contains { $0.id == id && $0.appID == allowed } })
      else {
        throw SendoutError.messageUnknown(id)
      }
    }
    return MessageReply(
      messageId: id, reference: reference, deliverAt: deliverAt.map(Wire.Timestamp.init),
      isDue: deliverAt.map { $0 <= now() } ?? true,
      heldUntil: pushes.compactMap(\.heldUntil).min().map(Wire.Timestamp.init),
      pushes: pushes.map { push in
        MessageReply.Push(
          pushNo: push.number, appType: apps.first { $0.id == push.app }?.type ?? .ios, state: push.state,
          reason: push.reason)
      }, testOf: testOf)
  }
}

// MARK: - Checks

extension MessageService {
  private static func check(_ request: MessageRequest) throws {
    func check(_ field: String, _ text: String?, _ limit: Int) throws {
      guard let text else { return }
      guard !text.isEmpty else { throw SendoutError.invalid(field: field, problem: "is empty") }
      guard text.unicodeScalars.count <= limit else {
        throw SendoutError.invalid(field: field, problem: "is longer than \(limit) characters")
      }
      guard !text.unicodeScalars.contains(where: { $0.value < 0x20 }) else {
        throw SendoutError.invalid(field: field, problem: "holds a control character")
      }
    }
    guard request.to.originalId != nil || request.to.deviceToken != nil else {
      throw SendoutError.invalid(field: "to", problem: "names nobody: give originalId or deviceToken")
    }
    try check("reference", request.reference, 200)
  }

  /// The moment if it is still to come; `nil` for now.
  private func later(_ moment: Date?, field: String) throws -> Date? {
    let now = now()
    guard let moment, moment > now else { return nil }
    guard moment <= now.addingTimeInterval(Double(MessageRequest.maximumDelay) * 86_400) else {
      throw SendoutError.invalid(field: field, problem: "is more than \(MessageRequest.maximumDelay) days ahead")
    }
    return moment
  }

  /// The apps to which the message goes, of those that each of its appIds stands for.
  private static func served(_ found: [[PushApp]], _ plan: MessagePlan) throws -> [PushApp] {
    let (type, tested) = (plan.request.appType, plan.tested?.apps)
    let meant =
      type == nil && tested == nil
      ? found
      : found.map { $0.filter { app in (type == nil || app.type == type) && tested?.contains(app.id) != false } }
    if let unknown = meant.firstIndex(where: \.isEmpty) { throw RegistryError.appUnknown(appID: plan.appIDs[unknown]) }
    return try SendoutRules.sendable(meant.count == 1 ? meant[0] : meant.flatMap(\.self))
  }

  func addressee(_ target: MessageTarget, _ apps: [PushApp]) throws -> NewMessage.Addressee {
    guard let token = target.deviceToken?.text else {
      let originalID = target.originalId ?? ""
      // No contact can have such an id, and PostgreSQL would refuse it.
      if originalID.utf8.contains(0) || originalID.isEmpty { throw SendoutError.recipientUnknown }
      return .contact(originalID: originalID)
    }
    let meant = apps.filter { target.appType == nil || $0.type == target.appType }
    guard let app = meant.first else {
      throw SendoutError.invalid(field: "to.appType", problem: "names a platform that none of the apps has")
    }
    guard meant.count == 1 else {
      throw SendoutError.invalid(field: "to.appType", problem: "is needed: there are apps on several platforms")
    }
    return .device(app: app.id, try DeviceToken(token, type: app.type, field: "to.deviceToken"))
  }

  private func compiled(_ plan: MessagePlan) async throws -> CompiledMessage {
    let message = plan.request.message
    if plan.namesPIN { return try CompiledMessage(message, types: [.sms], mayNamePIN: true) }
    return try await templates.value(message) { try CompiledMessage(message) }
  }
}
