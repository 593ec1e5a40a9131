import Content
import Foundation
import Postgres
import Registry
import Support
import Wire

@testable import Delivery

extension SendingBench {
  /// A stream that is there.
  func addStream() async throws -> SendoutKey {
    let sendout = try await database.query(
      """
      INSERT INTO sendout (customer_id, kind, stream, push_app_ids, name, state, audience, message)
      VALUES ($1::bigint, 'stream', 'x', ARRAY[$2::bigint], 'x', 'running', '{"all":true}', '{}')
      RETURNING sendout_id
      """, customer.rawValue, app.id.rawValue)[0].decode(Int64.self)
    return SendoutKey(customer, SendoutID(sendout))
  }

  /// The stream as messages go to it.
  func messageStream(_ dispatcher: Dispatcher, _ key: SendoutKey) async throws -> MessageStream {
    MessageStream(key: key, apps: [try await appTarget(dispatcher)], notify: {}) {
      StreamNumbers(
        message: 1, push: 1, batch: 0, messagesLeft: 10_000, pushesLeft: 1_000_000, batchesLeft: 1_000_000)
    }
  }
}

extension MessageDispatcher {
  /// Accepts a message; once this returns, it is committed, and on its way.
  func accept(_ message: NewMessage, in stream: MessageStream) async throws -> Acceptance {
    try await acceptEach([message], in: stream)[0].get()
  }
}

/// A message to a contact.
func message(
  to originalID: String, _ alert: String = "x", at moment: Date? = nil, once key: String? = nil, expiresAt: Date? = nil,
  livingFor ttl: Int? = nil
) throws -> NewMessage {
  var content = MessageContent(
    template: try MessageTemplate(MessageBody(alert: alert, ttl: ttl)), sendout: SendoutFields(), hasPage: false)
  content.expiresAt = expiresAt
  return NewMessage(
    to: .contact(originalID: originalID), content: content, body: #"{"alert":"\#(alert)"}"#, reference: nil,
    repetitionKey: key.map { NewMessage.RepetitionKey(key: $0, fingerprint: [1]) }, wait: nil, deliverAt: moment)
}
