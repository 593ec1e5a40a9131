import Content
import Postgres
import Registry
import Support
import Synchronization
import Testing
import Wire

@testable import Delivery

@Suite struct MessageLedgerTests {
  @Test(arguments: [false, true])
  func `Messages whose commit had no reply are in the ledger once, whether it was committed or not`(isCommitted: Bool)
    async throws
  {
    try await withSendingBench { bench in
      try await bench.addDevices(2)
      let sendout = try await bench.database.query(
        """
        INSERT INTO sendout (customer_id, kind, stream, push_app_ids, name, state, audience, message)
        VALUES ($1::bigint, 'stream', 'x', ARRAY[$2::bigint], 'x', 'running', '{"all":true}', '{}')
        RETURNING sendout_id
        """, bench.customer.rawValue, bench.app.id.rawValue)[0].decode(Int64.self)
      let database = LosingDatabase(bench.pool, isCommitted: isCommitted)
      let ledger = MessageLedger(
        database: database, key: SendoutKey(bench.customer, SendoutID(sendout)), apps: [bench.app.id], run: RunID(),
        lease: .seconds(60))
      var numbers = StreamNumbers(message: 1, push: 1, batch: 0, messagesLeft: 10, pushesLeft: 1000, batchesLeft: 100)
      let messages = try ["user1@example.com", "nobody", "user2@example.com"].map(message)
      let (acceptances, batches) = try await ledger.accept(messages, &numbers)
      #expect(database.losses == 1)
      guard case .accepted(1, let first) = acceptances[0], case .addresseeUnknown = acceptances[1],
        case .accepted(3, let second) = acceptances[2]
      else {
        Issue.record("\(acceptances)")
        return
      }
      #expect((first + second).map(\.number) == [PushNumber(1), PushNumber(2)])
      #expect(batches.count == 1 && batches[0].batch.pushes.map(\.message) == [1, 3])
      #expect(Set(batches[0].batch.contents.keys) == [1, 3] && batches[0].recipients.count == 2)
      for table in ["message", "push"] {
        #expect(try await bench.database.query("SELECT count(*) FROM \(table)")[0].decode(Int.self) == 2, "\(table)")
      }
      #expect(numbers.message == 4 && numbers.push == 3 && numbers.batch == 1)
    }
  }

  private func message(to originalID: String) throws -> NewMessage {
    let content = MessageContent(
      template: try MessageTemplate(MessageBody(alert: "x")), sendout: SendoutFields(), hasPage: false)
    return NewMessage(
      to: .contact(originalID: originalID), content: content, body: #"{"alert":"x"}"#, ttl: nil, reference: nil,
      repetitionKey: nil, wait: nil)
  }
}

/// A database that loses the reply to the first acceptance, after its commit or before.
private final class LosingDatabase: Querying {
  private let database: any Querying
  private let isCommitted: Bool
  private let count = Mutex(0)

  init(_ database: any Querying, isCommitted: Bool) {
    self.database = database
    self.isCommitted = isCommitted
  }

  var losses: Int { count.withLock(\.self) }

  func run(
    _ statement: Statement, _ parameters: ParameterBuffer, deadline: ContinuousClock.Instant?
  ) async throws -> Rows {
    let isLost = count.withLock { count in
      guard statement.name == "message.accept", count == 0 else { return false }
      count += 1
      return true
    }
    guard isLost else { return try await database.run(statement, parameters, deadline: deadline) }
    if isCommitted { _ = try await database.run(statement, parameters, deadline: deadline) }
    throw PostgresError.unknownOutcome(statement: statement.name)
  }
}
