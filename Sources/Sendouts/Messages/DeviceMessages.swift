import Content
public import Delivery
import Postgres
public import Registry
public import Wire

/// A message to one device, whose sender gets the push service's verdict.
public struct DeviceMessage: Sendable {
  public var app: PushApp
  public var token: DeviceToken
  /// The original id of the contact that the token becomes a device of, if it is not known yet.
  public var owner: String
  /// Whether a device of another contact becomes the owner's.
  public var movesDevice: Bool
  public var message: MessageBody

  public init(app: PushApp, token: DeviceToken, owner: String, movesDevice: Bool, message: MessageBody) {
    self.app = app
    self.token = token
    self.owner = owner
    self.movesDevice = movesDevice
    self.message = message
  }
}

/// What the push service says about a message to one device.
public enum DeviceVerdict: Sendable, Equatable {
  case accepted
  /// - reason: the push service's own, or the hub's; nil if none is known.
  case refused(FailureCause, reason: String?)
}

extension MessageService {
  /// Accepts a message to one device, and waits for the push service's verdict. A token that is not registered works at once, unless the
  /// push service has said that it is dead. There is no task if caches have all that the message needs.
  ///
  /// Once there is a verdict, the message is in the ledger, but for one to a dead token, and what came of it soon is. Passing failures are
  /// tried again meanwhile. What has no verdict in time is `.unavailable`, and goes on by its time to live.
  /// - Parameters:
  ///   - limit: how long to wait at most.
  ///   - answer: called once, from any thread, with what became of the message. It fails with `SendoutError.appWithoutCredentials`,
  ///     `.streamEnded`; `RegistryError.invalid`; `ContentError`; what `DatabaseUnavailable` recognizes.
  public func send(
    _ customer: CustomerID, _ message: DeviceMessage, within limit: Duration,
    _ answer: @escaping @Sendable (Result<DeviceVerdict, any Error>) -> Void
  ) {
    let deadline = ContinuousClock.now + limit
    attempt {
      try self.plan(customer, message, 0, $0)
    } then: { plan in
      switch plan {
      case .failure(let error): answer(.failure(error))
      case .success(let plan): self.send(customer, plan, until: deadline, answer)
      }
    }
  }

  private func send(
    _ customer: CustomerID, _ plan: DevicePlan, until deadline: ContinuousClock.Instant,
    _ answer: @escaping @Sendable (Result<DeviceVerdict, any Error>) -> Void
  ) {
    let stream = plan.stream.stream
    messages.accept(plan.new, in: stream) { acceptance in
      guard case .success(.accepted(let number, let pushes)) = acceptance, let push = pushes.first?.number else {
        // The token has to be registered, or the message was not accepted.
        return self.finish(customer, plan, acceptance, until: deadline, answer)
      }
      self.messages.verdicts(plan.wait, on: [push], of: stream.key, within: deadline - .now) { reported in
        if let verdict = Self.verdict(reported[push]) { return answer(.success(verdict)) }
        Task { answer(await self.lateVerdict(customer, MessageID(stream.key.sendout, number), reported[push])) }
      }
    }
  }

  private func finish(
    _ customer: CustomerID, _ plan: DevicePlan, _ acceptance: Result<Acceptance, any Error>,
    until deadline: ContinuousClock.Instant, _ answer: @escaping @Sendable (Result<DeviceVerdict, any Error>) -> Void
  ) {
    Task {
      let acceptances = await self.registered(customer, [plan], [acceptance]).map(\.1)
      answer(await self.verdicts(customer, acceptances, until: deadline)[0])
    }
  }

  /// Sends a list. Nothing of what was read is left while verdicts are waited for.
  /// - Parameters:
  ///   - needsPermit: whether it is long, so that it is read and accepted once there is a permit.
  ///   - read: makes the messages.
  /// - Returns: what became of each, in their order, with failures as above.
  /// - Throws: what `read` throws; `CancellationError` when the task is cancelled while it waits.
  public func send(
    _ customer: CustomerID, within limit: Duration, needsPermit: Bool, reading read: () async throws -> [DeviceMessage]
  ) async throws -> [Result<DeviceVerdict, any Error>] {
    let deadline = ContinuousClock.now + limit
    func accept() async throws -> [DeviceAcceptance] { await self.accept(customer, try await read()) }
    let acceptances = needsPermit ? try await withListPermit(customer, accept) : try await accept()
    return await verdicts(customer, acceptances, until: deadline)
  }

