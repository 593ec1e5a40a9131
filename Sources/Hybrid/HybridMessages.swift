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
  private let now: @Sendable () -> Date

  /// - Parameters:
  ///   - confirmationTime: how long a critical message waits for a device before it goes by SMS.
  ///   - now: the clock by which validity is counted.
  public init(
    _ database: any Querying, messages: MessageService, apps: PushAppCache, hybridApps: HybridAppCache,
    registrations: RegistrationBatcher, confirmationTime: Duration = .seconds(30),
    now: @escaping @Sendable () -> Date = { Date() }
  ) {
    self.confirmationTime = confirmationTime
    self.now = now
    self.database = database
    self.messages = messages
    self.apps = apps
    self.hybridApps = hybridApps
    self.registrations = registrations
  }

  /// Accepts messages. Those that are accepted are committed once this returns, and on their way.
  /// - Parameter allOrNothing: whether one refusal refuses all; then the others have the first refusal too.
  /// - Returns: what became of each, in their order.
  /// - Throws: `SendoutError.streamEnded`; what `DatabaseUnavailable` recognizes. Then some may be committed.
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
      if refusal == nil { refusal = try await suppression(customer, routes, messages) }
      if let refusal { return messages.map { _ in .refused(refusal) } }
    }
    var later: [(number: PhoneNumber, reference: String?, text: String)] = []
    for (route, indices) in routes {
      let accepted = try await accept(customer, indices.map { messages[$0] }, by: route)
      for (index, answer) in zip(indices, accepted) {
        answers[index] = answer
        guard route.isSMSOnly, case .accepted = answer else { continue }
        later.append((messages[index].number, messages[index].reference, messages[index].text))
      }
    }
    // What is committed is answered as accepted: a repetition would send it twice. At worst a password arrives by push, too.
    if !later.isEmpty { try? await HybridLedger(database).withdraw(customer, later) }
    return answers
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
    let unknown = try await HybridLedger(database).confirm(
      customer, known, number: number, appID: appID, readAt: readAt)
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
    let traits: HybridTraits
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
    return .success(
      HybridRoute(
        apps: all,
        traits: HybridTraits(
          kind: kind.rawValue, appID: app?.appID, fallback: fallback?.id,
          fallbackDelay: isCritical ? confirmationTime : nil,
          onUncertain: isCritical || fallback == nil ? .resend : .skip,
          isReported: app?.statusURL != nil), kind: kind, sms: sms))
  }

  /// How long a one-time password is good for, in seconds.
  private static let passwordLifetime: Int32 = 30

  /// A refusal because of numbers that have opted out of SMS.
  private func suppression(
    _ customer: CustomerID, _ routes: [HybridRoute: [Int]], _ messages: [HybridMessage]
  ) async throws -> HybridRefusal? {
    for (route, indices) in routes {
      guard let fallback = route.traits.fallback else { continue }
      let numbers = indices.map { messages[$0].number }
      if try await !HybridLedger(database).suppressed(customer, numbers, in: fallback).isEmpty { return .suppressed }
    }
    return nil
  }

  private func accept(
    _ customer: CustomerID, _ messages: [HybridMessage], by route: HybridRoute
  ) async throws -> [HybridAcceptance] {
    func accept(_ messages: [HybridMessage]) async throws -> [Acceptance] {
      try await self.messages.accept(customer, messages, to: route.apps, route.traits) { order($0, by: route) }
    }
    var acceptances = try await accept(messages)
    let unknown = acceptances.indices.filter { if case .addresseeUnknown = acceptances[$0] { true } else { false } }
    if !unknown.isEmpty, let sms = route.sms {
      try await register(customer, Set(unknown.map { messages[$0].number }), in: sms)
      let again = try await accept(unknown.map { messages[$0] })
      for (index, acceptance) in zip(unknown, again) { acceptances[index] = acceptance }
    }
    return zip(messages, acceptances).map { message, acceptance in
      switch acceptance {
      case .accepted: .accepted(parts: message.parts)
      case .suppressed: .refused(.suppressed)
      case .addresseeUnknown, .repeated: .refused(.noProvider)
      }
    }
  }

  private func order(_ message: HybridMessage, by route: HybridRoute) -> NumberMessage {
    let now = now()
    var lifetime = message.expiresAt.map { Int32(clamping: Int($0.timeIntervalSince(now).rounded(.up))) }
    if route.kind == .otp, !route.isSMSOnly { lifetime = min(lifetime ?? .max, Self.passwordLifetime) }
    return NumberMessage(
      HybridDetails(
        number: message.number, sender: message.sender, text: message.text, parts: Int16(clamping: message.parts),
        lifetime: lifetime),
      body: message.body(isSilent: route.kind == .critical && !route.isSMSOnly, lifetime: lifetime),
      reference: message.reference, expiresAt: lifetime.map { now.addingTimeInterval(Double($0)) })
  }

  /// Makes numbers contacts with a device that gets SMS.
  private func register(_ customer: CustomerID, _ numbers: Set<PhoneNumber>, in sms: PushApp) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in numbers {
        var body = PushDevicesBody()
        body.originalId = number.international
        var device = PushDevicesBody.DeviceInfo()
        device.deviceToken = number.e164
        body.deviceInfo = [device]
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
    HybridReportQueries.all + HybridAppQueries.all + PhoneRegistrationQueries.all
    + PhoneMessageQueries.all
}
