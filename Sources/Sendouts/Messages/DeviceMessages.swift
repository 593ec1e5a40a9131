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
  /// Accepts a message to one device, and waits for the push service's verdict. A token that is not registered works at once, unless
  /// the push service has said that it is dead.
  ///
  /// Once a verdict is returned, the message is in the ledger, but for one to a dead token. Passing failures are tried again meanwhile.
  /// What has no verdict in time is `.unavailable`, and goes on by its time to live.
  /// - Parameter limit: how long to wait at most.
  /// - Throws: `SendoutError.appWithoutCredentials`, `.streamEnded`; `RegistryError.invalid`; `ContentError`.
  public func send(
    _ customer: CustomerID, _ message: DeviceMessage, within limit: Duration
  ) async throws -> DeviceVerdict {
    let deadline = ContinuousClock.now + limit
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
    var accepted = try await pushes(of: new, in: stream)
    if accepted == nil {
      guard try await mayRegister(customer, message) else {
        return .refused(.tokenInvalid, reason: "device_invalidated")
      }
      try await register(customer, message.token.text, of: message.owner, message.app.type, apps)
      accepted = try await pushes(of: new, in: stream)
    }
    guard let (number, push) = accepted else { return .refused(.unavailable, reason: nil) }
    let verdicts = await wait.verdicts(within: max(.zero, deadline - .now))
    messages.stopWaiting(for: [push], of: stream.stream.key)
    switch verdicts[push] {
    case let verdict? where verdict.state == .accepted: return .accepted
    case let verdict? where ![.queued, .waiting].contains(verdict.state) || verdict.cause == .credentialsRefused:
      return .refused(verdict.cause ?? .unavailable, reason: verdict.reason)
    case let verdict:
      // Another hub may have sent it meanwhile.
      let id = MessageID(stream.stream.key.sendout, number)
      let isAccepted = try await Messages(database).find(customer, id)?.pushes.contains { $0.state == .accepted }
      return isAccepted == true ? .accepted : .refused(.unavailable, reason: verdict?.reason)
    }
  }

  /// Accepts the message; nil if there is no valid device of that token.
  private func pushes(of message: NewMessage, in stream: OpenStream) async throws -> (Int32, PushNumber)? {
    guard case .accepted(let number, let pushes) = try await messages.accept(message, in: stream.stream),
      let push = pushes.first
    else { return nil }
    return (number, push.number)
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
