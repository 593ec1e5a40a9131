import Content
public import Delivery
public import FoundationEssentials
public import Postgres
public import Registry
public import Wire

/// Accepts single messages and tells what became of them.
///
/// A message belongs to a stream, the sendout of one day to the same apps with the same template. It is committed together with its
/// pushes, and sent by this hub without another look at the database.
public final class MessageService: Sendable {
  private struct StreamName: Hashable {
    let customer: CustomerID
    let apps: [PushAppID]
    let template: String?
    /// Days since 1970, in UTC.
    let day: Int
  }

  private struct TemplateName: Hashable {
    let customer: CustomerID
    let name: String
  }

  private let database: any Querying
  private let dispatcher: Dispatcher
  private let messages: MessageDispatcher
  private let apps: PushAppCache
  private let credentials: PushCredentialVault
  private let registrations: RegistrationBatcher
  private let now: @Sendable () -> Date
  private let streams = ExpiringCache<StreamName, OpenStream>(timeToLive: .seconds(60), capacity: 10_000)
  private let templates = ExpiringCache<MessageBody, MessageTemplate>(timeToLive: .seconds(60), capacity: 1000)
  private let versions = ExpiringCache<TemplateName, Int32>(timeToLive: .seconds(5), capacity: 1000)

  private struct OpenStream: Sendable {
    let stream: MessageStream
    let traits: StreamTraits
  }

  public init(
    _ pool: Pool, dispatcher: Dispatcher, messages: MessageDispatcher, apps: PushAppCache,
    credentials: PushCredentialVault, registrations: RegistrationBatcher,
    now: @escaping @Sendable () -> Date = { Date() }
  ) {
    database = pool
    self.dispatcher = dispatcher
    self.messages = messages
    self.apps = apps
    self.credentials = credentials
    self.registrations = registrations
    self.now = now
  }

  /// Accepts a message. Once this returns it is committed, and with `wait` the push services have given their verdicts, or the time is
  /// over.
  /// - Parameters:
  ///   - allowed: the only app that the caller may send to; `nil` for all.
  ///   - repetition: what makes the request once only.
  /// - Returns: the message, and whether an earlier request with the same key made it.
  /// - Throws: `SendoutError.invalid`, `.recipientUnknown`, `.platformNotServed`; `RegistryError.appUnknown`,
  ///   `.idempotencyKeyReused`; `ContentError`.
  public func send(
    _ customer: CustomerID, _ request: MessageRequest, allowed: String? = nil,
    repetition: NewMessage.RepetitionKey? = nil
  ) async throws -> (message: MessageReply, isRepeated: Bool) {
    try Self.check(request)
    let appIDs = try SendoutRules.appIDs(request.appId, request.appIds)
    if let allowed, appIDs.contains(where: { $0 != allowed }) { throw RegistryError.appUnknown(appID: allowed) }
    let found = try await resolve(customer, appIDs, request.appType)
    let template = try await compiled(request.message)
    try template.checkSize(for: found.map(\.type))
    let open = try await stream(customer, found, template: request.template)
    let wait = request.wait.flatMap { $0 > 0 ? MessageWait() : nil }
    var content = open.traits.content(request.message, template)
    content.properties = try request.properties.map { try JSONB(encoding: $0).text }
    content.collapseKey = request.collapseKey
    content.priority = request.priority ?? .high
    content.expiresAt = request.ttl.map { now().addingTimeInterval(Double($0)) }
    let message = NewMessage(
      to: try addressee(request.to, found), content: content, body: try JSONB(encoding: request.message).text,
      ttl: request.ttl, reference: request.reference, repetitionKey: repetition, wait: wait)
    switch try await accept(message, in: open.stream, request, customer, found) {
    case .accepted(let number, let pushes):
      let verdicts = try await verdicts(wait, request.wait, open.stream.key, pushes.map(\.number))
      let replies = pushes.map { push in
        MessageReply.Push(
          pushNo: push.number, appType: found.first { $0.id == push.app }?.type ?? .ios,
          state: verdicts[push.number]?.state ?? .queued, reason: verdicts[push.number]?.reason)
      }
      return (
        MessageReply(
          messageId: MessageID(open.stream.key.sendout, number), reference: request.reference, pushes: replies), false
      )
    case .repeated: return (try await earlier(customer, repetition), true)
    case .addresseeUnknown: throw SendoutError.recipientUnknown
    }
  }

  /// A token that is not registered yet becomes a device of the contact that the caller names.
  private func accept(
    _ message: NewMessage, in stream: MessageStream, _ request: MessageRequest, _ customer: CustomerID,
    _ apps: [PushApp]
  ) async throws -> Acceptance {
    let acceptance = try await messages.accept(message, in: stream)
    guard case .addresseeUnknown = acceptance, let token = request.to.deviceToken, let contact = request.to.originalId
    else { return acceptance }
    var body = PushDevicesBody()
    body.originalId = contact
    var device = PushDevicesBody.DeviceInfo()
    device.deviceToken = token
    device.appType = request.to.appType
    body.deviceInfo = [device]
    try await registrations.register(customer, try Registration(body, apps: apps), returnsContact: false)
    return try await messages.accept(message, in: stream)
  }

  private func verdicts(
    _ wait: MessageWait?, _ seconds: Int?, _ stream: SendoutKey, _ pushes: [PushNumber]
  ) async throws -> [PushNumber: (state: PushState, reason: String?)] {
    guard let wait, let seconds, !pushes.isEmpty else { return [:] }
    defer { messages.stopWaiting(for: pushes, of: stream) }
    return await wait.verdicts(within: .seconds(seconds))
  }

