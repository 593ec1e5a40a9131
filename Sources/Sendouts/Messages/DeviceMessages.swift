import Content
public import Delivery
import Postgres
public import Registry
public import Wire

/// A message to one device, of which the sender is told what the push service says about it.
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
  /// Accepts messages to one device each, and waits for the push service's verdicts. A token that is not registered works at once,
  /// unless the push service has said that it is dead.
  ///
  /// Once a verdict is returned, the message is in the ledger, but for one to a dead token. Passing failures are tried again meanwhile.
  /// What has no verdict in time is `.unavailable`, and goes on by its time to live.
  /// - Parameter limit: how long to wait at most.
  /// - Returns: what became of each, in their order. Failures are `SendoutError.appWithoutCredentials`, `.streamEnded`;
  ///   `RegistryError.invalid`; `ContentError`; what `DatabaseUnavailable` recognizes.
  public func send(
    _ customer: CustomerID, _ messages: [DeviceMessage], within limit: Duration
  ) async -> [Result<DeviceVerdict, any Error>] {
    let deadline = ContinuousClock.now + limit
    var orders: [SendoutKey: [DeviceOrder]] = [:]
    var results: [Result<DeviceVerdict, any Error>] = []
    for (index, message) in messages.enumerated() {
      results.append(.success(.refused(.unavailable, reason: nil)))
      do {
        let order = try await order(customer, message, index)
        orders[order.stream.stream.key, default: []].append(order)
      } catch {
        results[index] = .failure(error)
      }
    }
    return await withTaskGroup(of: [(Int, Result<DeviceVerdict, any Error>)].self) { group in
      for orders in orders.values { group.addTask { await self.send(customer, orders, until: deadline) } }
      return await group.reduce(into: results) { results, some in
        for (index, result) in some { results[index] = result }
      }
    }
  }

  /// A message that is to be accepted, checked.
  private struct DeviceOrder: Sendable {
    /// Its place among those that came with it.
    let index: Int
    let message: DeviceMessage
    let apps: [PushApp]
    let stream: OpenStream
    let new: NewMessage
    let wait: MessageWait
  }

  private func order(_ customer: CustomerID, _ message: DeviceMessage, _ index: Int) async throws -> DeviceOrder {
    let compiled = try CompiledMessage(message.message, types: [message.app.type])
    let apps = try SendoutRules.sendable([message.app], areCalls: true)
    try compiled.check(for: apps)
    let stream = try await stream(customer, apps, template: nil, nil)
    var content = stream.traits.content(message.message, compiled.template)
    content.expiresAt = MessageContent.expiry(of: compiled.template.ttl, from: now())
    let wait = MessageWait(endsWhenRefused: true)
    let new = NewMessage(
      to: .device(app: message.app.id, message.token, owner: message.movesDevice ? message.owner : nil),
      content: content, body: compiled.json, reference: nil, repetitionKey: nil, wait: wait)
    return DeviceOrder(index: index, message: message, apps: apps, stream: stream, new: new, wait: wait)
  }

  /// Sends messages of one stream.
  private func send(
    _ customer: CustomerID, _ orders: [DeviceOrder], until deadline: ContinuousClock.Instant
  ) async -> [(Int, Result<DeviceVerdict, any Error>)] {
    let stream = orders[0].stream.stream
    do {
      var acceptances = try await messages.accept(orders.map(\.new), in: stream)
      var refused: [Int: Result<DeviceVerdict, any Error>] = [:]
      let unknown = acceptances.indices.filter { place in
        // One to a device that is not valid any more is accepted without a push.
        if case .accepted(_, let pushes) = acceptances[place] { pushes.isEmpty } else { true }
      }
      if !unknown.isEmpty {
        refused = await register(customer, unknown.map { ($0, orders[$0]) })
        let known = unknown.filter { refused[$0] == nil }
        for (place, acceptance) in zip(known, try await messages.accept(known.map { orders[$0].new }, in: stream)) {
          acceptances[place] = acceptance
        }
      }
      var results: [(Int, Result<DeviceVerdict, any Error>)] = []
      for (place, order) in orders.enumerated() {
        if let refusal = refused[place] {
          results.append((order.index, refusal))
        } else if case .accepted(let number, let pushes) = acceptances[place], let push = pushes.first?.number {
          let told = await order.wait.verdicts(within: max(.zero, deadline - .now))[push]
          messages.stopWaiting(for: [push], of: stream.key)
          results.append((order.index, await verdict(customer, MessageID(stream.key.sendout, number), told)))
        } else {
          results.append((order.index, .success(.refused(.unavailable, reason: nil))))
        }
      }
      return results
    } catch {
      return orders.map { ($0.index, .failure(error)) }
    }
  }

  private func verdict(
    _ customer: CustomerID, _ id: MessageID, _ told: PushVerdict?
  ) async -> Result<DeviceVerdict, any Error> {
    switch told {
    case let told? where told.state == .accepted: return .success(.accepted)
    case let told? where ![.queued, .waiting].contains(told.state) || told.cause == .credentialsRefused:
      return .success(.refused(told.cause ?? .unavailable, reason: told.reason))
    default:
      do {
        // Another hub may have sent it meanwhile.
        let isAccepted = try await Messages(database).find(customer, id)?.pushes.contains { $0.state == .accepted }
        return .success(isAccepted == true ? .accepted : .refused(.unavailable, reason: told?.reason))
      } catch {
        return .failure(error)
      }
    }
  }

  /// Makes devices of tokens that may become some.
  /// - Parameter orders: each with its place.
  /// - Returns: what became of the others, by place.
  private func register(
    _ customer: CustomerID, _ orders: [(place: Int, order: DeviceOrder)]
  ) async -> [Int: Result<DeviceVerdict, any Error>] {
    await withTaskGroup(of: (Int, Result<DeviceVerdict, any Error>?).self) { group in
      for (place, order) in orders {
        group.addTask {
          do {
            guard try await self.mayRegister(customer, order.message) else {
              return (place, .success(.refused(.tokenInvalid, reason: "device_invalidated")))
            }
            let message = order.message
            try await self.register(customer, message.token.text, of: message.owner, message.app.type, order.apps)
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
