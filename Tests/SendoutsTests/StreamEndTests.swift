import Delivery
import Foundation
import Postgres
import Registry
import Support
import Testing
import Wire

@testable import Sendouts

@Suite struct StreamEndTests {
  /// A hub's own service, and what sends its messages.
  private func service(_ bench: SendingBench, _ dispatcher: Dispatcher, sendsItself: Bool) -> MessageService {
    MessageService(
      bench.pool, dispatcher: dispatcher, messages: MessageDispatcher(dispatcher, sendsItself: sendsItself),
      apps: PushAppCache(bench.pool), credentials: PushCredentialVault(bench.pool, vault: bench.vault),
      registrations: RegistrationBatcher(bench.pool, limits: .patient))
  }

  private let request = MessageRequest(
    appId: SendingBench.appID, to: MessageTarget(originalId: "user1@example.com"), message: MessageBody(alert: "x"))

  /// Sends messages until they are refused because their stream has ended.
  private func refusal(of stream: SendoutID, by service: MessageService, _ bench: SendingBench) async throws {
    try await waitUntil {
      do {
        _ = try await service.send(bench.customer, request)
        return false
      } catch SendoutError.streamEnded(stream) {
        return true
      }
    }
  }

  /// What sends sendouts beside a dispatcher.
  private func runner(_ bench: SendingBench, _ hub: TestHub, _ dispatcher: Dispatcher) -> SendoutRunner {
    SendoutRunner(bench.pool, dispatcher: dispatcher, vault: bench.vault, settings: hub.runner, logger: hub.logger)
  }

  @Test(arguments: [SendoutVerb.pause, .cancel])
  func `A stream that ended accepts nothing more, and what a hub accepted before it heard so does not stay`(
    verb: SendoutVerb
  ) async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(1)
      let hub = TestHub()
      let dispatcher = bench.dispatcher(hub)
      let runner = runner(bench, hub, dispatcher)
      let service = service(bench, dispatcher, sendsItself: true)
      // It runs nothing that would tell it.
      let deaf = self.service(bench, bench.dispatcher(), sendsItself: false)
      var request = request
      request.wait = 30
      let first = try await deaf.send(bench.customer, self.request)
      let key = SendoutKey(bench.customer, first.message.messageId.sendout)
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await runner.run() }
        #expect(try await service.send(bench.customer, request).message.pushes[0].state == .accepted)
        try await waitUntil {
          try await deaf.find(bench.customer, first.message.messageId).pushes[0].state == .accepted
        }
        _ = try await bench.sendouts.apply(verb, to: key.sendout, of: bench.customer)
        try await refusal(of: key.sendout, by: service, bench)
        let late = try await deaf.send(bench.customer, self.request).message
        func state() async throws -> PushState {
          try await deaf.find(bench.customer, late.messageId).pushes[0].state
        }
        if verb == .cancel {
          try await waitUntil { try await state() == .cancelled }
        } else {
          try await waitUntil {
            // Some of those that were sent until one was refused may be held, too.
            try await bench.database.query(
              "SELECT bool_or(state = 'held') AND NOT bool_or(state IN ('queued', 'claimed')) FROM push_batch")[0]
              .decode(Bool.self)
          }
          _ = try await bench.sendouts.resume(bench.customer, key.sendout)
          try await waitUntil { try await state() == .accepted }
          #expect(try await service.send(bench.customer, request).message.pushes[0].state == .accepted)
        }
        group.cancelAll()
      }
    }
  }

  @Test(arguments: [SendoutVerb.pause, .cancel])
  func `A hub that has nothing else to do for a stream hears that it ended`(verb: SendoutVerb) async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(1)
      let hub = TestHub()
      let dispatcher = bench.dispatcher(hub)
      let runner = runner(bench, hub, dispatcher)
      let service = service(bench, dispatcher, sendsItself: true)
      let first = try await service.send(bench.customer, request).message.messageId
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await runner.run() }
        // It listens once it has dropped the numbers that it reserved before.
        try await waitUntil {
          try await service.send(bench.customer, request).message.messageId.number
            > first.number + StreamNumbers.block.messages - 1
        }
        _ = try await bench.sendouts.apply(verb, to: first.sendout, of: bench.customer)
        try await refusal(of: first.sendout, by: service, bench)
        group.cancelAll()
      }
    }
  }
}
