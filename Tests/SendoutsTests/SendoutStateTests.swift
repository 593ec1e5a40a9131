import Content
import Delivery
import Registry
import Support
import Testing
import Wire

@testable import Sendouts

@Suite struct SendoutStateTests {
  @Test func `Every verb in every state leads to the state of the table`() {
    let states = SendoutState.allCases
    func leads(_ verb: SendoutVerb, isFrozen: Bool = true) -> [SendoutState: SendoutState] {
      states.reduce(into: [:]) { $0[$1] = verb.next(from: $1, isFrozen: isFrozen) }
    }
    #expect(
      leads(.start) == [.draft: .freezing, .scheduled: .freezing, .freezing: .freezing, .running: .running])
    #expect(leads(.schedule) == [.draft: .scheduled, .scheduled: .scheduled])
    #expect(leads(.unschedule) == [.draft: .draft, .scheduled: .draft])
    #expect(leads(.pause) == [.freezing: .paused, .running: .paused, .paused: .paused])
    #expect(leads(.resume) == [.freezing: .freezing, .running: .running, .paused: .running])
    #expect(leads(.resume, isFrozen: false)[.paused] == .freezing)
    #expect(
      leads(.cancel) == [
        .draft: .cancelled, .scheduled: .cancelled, .freezing: .cancelled, .running: .cancelled, .paused: .cancelled,
        .cancelled: .cancelled,
      ])
  }

  @Test func `A sendout of another customer is unknown to every verb`() async throws {
    try await withSendingBench { bench in
      let key = try await bench.send()
      let stranger = try await bench.database.customer("Other")
      let unknown = RegistryError.numberUnknown("sendout")
      await #expect(throws: unknown) { try await bench.sendouts.start(stranger, key.sendout) }
      await #expect(throws: unknown) { try await bench.sendouts.pause(stranger, key.sendout) }
      await #expect(throws: unknown) { try await bench.sendouts.resume(stranger, key.sendout) }
      await #expect(throws: unknown) { try await bench.sendouts.cancel(stranger, key.sendout) }
      await #expect(throws: unknown) { try await bench.sendouts.find(stranger, key.sendout) }
      await #expect(throws: unknown) { try await bench.sendouts.pushes(stranger, key.sendout) }
      #expect(try await bench.sendouts.list(stranger).items.isEmpty)
      #expect(try await bench.show(key).state == .freezing)
    }
  }

  @Test func `An impossible verb is refused and changes nothing`() async throws {
    try await withSendingBench { bench in
      let key = try await bench.send()
      try await bench.sendouts.cancel(bench.customer, key.sendout)
      await #expect(throws: SendoutError.wrongState(key.sendout, .cancelled, .start)) {
        try await bench.sendouts.start(bench.customer, key.sendout)
      }
      #expect(try await bench.show(key).state == .cancelled)
    }
  }

  @Test func `An invalid sendout is refused with the name of the field`() async throws {
    try await withSendingBench { bench in
      func refuses(_ error: some Error & Equatable, _ change: (inout SendoutRequest) -> Void) async {
        var request = SendoutRequest(
          appId: SendingBench.appID, audience: .all, message: MessageBody(alert: "Hello"), start: true)
        change(&request)
        await #expect(throws: error) { try await bench.sendouts.create(bench.customer, request) }
      }
      await refuses(RegistryError.appUnknown(appID: "com.none")) { $0.appId = "com.none" }
      await refuses(SendoutError.invalid(field: "appId", problem: "is missing: give appId, or several as appIds")) {
        $0.appId = nil
      }
      await refuses(SendoutError.invalid(field: "appIds", problem: "is there beside appId: give one of them")) {
        $0.appIds = ["com.acme.app"]
      }
      await refuses(SendoutError.invalid(field: "name", problem: "is empty")) { $0.name = " " }
      await refuses(SendoutError.invalid(field: "template", problem: "names no template of this customer")) {
        $0.template = "nothing"
      }
      await refuses(
        SendoutError.invalid(field: "audience.listId", problem: "names no list of this customer")
      ) { $0.audience = .list(ListID(99)) }
      await refuses(SendoutError.invalid(field: "audience.originalIds", problem: "is empty")) {
        $0.audience = .originalIds([])
      }
      await refuses(SendoutError.invalid(field: "audience.originalIds[1]", problem: "holds U+0000")) {
        $0.audience = .originalIds(["a", "b\0"])
      }
      await refuses(
        SendoutError.invalid(
          field: "audience.originalIds",
          problem: "holds 10001 ids, and at most 10000 are allowed: use a list for more")
      ) { $0.audience = .originalIds((0...10_000).map(String.init)) }
      await refuses(ContentError.invalid(field: "message.sound", problem: "holds U+0000")) { $0.message.sound = "\0" }
      await refuses(ContentError.invalid(field: "message.fields.a.b[0]", problem: "holds U+0000")) {
        $0.message.fields = ["a": ["b": ["c\0"]]]
      }
      await #expect(throws: ContentError.self) {
        try await bench.sendouts.create(
          bench.customer,
          SendoutRequest(appId: SendingBench.appID, audience: .all, message: MessageBody(alert: "{{#open}}")))
      }
      let made = try await bench.sendouts.list(bench.customer).items
      #expect(made.isEmpty)
    }
  }

  @Test func `Sendouts are listed newest first, a page at a time`() async throws {
    try await withSendingBench { bench in
      var keys: [SendoutID] = []
      for _ in 1...5 { keys.append(try await bench.send().sendout) }
      let first = try await bench.sendouts.list(bench.customer, PageRequest(limit: 3))
      #expect(first.items.map(\.sendoutId) == [keys[4], keys[3], keys[2]])
      #expect(first.items[0].counts == nil && first.items[0].audience == nil)
      let second = try await bench.sendouts.list(bench.customer, PageRequest(after: first.next, limit: 3))
      #expect(second.items.map(\.sendoutId) == [keys[1], keys[0]])
      #expect(second.next == nil)
    }
  }
}
