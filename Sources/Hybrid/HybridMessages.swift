import Retrying
import Delivery
public import FoundationEssentials
public import Postgres
public import Registry
public import Sendouts
public import Wire

/// Accepts messages to telephone numbers: each goes by push to the apps of its app key, or by SMS.
public final class HybridMessages: Sendable {
  private let database: any Querying
  private let messages: MessageService
  private let apps: PushAppCache
  private let hybridApps: HybridAppCache
  private let registrations: RegistrationBatcher
  private let confirmationTime: Duration

  /// - Parameter confirmationTime: how long a critical message waits for a device before it goes by SMS.
  public init(
    _ database: any Querying, messages: MessageService, apps: PushAppCache, hybridApps: HybridAppCache,
    registrations: RegistrationBatcher, confirmationTime: Duration = .seconds(30)
  ) {
    self.confirmationTime = confirmationTime
    self.database = database
    self.messages = messages
    self.apps = apps
    self.hybridApps = hybridApps
    self.registrations = registrations
  }

  /// Accepts messages. Those that are accepted are committed once this returns, and on their way.
  ///
  /// Once some are committed, others that fail are refused one by one: a caller that gets one failure for all would send all of them again.
  /// - Parameter allOrNothing: whether one refusal refuses all; then the others have the first refusal too.
  /// - Returns: what became of each, in their order.
  /// - Throws: `SendoutError.streamEnded`; what `DatabaseUnavailable` recognizes. Then nothing is committed, or the outcome is unknown.
  public func accept(
    _ customer: CustomerID, _ messages: [HybridMessage], allOrNothing: Bool
  ) async throws -> [HybridAcceptance] {
    var answers = [HybridAcceptance](repeating: .refused(.noProvider), count: messages.count)
    var routes: [HybridRoute: [Int]] = [:]
    var refusal: HybridRefusal?
    var known: [HybridRoute.Key: Result<HybridRoute, HybridRefusal>] = [:]
    for (index, message) in messages.enumerated() {
      let key = HybridRoute.Key(message)
      let found = if let found = known[key] { found } else { try await route(customer, key) }
      known[key] = found
      switch found {
      case .success(let route): routes[route, default: []].append(index)
      case .failure(let problem):
        answers[index] = .refused(problem)
        refusal = refusal ?? problem
      }
    }
    if allOrNothing {
      if refusal == nil { refusal = try await prepare(customer, routes, messages) }
      if let refusal { return messages.map { _ in .refused(refusal) } }
    }
    var later: [LaterSMS] = []
    var accepted = 0
    var failures: [any Error] = []
    for (route, indices) in routes {
      let results = await accept(customer, indices.map { messages[$0] }, by: route)
      for (index, result) in zip(indices, results) {
        switch result {
        case .success(let result):
          answers[index] = result.answer
          guard case .accepted = result.answer else { continue }
          accepted += 1
          // An SMS that a cap has stopped stands in for nothing.
          if route.isSMSOnly, !result.isCapped {
            later.append((messages[index].number.digits, messages[index].reference, messages[index].text))
          }
        case .failure(let error):
          answers[index] = .refused(DatabaseUnavailable(error) == .outcomeUnknown ? .outcomeUnknown : .unavailable)
          failures.append(error)
        }
      }
    }
    if !later.isEmpty { await withdraw(customer, later) }
    if accepted == 0, let first = failures.first {
      throw failures.first { DatabaseUnavailable($0) == .outcomeUnknown } ?? first
    }
    // A number may have opted out meanwhile.
    if allOrNothing, accepted > 0, accepted < messages.count {
      throw PostgresError.unknownOutcome(statement: "message.accept_tracked")
    }
    return answers
  }

  private typealias LaterSMS = (recipient: String, reference: String?, text: String)

  /// How old a password can be that an SMS withdraws.
  private static let withdrawable = Duration.seconds(60)

  /// Withdraws passwords that later SMS replace. Those SMS are committed, so this is tried again while the database is away, for as long as a
  /// password is valid.
  private func withdraw(_ customer: CustomerID, _ later: [LaterSMS]) async {
    let ledger = TrackedMessages(database)
    let withdraw = { @Sendable in
      try await ledger.withdraw(
        customer, kind: HybridMessage.Kind.otp.rawValue, within: Self.withdrawable, before: later)
    }
    do { try await withdraw() } catch {
      guard DatabaseUnavailable(error) != nil else { return }
      Task {
        for _ in 1...Self.passwordLifetime {
          guard (try? await Task.sleep(for: RetryPolicy.withdrawals)) != nil else { return }
          if (try? await withdraw()) != nil { return }
        }
      }
    }
  }