  /// What became of a message that was to be accepted.
  private enum DeviceAcceptance: Sendable {
    case accepted(MessageID, PushNumber, MessageWait)
    case ended(Result<DeviceVerdict, any Error>)
  }

  private func accept(_ customer: CustomerID, _ messages: [DeviceMessage]) async -> [DeviceAcceptance] {
    var plans: [SendoutKey: [DevicePlan]] = [:]
    var acceptances = [DeviceAcceptance](
      repeating: .ended(.success(.refused(.unavailable, reason: nil))), count: messages.count)
    for (index, message) in messages.enumerated() {
      do {
        let plan = try await complete { try self.plan(customer, message, index, $0) }
        plans[plan.stream.stream.key, default: []].append(plan)
      } catch {
        acceptances[index] = .ended(.failure(error))
      }
    }
    // Mostly they are of one app, and need no further tasks.
    if plans.count == 1, let plans = plans.values.first {
      for (index, acceptance) in await accept(customer, plans) { acceptances[index] = acceptance }
      return acceptances
    }
    return await withTaskGroup(of: [(Int, DeviceAcceptance)].self) { group in
      for plans in plans.values { group.addTask { await self.accept(customer, plans) } }
      return await group.reduce(into: acceptances) { acceptances, some in
        for (index, acceptance) in some { acceptances[index] = acceptance }
      }
    }
  }

  /// A message that is to be accepted, checked.
  private struct DevicePlan: Sendable {
    /// Its place among those that came with it.
    let index: Int
    let message: DeviceMessage
    let apps: [PushApp]
    let stream: OpenStream
    let new: NewMessage
    let wait: MessageWait
  }

  /// - Throws: `MustLookUp`; what the message is refused for.
  private func plan(
    _ customer: CustomerID, _ message: DeviceMessage, _ index: Int, _ found: LookedUp
  ) throws -> DevicePlan {
    let apps = try SendoutRules.sendable([message.app], areCalls: true)
    let stream = try self.stream(customer, apps, found)
    let compiled = try CompiledMessage(message.message, types: [message.app.type])
    try compiled.check(for: apps)
    var content = stream.traits.content(message.message, compiled.template)
    content.expiresAt = MessageContent.expiry(of: compiled.template.ttl, from: now())
    let wait = MessageWait(endsWithAnswer: true)
    let new = NewMessage(
      to: .device(app: message.app.id, message.token, owner: message.movesDevice ? message.owner : nil),
      content: content, body: compiled.json, reference: nil, repetitionKey: nil, wait: wait)
    return DevicePlan(index: index, message: message, apps: apps, stream: stream, new: new, wait: wait)
  }

  /// Accepts messages of one stream.
  private func accept(_ customer: CustomerID, _ plans: [DevicePlan]) async -> [(Int, DeviceAcceptance)] {
    await registered(customer, plans, await messages.acceptEach(plans.map(\.new), in: plans[0].stream.stream))
  }

  /// Makes devices of tokens that are not known yet, and accepts their messages.
  /// - Parameter acceptances: what became of all messages, in their order.
  private func registered(
    _ customer: CustomerID, _ plans: [DevicePlan], _ first: [Result<Acceptance, any Error>]
  ) async -> [(Int, DeviceAcceptance)] {
    let stream = plans[0].stream.stream
    var acceptances = first
    var refused: [Int: Result<DeviceVerdict, any Error>] = [:]
    let unknown = acceptances.indices.filter { place in
      switch acceptances[place] {
      case .failure: false
      // One to a device that is not valid any more is accepted without a push.
      case .success(.accepted(_, let pushes)): pushes.isEmpty
      case .success: true
      }
    }
    if !unknown.isEmpty {
      refused = await register(customer, unknown.map { ($0, plans[$0]) })
      let known = unknown.filter { refused[$0] == nil }
      // Whoever has the devices by now: several accounts of one device can get a call at once.
      let again = known.map { place in
        var message = plans[place].new
        message.to = .device(app: plans[place].message.app.id, plans[place].message.token)
        return message
      }
      for (place, acceptance) in zip(known, await messages.acceptEach(again, in: stream)) {
        acceptances[place] = acceptance
      }
    }
    return plans.enumerated().map { place, plan in
      if let refusal = refused[place] { return (plan.index, .ended(refusal)) }
      switch acceptances[place] {
      case .failure(let error): return (plan.index, .ended(.failure(error)))
      case .success(.accepted(let number, let pushes)) where !pushes.isEmpty:
        return (plan.index, .accepted(MessageID(stream.key.sendout, number), pushes[0].number, plan.wait))
      case .success: return (plan.index, .ended(.success(.refused(.unavailable, reason: nil))))
      }
    }
  }

