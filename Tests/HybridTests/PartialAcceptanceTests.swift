import Delivery
import Foundation
import Hybrid
import Postgres
import Registry
import Support
import Testing
import Wire

/// What a request is told when not all of it can be accepted.
@Suite struct PartialAcceptanceTests {
  @Test(arguments: [true, false])
  func `More unknown numbers than there is room for at a time are registered in portions`(
    allOrNothing: Bool
  ) async throws {
    try await withHybridBench { hybrid in
      var limits = RegistrationBatcher.Limits.patient
      limits.requests = 600
      let (dispatcher, messages) = HybridBench.hub(
        hybrid.bench, confirmationTime: .seconds(30), sendsItself: false,
        registrations: RegistrationBatcher(hybrid.bench.pool, limits: limits))
      let answers = try await messages.accept(
        hybrid.bench.customer, (1...400).map { hybrid.message($0, channels: [.sms]) }, allOrNothing: allOrNothing)
      #expect(answers.allSatisfy { $0 == .accepted(parts: 1) })
      #expect(try await hybrid.rows().count == 400)
      await dispatcher.end()
    }
  }

  /// The statement fails that has such a text.
  private func refuseText(_ hybrid: HybridBench) async throws {
    try await hybrid.bench.database.query("ALTER TABLE tracked_message ADD CONSTRAINT no_boom CHECK (body <> 'boom')")
  }

  @Test func `A message that the database refuses is told so alone`() async throws {
    try await withHybridBench { hybrid in
      try await hybrid.addNumbers(1)
      try await refuseText(hybrid)
      let messages = (1...300).map { hybrid.message(1, $0 == 299 ? "boom" : "Hello") }
      let answers = try await hybrid.messages.accept(hybrid.bench.customer, messages, allOrNothing: false)
      #expect(answers[298] == .refused(.unavailable))
      #expect(answers.count { $0 == .accepted(parts: 1) } == 299)
      #expect(try await hybrid.rows().count == 299)
      // Nobody hears that nothing was done.
      let unknown = await #expect(throws: PostgresError.self) {
        try await hybrid.messages.accept(hybrid.bench.customer, messages, allOrNothing: true)
      }
      #expect(unknown.flatMap { DatabaseUnavailable($0) } == .outcomeUnknown)
      // Where nothing was, everybody does.
      let error = await #expect(throws: PostgresError.self) { try await hybrid.send(hybrid.message(1, "boom")) }
      if case .server? = error {} else { Issue.record("\(String(describing: error))") }
    }
  }

  @Test func `A way that fails leaves what went by another accepted, and its passwords withdrawn`() async throws {
    try await withHybridBench { hybrid in
      try await hybrid.addNumbers(2)
      try await refuseText(hybrid)
      try await hybrid.send(hybrid.message(1, "Code", kind: .otp, reference: "a"))
      let answers = try await hybrid.send(
        hybrid.message(1, "Your code", channels: [.sms], reference: "a"), hybrid.message(2, "boom"))
      #expect(answers == [.accepted(parts: 1), .refused(.unavailable)])
      #expect(try await hybrid.rows()[0].status == "Cancelled")
    }
  }

  @Test func `A password whose withdrawal fails is withdrawn once the database can`() async throws {
    try await withHybridBench { hybrid in
      try await hybrid.addNumbers(1)
      try await hybrid.send(hybrid.message(1, "Code", kind: .otp, reference: "a"))
      for statement in [
        "CREATE SEQUENCE tries",
        """
        CREATE FUNCTION fail_once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          IF nextval('tries') = 1 THEN RAISE SQLSTATE '40001'; END IF;
          RETURN NEW;
        END $$
        """,
        """
        CREATE TRIGGER fail_once BEFORE UPDATE ON tracked_message FOR EACH ROW WHEN (NEW.status = 'Cancelled')
        EXECUTE FUNCTION fail_once()
        """,
      ] { try await hybrid.bench.database.query(statement) }
      #expect(
        try await hybrid.send(hybrid.message(1, "Your code", channels: [.sms], reference: "a"))
          == [.accepted(parts: 1)])
      _ = try await hybrid.until { $0[0].status == "Cancelled" }
    }
  }

  @Test func `Without an SMS provider, a message by push to an unknown number is accepted and fails`() async throws {
    try await withHybridBench { hybrid in
      try await hybrid.addNumbers(1)
      try await hybrid.bench.database.query("UPDATE push_app SET app_id = 'other' WHERE app_id = 'sms'")
      for allOrNothing in [true, false] {
        let answers = try await hybrid.send(
          hybrid.message(1, channels: [.push]), hybrid.message(allOrNothing ? 5 : 6, channels: [.push]),
          allOrNothing: allOrNothing)
        #expect(answers == [.accepted(parts: 1), .accepted(parts: 1)])
      }
      _ = try await hybrid.until { $0.map(\.status) == ["Accepted", "Failed", "Accepted", "Failed"] }
    }
  }
}
