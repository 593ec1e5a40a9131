import Delivery
import FoundationEssentials
package import Postgres
import Registry
package import Wire

/// What became of single messages.
package struct MessageHistories: Sendable {
  private let database: any Querying

  package init(_ database: any Querying) { self.database = database }

  /// Most messages that a page looks at for those in one state.
  private static let mostRead = 2000

  /// Messages by stream and number, the highest first.
  /// - Parameter state: only those in this state.
  /// - Throws: `SendoutError.invalid` for a cursor that names no message.
  package func list(
    _ customer: CustomerID, state: MessageState? = nil, _ page: PageRequest<String>
  ) async throws -> Page<ListedMessage, String> {
    var after = try page.after.map { text in
      guard let id = MessageID(text) else {
        throw SendoutError.invalid(field: "after", problem: "must be a messageId, as in 7-15")
      }
      return id
    }
    var found: [ListedMessage] = []
    var read = 0
    while true {
      let messages = try await Messages(database).newest(customer, after: after, limit: page.limit + 1)
      for message in messages where state == nil || message.state == state {
        found.append(message)
        if found.count > page.limit { return page.page(of: found) { $0.messageId.description } }
      }
      guard messages.count > page.limit, let last = messages.last else { return Page(items: found) }
      read += messages.count
      after = last.messageId
      if read >= Self.mostRead { return Page(items: found, next: last.messageId.description) }
    }
  }

  /// The message, and what became of it, line by line.
  /// - Throws: `SendoutError.messageUnknown`.
  package func why(_ customer: CustomerID, _ id: MessageID) async throws -> MessageWhyReply {
    guard let message = try await Messages(database).stored(customer, id),
      let found = try await Messages(database).find(customer, id)
    else { throw SendoutError.messageUnknown(id) }
    let types = Dictionary(
      uniqueKeysWithValues: try await PushApps(database).list(customer).map { ($0.id, $0.type) })
    let pushes = found.pushes.map { push in
      MessageReply.Push(
        pushNo: push.number, appType: types[push.app] ?? .ios, state: push.state, reason: push.reason)
    }
    return MessageWhyReply(
      messageId: id, state: MessageState(of: pushes.map(\.state), isDue: message.isDue), contactId: message.contact,
      originalId: message.originalID, reference: message.reference, message: message.body,
      createdAt: Timestamp(message.createdAt), deliverAt: message.deliverAt.map { Timestamp($0) },
      expiresAt: message.expiresAt.map { Timestamp($0) }, pushes: pushes,
      lines: Self.lines(of: message, testOf: found.testOf))
  }

  /// In the order of what happened; what is still to come is at the end.
  private static func lines(of message: StoredMessage, testOf: SendoutID?) -> [WhyLine] {
    let test = testOf.map { ", a test of sendout \($0)" } ?? ""
    var lines = [WhyLine(at: Timestamp(message.createdAt), text: "The hub accepted the message\(test).")]
    if message.originalID == nil { lines.append(WhyLine(text: "The contact is gone.")) }
    if let deliverAt = message.deliverAt { lines.append(WhyLine(at: Timestamp(deliverAt), text: "It is due.")) }
    if message.pushes.isEmpty {
      lines.append(WhyLine(at: Timestamp(message.createdAt), text: "The contact had no valid device in the apps."))
    }
    for push in message.pushes { lines += RecipientHistory.lines(of: push) }
    if let confirmedAt = message.confirmedAt {
      lines.append(WhyLine(at: Timestamp(confirmedAt), text: "A device or a provider confirmed it."))
    }
    if let readAt = message.readAt { lines.append(WhyLine(at: Timestamp(readAt), text: "It was read.")) }
    let timeless = lines.filter { $0.at == nil }
    // Sorting keeps the order of lines of one moment.
    let timed = lines.enumerated().filter { $0.element.at != nil }.sorted { one, other in
      guard let first = one.element.at, let second = other.element.at, first != second else {
        return one.offset < other.offset
      }
      return first < second
    }
    return timed.map(\.element) + timeless
  }
}