  /// Waits for verdicts. What has none in time is looked up at the same time, as another hub may have sent it meanwhile.
  private func verdicts(
    _ customer: CustomerID, _ acceptances: [DeviceAcceptance], until deadline: ContinuousClock.Instant
  ) async -> [Result<DeviceVerdict, any Error>] {
    await withTaskGroup(of: (Int, Result<DeviceVerdict, any Error>).self) { lookUps in
      var results: [Result<DeviceVerdict, any Error>] = []
      for (place, acceptance) in acceptances.enumerated() {
        switch acceptance {
        case .ended(let result): results.append(result)
        case .accepted(let id, let push, let wait):
          let reported = await messages.verdicts(
            wait, on: [push], of: SendoutKey(customer, id.sendout), within: deadline - .now)[push]
          let verdict = Self.verdict(reported)
          results.append(.success(verdict ?? .refused(.unavailable, reason: reported?.reason)))
          if verdict == nil { lookUps.addTask { (place, await self.lateVerdict(customer, id, reported)) } }
        }
      }
      return await lookUps.reduce(into: results) { $0[$1.0] = $1.1 }
    }
  }

  /// - Returns: nil while there is none.
  private static func verdict(_ reported: PushVerdict?) -> DeviceVerdict? {
    switch reported {
    case let reported? where reported.state == .accepted: .accepted
    case let reported?
    where ![.queued, .waiting].contains(reported.state)
      || [.credentialsRefused, .tokenInvalid].contains(reported.cause):
      .refused(reported.cause ?? .unavailable, reason: reported.reason)
    default: nil
    }
  }

  private func lateVerdict(
    _ customer: CustomerID, _ id: MessageID, _ reported: PushVerdict?
  ) async -> Result<DeviceVerdict, any Error> {
    do {
      let isAccepted = try await Messages(database).find(customer, id)?.pushes.contains { $0.state == .accepted }
      return .success(isAccepted == true ? .accepted : .refused(.unavailable, reason: reported?.reason))
    } catch {
      return .failure(error)
    }
  }

  /// Makes devices of tokens that may become some.
  /// - Parameter plans: each with its place.
  /// - Returns: what became of the others, by place.
  private func register(
    _ customer: CustomerID, _ plans: [(place: Int, plan: DevicePlan)]
  ) async -> [Int: Result<DeviceVerdict, any Error>] {
    await withTaskGroup(of: (Int, Result<DeviceVerdict, any Error>?).self) { group in
      for (place, plan) in plans {
        group.addTask {
          do {
            guard try await self.mayRegister(customer, plan.message) else {
              return (place, .success(.refused(.tokenInvalid, reason: .hub(.deviceInvalidated))))
            }
            let message = plan.message
            try await self.register(customer, message.token.text, of: message.owner, message.app.type, plan.apps)
            return (place, nil)
          } catch {
            return (place, .failure(error))
          }
        }
      }
      return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
    }
  }

  /// Whether a token without a valid device may become one: it is new, it is another contact's, or it gave way to newer devices. What
  /// the push service or the contact's own app has ended stays so.
  private func mayRegister(_ customer: CustomerID, _ message: DeviceMessage) async throws -> Bool {
    let devices = Devices(database)
    guard let known = try await devices.recipient(customer, message.app.id, message.token) else { return true }
    switch known.device.invalidationType {
    case .valid: return true
    case .refused, .wrongEnvironment: return false
    default:
      guard known.contact.originalID == message.owner else { return true }
      let histories = try await devices.histories(customer, of: known.contact.id, in: [message.app.id])
      return histories.first { $0.id == known.device.id }?.invalidationReason == Device.gaveWay
    }
  }
}
