import Content
public import Delivery
public import FoundationEssentials
import Postgres
public import Registry
public import Wire

/// A tracked message to a contact: what its pushes say.
public struct TrackedMessage: Sendable {
  public let originalID: String
  public let details: TrackedDetails
  public let body: MessageBody
  public let reference: String?
  public let expiresAt: Date?

  public init(
    to originalID: String, _ details: TrackedDetails, body: MessageBody, reference: String?, expiresAt: Date?
  ) {
    self.originalID = originalID
    self.details = details
    self.body = body
    self.reference = reference
    self.expiresAt = expiresAt
  }
}

extension MessageService {
  /// Accepts tracked messages in today's stream of these apps and traits. Once this returns, those that are accepted are
  /// committed, and on their way. Where a part of a long list fails, those behind it are not tried.
  /// - Parameters:
  ///   - messages: each becomes one by `tracked`, of a list once there is a permit.
  ///   - apps: with credentials, the fallback's among them.
  ///   - isLimited: whether caps count and stop them. Quiet hours are about marketing, which they are not.
  /// - Returns: what became of each, in their order.
  /// - Throws: `SendoutError.appWithoutCredentials`, `.streamEnded`; `ContentError`. Then nothing is committed.
  public func acceptEach<Message>(
    _ customer: CustomerID, _ messages: [Message], to apps: [PushApp], _ traits: TrackedTraits,
    isLimited: Bool, _ tracked: (Message) -> TrackedMessage
  ) async throws -> [Result<Acceptance, any Error>] {
    let stream = try await complete { found in
      var stream = try self.stream(customer, apps, found, tracked: traits)
      if isLimited { stream.stream.limits = try self.limits(of: customer, for: .transactional, found) }
      return stream
    }
    guard messages.count > 1 else { return try await acceptEach(messages.map(tracked), in: stream) }
    return try await withListPermit(customer) { try await acceptEach(messages.map(tracked), in: stream) }
  }

  private func acceptEach(
    _ messages: [TrackedMessage], in stream: OpenStream
  ) async throws -> [Result<Acceptance, any Error>] {
    let all = try messages.map { message in
      var content = stream.traits.content(message.body, try MessageTemplate(message.body))
      content.expiresAt = message.expiresAt
      return NewMessage(
        to: .contact(originalID: message.originalID), content: content,
        body: message.body.json, reference: message.reference, repetitionKey: nil, wait: nil,
        tracked: message.details)
    }
    return await self.messages.acceptEach(all, in: stream.stream)
  }
}