  /// Records what a device says of pushes. Only `Delivered`, or a moment of reading, confirms messages; then their fallbacks are
  /// cancelled unless they have been claimed. Doing it again changes nothing.
  /// - Parameters:
  ///   - updateIDs: as the pushes carried them.
  ///   - status: one of `HybridStatus`, as the device sent it.
  /// - Returns: the ids that are none of this number's messages by this app; nothing is recorded for them.
  public func confirm(
    _ customer: CustomerID, appID: String, number: PhoneNumber, updateIDs: [String], status: HybridStatus,
    readAt: Date? = nil
  ) async throws -> [String] {
    let ids = updateIDs.map { UpdateID($0) }
    guard status == .delivered || readAt != nil else { return [] }
    let known = ids.compactMap(\.self)
    let unknown = try await TrackedMessages(database).confirm(
      customer, known, recipient: number.digits, appID: appID, readAt: readAt)
    return zip(updateIDs, ids).filter { id in id.1.map { unknown.contains($0) } ?? true }.map(\.0)
  }

  // MARK: Routes

  /// Which way a message goes. Messages of one route are accepted together.
  private struct HybridRoute: Hashable {
    static func == (left: Self, right: Self) -> Bool {
      left.traits == right.traits && left.apps.map(\.id) == right.apps.map(\.id)
    }

    func hash(into hasher: inout Hasher) {
      hasher.combine(traits)
      hasher.combine(apps.map(\.id))
    }

    /// What decides the route of a customer's message.
    struct Key: Hashable {
      let appKey: UUID?
      let channels: Set<HybridMessage.Channel>
      let kind: HybridMessage.Kind?

      init(_ message: HybridMessage) {
        appKey = message.appKey
        channels = message.channels.isEmpty ? Set(HybridMessage.Channel.allCases) : message.channels
        kind = message.kind
      }
    }

    /// The fallback's among them.
    let apps: [PushApp]
    let traits: TrackedTraits
    let kind: HybridMessage.Kind
    /// The app of the customer's SMS provider, if there is one, whether or not messages may go there.
    let sms: PushApp?
    var isSMSOnly: Bool { apps.count == 1 && traits.fallback != nil }
  }

  private func route(
    _ customer: CustomerID, _ key: HybridRoute.Key
  ) async throws -> Result<HybridRoute, HybridRefusal> {
    let channels = key.channels
    var app: HybridApp?
    if let appKey = key.appKey {
      app = try await hybridApps.app(appKey, of: customer)
      if app == nil { return .failure(.appKeyUnknown) }
    } else if !channels.contains(.sms) {
      return .failure(.appKeyUnknown)
    }
    let kind = key.kind ?? app?.messageType ?? .standard
    var pushApps: [PushApp] = []
    if let app, channels.contains(.push) {
      pushApps = try await apps.apps(customer, appID: app.appID).filter { $0.missingCredential == nil }
    }
    // `all` remembers that there is none, too.
    let sms = try await apps.all(customer).first { $0.appID == PushApp.smsAppID && $0.missingCredential == nil }
    let mayFallBack = channels.contains(.sms) && (kind != .otp || app == nil || !channels.contains(.push))
    let fallback = mayFallBack ? sms : nil
    let all = pushApps + [fallback].compactMap(\.self)
    guard !all.isEmpty else { return .failure(.noProvider) }
    let isCritical = kind == .critical
    let reportApp =
      if let app { app.statusURL.map { _ in app.appID } } else { try await hybridApps.reportApp(customer) }
    return .success(
      HybridRoute(
        apps: all,
        traits: TrackedTraits(
          title: "Messages to numbers", kind: kind.rawValue, appID: app?.appID, fallback: fallback?.id,
          fallbackDelay: isCritical ? confirmationTime : nil,
          onUncertain: isCritical || fallback == nil ? .resend : .skip,
          reportApp: reportApp, idFields: HybridMessage.idFields), kind: kind, sms: sms))
  }

  /// How long a one-time password is valid, in seconds.
  private static let passwordLifetime: Int32 = 30