  private func earlier(_ customer: CustomerID, _ repetition: NewMessage.RepetitionKey?) async throws -> MessageReply {
    guard let repetition,
      let earlier = try await Messages(database).repetitions(customer, of: [repetition.key])[repetition.key]
    else { throw RegistryError.idempotentReplyLost }
    guard earlier.fingerprint == repetition.fingerprint else { throw RegistryError.idempotencyKeyReused }
    return try await find(customer, earlier.message)
  }

  /// - Throws: `SendoutError.messageUnknown`.
  public func find(_ customer: CustomerID, _ id: MessageID) async throws -> MessageReply {
    guard let (reference, pushes) = try await Messages(database).find(customer, id) else {
      throw SendoutError.messageUnknown(id)
    }
    let apps = try await apps.all(customer)
    return MessageReply(
      messageId: id, reference: reference,
      pushes: pushes.map { push in
        MessageReply.Push(
          pushNo: push.number, appType: apps.first { $0.id == push.app }?.type ?? .ios, state: push.state,
          reason: push.reason)
      })
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
    try check("collapseKey", request.collapseKey, 64)
    if let key = request.collapseKey, key.utf8.contains(where: { !(0x21..<0x7F).contains($0) }) {
      throw SendoutError.invalid(field: "collapseKey", problem: "holds a character other than visible ASCII")
    }
  }

  private func resolve(_ customer: CustomerID, _ appIDs: [String], _ type: AppType?) async throws -> [PushApp] {
    var found: [PushApp] = []
    for appID in appIDs {
      let apps = try await apps.apps(customer, appID: appID).filter { type == nil || $0.type == type }
      guard !apps.isEmpty else { throw RegistryError.appUnknown(appID: appID) }
      found += apps
    }
    let served = found.filter(\.type.isServed)
    guard !served.isEmpty else { throw SendoutError.platformNotServed(found[0].type) }
    return served
  }

  private func addressee(_ target: MessageTarget, _ apps: [PushApp]) throws -> NewMessage.Addressee {
    guard let token = target.deviceToken else {
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

  private func compiled(_ message: MessageBody) async throws -> MessageTemplate {
    try await templates.value(message) { try MessageTemplate(message) }
  }
}

// MARK: - Streams

extension MessageService {
  /// The stream of today.
  private func stream(_ customer: CustomerID, _ apps: [PushApp], template: String?) async throws -> OpenStream {
    let day = Int(now().timeIntervalSince1970 / 86_400)
    let ids = apps.map(\.id).sorted()
    guard let template else {
      let name = StreamName(customer: customer, apps: ids, template: nil, day: day)
      return try await streams.value(name) { try await self.open(name, apps, nil) }
    }
    let version = try await currentVersion(customer, template)
    let name = StreamName(customer: customer, apps: ids, template: "\(template)/\(version)", day: day)
    return try await streams.value(name) { try await self.open(name, apps, (template, version)) }
  }

  private func currentVersion(_ customer: CustomerID, _ name: String) async throws -> Int32 {
    try await versions.value(TemplateName(customer: customer, name: name)) { [database] in
      do {
        return try await Templates(database).get(customer, name: name).version
      } catch ContentError.templateUnknown {
        throw SendoutError.invalid(field: "template", problem: "names no template of this customer")
      }
    }
  }

  private func open(
    _ name: StreamName, _ apps: [PushApp], _ template: (name: String, version: Int32)?
  ) async throws -> OpenStream {
    let day = Date(timeIntervalSince1970: Double(name.day) * 86_400).formatted(.iso8601.year().month().day())
    let stream = ([day, name.apps.map(\.description).joined(separator: ",")] + [name.template].compactMap(\.self))
      .joined(separator: " ")
    let customer = name.customer.rawValue
    var rows = try await database.query(SendoutQueries.stream, customer, stream)
    if rows.isEmpty {
      rows = try await database.query(
        SendoutQueries.openStream, customer, stream, name.apps.map(\.rawValue), "Messages of \(day)", template?.name,
        template?.version)
    }
    if rows.isEmpty { rows = try await database.query(SendoutQueries.stream, customer, stream) }
    let sendout = try Sendout(rows[0])
    var orders: [AppOrder] = []
    for app in apps {
      // An app without credentials gets no pushes.
      if let opened = try await credentials.credentials(for: app) { orders.append(dispatcher.order(for: app, opened)) }
    }
    guard !orders.isEmpty else { throw SendoutError.appWithoutCredentials(apps[0].appID) }
    let key = sendout.key
    return OpenStream(
      stream: MessageStream(key: key, apps: orders) { [database] in
        try await database.query(SendoutQueries.notify, key.description)
      } reserve: { [database] in
        let block = StreamNumbers.block
        let rows = try await database.query(
          SendoutQueries.reserve, customer, key.sendout.rawValue, block.messages, block.pushes, block.batches)
        guard let row = rows.first else { throw SendoutError.streamEnded(key.sendout) }
        let (message, push, batch) = try row.decode(Int32.self, Int32.self, Int32.self)
        return StreamNumbers(
          message: message, push: push, batch: batch, messagesLeft: block.messages, pushesLeft: block.pushes,
          batchesLeft: block.batches)
      }, traits: sendout.traits)
  }
}
