import Content
public import Delivery
public import FoundationEssentials
import Postgres
public import Registry
public import Wire

/// A message to a telephone number: what a push and an SMS say.
public struct NumberMessage: Sendable {
  public let details: HybridDetails
  public let body: MessageBody
  public let reference: String?
  public let expiresAt: Date?

  public init(_ details: HybridDetails, body: MessageBody, reference: String?, expiresAt: Date?) {
    self.details = details
    self.body = body
    self.reference = reference
    self.expiresAt = expiresAt
  }
}

extension MessageService {
  /// Accepts messages to telephone numbers, in today's stream of these apps and traits. Once this returns, those that are accepted are
  /// committed, and on their way. Where a part of a long list fails, those behind it are not tried.
  /// - Parameters:
  ///   - messages: each becomes one by `order`, of a list once there is a permit.
  ///   - apps: with credentials, the fallback's among them.
  /// - Returns: what became of each, in their order.
  /// - Throws: `SendoutError.appWithoutCredentials`, `.streamEnded`; `ContentError`. Then nothing is committed.
  public func acceptEach<Message>(
    _ customer: CustomerID, _ messages: [Message], to apps: [PushApp], _ traits: HybridTraits,
    _ order: (Message) -> NumberMessage
  ) async throws -> [Result<Acceptance, any Error>] {
    let name = streamName(customer, apps, nil, nil, hybrid: traits)
    let stream = try await streams.value(name) { try await self.open(name, apps, nil, nil) }
    guard messages.count > 1 else { return try await acceptEach(messages.map(order), in: stream) }
    return try await withListPermit(customer) { try await acceptEach(messages.map(order), in: stream) }
  }

  private func acceptEach(
    _ messages: [NumberMessage], in stream: OpenStream
  ) async throws -> [Result<Acceptance, any Error>] {
    let all = try messages.map { message in
      var content = stream.traits.content(message.body, try MessageTemplate(message.body))
      content.expiresAt = message.expiresAt
      return NewMessage(
        to: .contact(originalID: message.details.number.international), content: content,
        body: message.body.json, reference: message.reference, repetitionKey: nil, wait: nil,
        hybrid: message.details)
    }
    return await self.messages.acceptEach(all, in: stream.stream)
  }
}
