import Crypto
import Delivery
import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore
import Operations
import Registry
import Sendouts
import Wire

/// `POST /api/v1/messages`, which has a route of its own: it is asked for by the thousand.
struct MessageRoutes: Sendable {
  let authenticator: Authenticator
  let messages: MessageService

  /// Takes one message, or a list of them. A list is answered in its order, and each message is taken or refused by itself. One message
  /// that needs no look-up is accepted without a task.
  func send(_ request: inout FastRequest, _ answer: @escaping FastCompletion) throws {
    let access = try authenticator.access(&request, needs: .send)
    let bytes = try request.jsonBytes(upTo: MessageOperations.send.description.bodyLimit)
    let key = try Self.repetitionKey(request.header(.idempotencyKey))
    if let bodies = try MessageList(bytes) {
      return completeLater(answer) { try JSONReply.make(.created, try await send(bodies.bodies, access, key)) }
    }
    let body = try Self.request(bytes)
    let repetition = key.map { NewMessage.RepetitionKey(key: $0, fingerprint: Self.fingerprint(bytes)) }
    messages.send(access.customer, body, allowed: access.appID, repetition: repetition) { sent in
      answer {
        let (message, isRepeated) = try sent.get()
        return JSONReply.make(
          .created, bytes: ByteBuffer(bytes: message.json), headers: isRepeated ? [.idempotentReplayed: "true"] : [:])
      }
    }
  }

  private static func request(_ bytes: ByteBuffer) throws -> MessageRequest {
    try bytes.withUnsafeReadableBytes { MessageRequest(plain: $0) } ?? JSONBody.decode(from: bytes)
  }

  private func send(_ bodies: [ByteBuffer], _ access: Access, _ key: String?) async throws -> [MessageResult] {
    try await withThrowingTaskGroup(of: (Int, MessageResult).self) { group in
      for (index, body) in bodies.enumerated() {
        group.addTask {
          do {
            let repetition = key.map {
              NewMessage.RepetitionKey(key: "\($0)#\(index)", fingerprint: Self.fingerprint(body))
            }
            let (message, _) = try await messages.send(
              access.customer, try Self.request(body), allowed: access.appID, repetition: repetition)
            return (index, .taken(message))
          } catch {
            guard let response = ErrorReplies.response(for: error), response.status.code < 500 else { throw error }
            return (index, .refused(status: response.status.code, error: response.sentence))
          }
        }
      }
      var results = [MessageResult?](repeating: nil, count: bodies.count)
      for try await (index, result) in group { results[index] = result }
      return results.compactMap(\.self)
    }
  }

  /// What makes a message once only.
  /// - Throws: `RegistryError.invalid`.
  static func repetitionKey(_ header: String?) throws(RegistryError) -> String? {
    guard let header else { return nil }
    return try TextRule("Idempotency-Key", maximum: 255).require(header)
  }

  /// SHA-256 of a body, and of what it was sent to where that is not this route.
  static func fingerprint(_ bytes: ByteBuffer, for target: String = "") -> [UInt8] {
    Array(SHA256.hash(data: Data(target.utf8) + Data(bytes.readableBytesView)))
  }
}

/// A JSON list of message requests, each still as bytes, so that a bad one is refused alone.
private struct MessageList {
  let bodies: [ByteBuffer]

  static func isList(_ bytes: ByteBuffer) -> Bool {
    bytes.readableBytesView.first { $0 > 0x20 } == UInt8(ascii: "[")
  }

  /// - Returns: `nil` if the body is no list.
  /// - Throws: `JSONProblem`; `HTTPErrorResponse` for a list of no messages or too many.
  init?(_ bytes: ByteBuffer) throws {
    guard Self.isList(bytes) else { return nil }
    var bodies: [ByteBuffer] = []
    var count = 0
    try bytes.withUnsafeReadableBytes { bytes in
      try JSONReader.read(bytes) { reader throws(JSONProblem) in
        try reader.array { reader, _ throws(JSONProblem) in
          count += 1
          guard count <= MessageRequest.maximumCount else { return try reader.skip() }
          bodies.append(ByteBuffer(string: try reader.raw()))
        }
      }
    }
    guard (1...MessageRequest.maximumCount).contains(count) else {
      throw HTTPErrorResponse.badRequest(
        "The list holds \(count) messages, and 1 to \(MessageRequest.maximumCount) are allowed.")
    }
    self.bodies = bodies
  }
}