  /// Finds what would refuse some of the messages, and registers their unknown numbers, before any is accepted.
  /// - Returns: a refusal because of numbers that have opted out of SMS.
  private func prepare(
    _ customer: CustomerID, _ routes: [HybridRoute: [Int]], _ messages: [HybridMessage]
  ) async throws -> HybridRefusal? {
    var unknown: [(numbers: Set<PhoneNumber>, sms: PushApp?)] = []
    for (route, indices) in routes {
      let unreachable = try await TrackedMessages(database).unreachable(
        customer, originalIDs: indices.map { messages[$0].number.international }, fallback: route.traits.fallback)
      if !unreachable.optedOut.isEmpty { return .suppressed }
      unknown.append((Set(unreachable.unknown.compactMap { PhoneNumber($0) }), route.sms))
    }
    for (numbers, sms) in unknown { try await register(customer, numbers, in: sms) }
    return nil
  }

  private func accept(
    _ customer: CustomerID, _ messages: [HybridMessage], by route: HybridRoute
  ) async -> [Result<(answer: HybridAcceptance, isCapped: Bool), any Error>] {
    func accept(_ messages: [HybridMessage]) async -> [Result<Acceptance, any Error>] {
      do {
        // Somebody waits for a password, as for a PIN.
        return try await self.messages.acceptEach(
          customer, messages, to: route.apps, route.traits, isLimited: route.kind != .otp
        ) { tracked($0, by: route) }
      } catch {
        return messages.map { _ in .failure(error) }
      }
    }
    var results = await accept(messages)
    let unknown = results.indices.filter {
      if case .success(.addresseeUnknown) = results[$0] { true } else { false }
    }
    if !unknown.isEmpty {
      do {
        try await register(customer, Set(unknown.map { messages[$0].number }), in: route.sms)
        let again = await accept(unknown.map { messages[$0] })
        for (index, result) in zip(unknown, again) { results[index] = result }
      } catch {
        for index in unknown { results[index] = .failure(error) }
      }
    }
    return zip(messages, results).map { message, result in
      result.map { acceptance in
        switch acceptance {
        case .accepted: (.accepted(parts: message.parts), false)
        case .limited: (.accepted(parts: message.parts), true)
        case .suppressed: (.refused(.suppressed), false)
        case .addresseeUnknown, .repeated, .deferred: (.refused(.noProvider), false)
        }
      }
    }
  }

  private func tracked(_ message: HybridMessage, by route: HybridRoute) -> TrackedMessage {
    let now = messages.now()
    var lifetime = message.expiresAt.map { Int32(clamping: Int($0.timeIntervalSince(now).rounded(.up))) }
    if route.kind == .otp, !route.isSMSOnly { lifetime = min(lifetime ?? .max, Self.passwordLifetime) }
    return TrackedMessage(
      to: message.number.international,
      TrackedDetails(
        recipient: message.number.digits, sender: message.sender, text: message.text,
        parts: Int16(clamping: message.parts),
        lifetime: lifetime),
      body: message.body(isSilent: route.kind == .critical && !route.isSMSOnly, lifetime: lifetime),
      reference: message.reference, expiresAt: lifetime.map { now.addingTimeInterval(Double($0)) })
  }

  /// Most numbers that are registered at a time: a statement takes as many, and little more of a customer's registrations may wait.
  private static let portion = 256

  /// Makes numbers contacts, with a device that gets SMS if there is an app of those.
  private func register(_ customer: CustomerID, _ numbers: Set<PhoneNumber>, in sms: PushApp?) async throws {
    let numbers = Array(numbers)
    for start in stride(from: 0, to: numbers.count, by: Self.portion) {
      let portion = numbers[start..<min(start + Self.portion, numbers.count)]
      if let sms {
        try await register(customer, portion, in: sms)
      } else {
        try await Contacts(database).add(customer, originalIDs: portion.map(\.international))
      }
    }
  }

  private func register(_ customer: CustomerID, _ numbers: ArraySlice<PhoneNumber>, in sms: PushApp) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in numbers {
        let body = PushDevicesBody(
          originalId: number.international, deviceInfo: [.init(deviceToken: number.e164)])
        let registration = try Registration(body, apps: [sms])
        group.addTask { [registrations] in
          try await registrations.register(customer, registration, returnsContact: false)
        }
      }
      try await group.waitForAll()
    }
  }
}

/// Every statement of this room, so that a test can prepare each of them on a real server.
package enum HybridStatements {
  package static let all: [Statement] =
    StatusReportQueries.all + HybridAppQueries.all + PhoneRegistrationQueries.all
    + PhoneMessageQueries.all + SealedColumn.hybrid.flatMap(\.statements) + HybridPersonalTables.statements
}
