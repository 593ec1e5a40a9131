import Postgres
@testable import Registry
import Support
import Testing
import Wire

@Suite struct RegistrationRaceTests {
  @Test func `A thousand registrations of one contact and token at once end as one device`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<1000 {
          group.addTask {
            try await fixture.register(
              #"{"originalId":"a","properties":{"k\#(number % 50)":\#(number)},"deviceInfo":[{"devicetoken":"t"}]}"#)
          }
        }
        try await group.waitForAll()
      }
      #expect(try await fixture.count("contact") == 1)
      #expect(try await fixture.count("device") == 1)
      #expect(try await fixture.events("t") == ["registered"])
    }
  }

  @Test func `A thousand different registrations at once are all there, in few statements`() async throws {
    try await withDatabase { database in
      let counting = CountingDatabase(database.pool)
      let fixture = try await RegistryFixture(database, registrations: RegistrationBatcher(counting, limits: .patient))
      try await withThrowingTaskGroup(of: Contact.self) { group in
        for number in 0..<1000 {
          group.addTask { try await fixture.register("user\(number)", token: "token\(number)") }
        }
        for try await contact in group {
          #expect(contact.devices.map(\.token) == ["token" + contact.originalID.dropFirst(4)])
        }
      }
      #expect(try await fixture.count("contact") == 1000)
      #expect(try await fixture.count("device") == 1000)
      #expect(counting.count(of: "device.register") < 500)
    }
  }

  @Test func `Two hubs that register the same contacts and tokens never show each other's locks`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      try await database.withPool { pool in
        let batchers = [database.pool, pool, pool].map { RegistrationBatcher($0, limits: .patient) }
        try await withThrowingTaskGroup(of: Void.self) { group in
          for number in 0..<1500 {
            group.addTask {
              // Contacts and tokens in orders of their own: every pair of statements crosses somewhere.
              let contact = (number &* 7919) % 40
              let tokens = (0..<3).map { #"{"devicetoken":"token\#((number &* (31 &+ $0)) % 40)"}"# }
              let json =
                #"{"originalId":"user\#(contact)","title":"\#(number)","deviceInfo":[\#(tokens.joined(separator: ","))]}"#
              try await batchers[number % 3].register(fixture.customer, try fixture.registration(json))
            }
          }
          try await group.waitForAll()
        }
      }
      #expect(try await fixture.count("contact") == 40)
      #expect(try await fixture.count("device") == 40)
      let registered = try await database.query("SELECT count(*) FROM device_event WHERE kind = 'registered'")
      #expect(try registered[0].decode(Int.self) == 40)
    }
  }

  @Test func `A call that puts contacts on a list and takes others off locks them in the order of registrations`()
    async throws
  {
    try await withDatabase { database in
      let customer = try await database.customer()
      let list = try await ContactLists(database.pool).add(customer, name: "all").listId
      try await database.query(
        "INSERT INTO contact (customer_id, original_id) VALUES ($1::int8, 'a'), ($1::int8, 'b')", customer.rawValue)
      let (locked, lock) = AsyncStream.makeStream(of: Void.self)
      let (waiting, wait) = AsyncStream.makeStream(of: Void.self)
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          // As a registration of both does.
          try await database.pool.transaction { other in
            try await other.query(sql: "SELECT FROM contact WHERE original_id = 'a' FOR NO KEY UPDATE")
            lock.yield()
            for await _ in waiting { break }
            try await other.query(sql: "SELECT FROM contact WHERE original_id = 'b' FOR NO KEY UPDATE")
          }
        }
        for await _ in locked { break }
        group.addTask {
          _ = try await database.pool.transaction {
            try await ContactLists($0).change(customer, list, MembersRequest(add: ["b"], remove: ["a"]))
          }
        }
        try await database.someoneWaits(as: database.pool)
        wait.yield()
        try await group.waitForAll()
      }
      let members = try await ContactLists(database.pool).members(customer, list, PageRequest())
      #expect(members.items.map(\.originalId) == ["b"])
    }
  }

  @Test func `Hubs that tell and hubs that do not lock in one order`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      for number in 0..<40 { try await fixture.register("user\(number)", token: "token\(number)") }
      let failures = FailedStatements()
      try await database.withPool { pool in
        let batchers = [database.pool, pool, pool, pool].map {
          RegistrationBatcher(failures.passing($0), limits: .patient)
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
          for number in 0..<2000 {
            group.addTask {
              let contact = (number &* 7919) % 50
              let tokens = (0..<3).map { #"{"devicetoken":"token\#((number &* (31 &+ $0)) % 50)"}"# }
              let json =
                #"{"originalId":"user\#(contact)","title":"\#(number)","deviceInfo":[\#(tokens.joined(separator: ","))]}"#
              // A statement is silent when nobody in it is to be told, so each hub is of one kind.
              try await batchers[number % 4].register(
                fixture.customer, try fixture.registration(json), returnsContact: number % 4 < 2)
            }
          }
          try await group.waitForAll()
        }
      }
      #expect(failures.count(of: ServerError.deadlockDetected) == 0)
      #expect(try await fixture.count("contact") == 50)
      #expect(try await fixture.count("device") == 50)
    }
  }

  @Test func `Of contacts that register one token at once the last one has it, and the events say so`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      try await database.withPool { pool in
        let batchers = [database.pool, pool, pool].map { RegistrationBatcher($0, limits: .patient) }
        for round in 0..<30 {
          let told = try await withThrowingTaskGroup(of: Contact?.self) { group in
            for (number, registrations) in batchers.enumerated() {
              group.addTask {
                try await registrations.register(
                  fixture.customer,
                  try fixture.registration(
                    #"{"originalId":"user\#(round)-\#(number)","deviceInfo":[{"devicetoken":"token\#(round)"}]}"#))
              }
            }
            return try await group.reduce(into: []) { $0.append($1) }
          }
          // Each had it when it was answered.
          #expect(told.allSatisfy { $0?.devices.map(\.token) == ["token\(round)"] })
          #expect(try await fixture.events("token\(round)") == ["registered", "moved", "moved"])
        }
      }
      let strangers = try await database.query(
        """
        SELECT count(*) FROM device d CROSS JOIN LATERAL (
          SELECT contact_id FROM device_event WHERE device_id = d.device_id ORDER BY device_event_id DESC LIMIT 1
        ) e WHERE e.contact_id <> d.contact_id
        """)
      #expect(try strangers[0].decode(Int.self) == 0)
    }
  }

  @Test func `Registrations and invalidations at once leave events that tell the whole story`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      for number in 0..<3 { try await fixture.register("a", token: "t\(number)") }
      try await database.withPool { pool in
        let registrations = RegistrationBatcher(pool, limits: .patient)
        try await withThrowingTaskGroup(of: Void.self) { group in
          for number in 0..<600 {
            let token = #"{"originalId":"a","deviceInfo":[{"devicetoken":"t\#(number % 3)"}]}"#
            group.addTask { try await registrations.register(fixture.customer, try fixture.registration(token)) }
            group.addTask { try await fixture.invalidate(token) }
          }
          try await group.waitForAll()
        }
      }
      for number in 0..<3 {
        let events = try await fixture.events("t\(number)")
        let states = events.map { $0 == "invalidated" }
        #expect(zip(states, states.dropFirst()).allSatisfy { $0 != $1 }, "\(events)")
        let device = try await fixture.contact("a")?.devices.first { $0.token == "t\(number)" }
        #expect(device.map { $0.invalidationType != .valid } == states.last)
      }
    }
  }

  @Test func `Of a full batch only the guilty request fails`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      // A row that PostgreSQL alone can refuse: no check in front of it knows of this.
      try await database.query("ALTER TABLE contact ADD CONSTRAINT no_villain CHECK (title <> 'villain')")
      let list = try await ContactLists(database.pool).add(fixture.customer, name: "all").listId
      let outcomes = await withTaskGroup(of: (Int, Bool).self) { group in
        for number in 0..<300 {
          group.addTask {
            let guilt =
              number % 100 == 50
              ? #","title":"villain""# : number % 100 == 60 ? #","listId":\#(list.rawValue + 1)"# : ""
            let json = #"{"originalId":"user\#(number)"\#(guilt),"deviceInfo":[{"devicetoken":"token\#(number)"}]}"#
            return (number, (try? await fixture.register(json)) != nil)
          }
        }
        return await group.reduce(into: [Int: Bool]()) { $0[$1.0] = $1.1 }
      }
      let failed = outcomes.filter { !$0.value }.keys.sorted()
      #expect(failed == [50, 60, 150, 160, 250, 260])
      #expect(try await fixture.count("contact") == 294)
      #expect(try await fixture.count("device") == 294)
    }
  }

  @Test func `A connection cut in the middle is not noticed by those who register`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      try await database.withPool({ $0.applicationName = "victim" }) { victim in
        let registrations = RegistrationBatcher(victim, limits: .patient)
        try await withThrowingTaskGroup(of: Void.self) { group in
          for number in 0..<2000 {
            group.addTask {
              try await registrations.register(
                fixture.customer,
                try fixture.registration(
                  #"{"originalId":"user\#(number)","deviceInfo":[{"devicetoken":"token\#(number)"}]}"#))
            }
            if number % 200 == 100 {
              try await database.query(
                "SELECT pg_terminate_backend(pid) FROM \(TestDatabase.activity) WHERE application_name = 'victim'")
            }
          }
          try await group.waitForAll()
        }
      }
      #expect(try await fixture.count("device") == 2000)
      let registered = try await database.query("SELECT count(*) FROM device_event WHERE kind = 'registered'")
      #expect(try registered[0].decode(Int.self) == 2000)
    }
  }

  @Test func `Somebody's lock on one contact holds up nobody else`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      try await fixture.register("locked", token: "t")
      try await openAllConnections(database)
      try await database.withPool { pool in
        let stuck = try await pool.transaction { transaction in
          let lock = Statement("test.lock", .write, "SELECT FROM device WHERE token = 't' FOR UPDATE")
          try await transaction.query(lock)
          let stuck = Task { try await fixture.register("locked", token: "t") }
          for number in 0..<20 { try await fixture.register("user\(number)", token: "t\(number)") }
          return stuck
        }
        #expect(try await stuck.value.devices.count == 1)
      }
      #expect(try await fixture.count("device") == 21)
    }
  }

  @Test func `Too many waiting registrations are refused at once, and the rest are answered`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      var limits = RegistrationBatcher.Limits.patient
      limits.requests = 20
      let registrations = RegistrationBatcher(database.pool, limits: limits)
      let outcomes = try await withThrowingTaskGroup(of: DatabaseUnavailable?.self) { group in
        for number in 0..<500 {
          let registration = try fixture.registration(
            #"{"originalId":"user\#(number)","deviceInfo":[{"devicetoken":"token\#(number)"}]}"#)
          group.addTask {
            do {
              try await registrations.register(fixture.customer, registration)
              return nil
            } catch {
              return DatabaseUnavailable(error) ?? .outcomeUnknown
            }
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      let done = outcomes.count { $0 == nil }
      #expect(done >= 10)
      #expect(outcomes.allSatisfy { $0 == nil || $0 == .tooSlow })
      #expect(try await fixture.count("device") == done)
    }
  }

  @Test func `A customer that floods the queue is refused, and another one is served meanwhile`() async throws {
    try await withDatabase { database in
      let flooding = try await RegistryFixture(database)
      var limits = RegistrationBatcher.Limits.patient
      limits.requests = 64
      let other = try await RegistryFixture(database, registrations: RegistrationBatcher(database.pool, limits: limits))
      try await flooding.register("locked", token: "t")
      try await openAllConnections(database)
      try await database.withPool { pool in
        let (results, result) = AsyncStream.makeStream(of: Bool.self)
        let flood = try await pool.transaction { transaction in
          // Everything of the flood waits behind this, so that none of it can be done before the other's is.
          try await transaction.query(sql: "SELECT FROM device WHERE token = 't' FOR UPDATE")
          let flood = try (0..<200).map { number in
            let registration = try flooding.registration(
              #"{"originalId":"locked","deviceInfo":[{"devicetoken":"t\#(number)"},{"devicetoken":"t"}]}"#)
            return Task {
              let isDone = (try? await other.registrations.register(flooding.customer, registration)) != nil
              result.yield(isDone)
              return isDone
            }
          }
          for await isDone in results {
            #expect(!isDone)
            break
          }
          #expect(try await other.register("a", token: "mine").devices.map(\.token) == ["mine"])
          return flood
        }
        var done = 0
        for task in flood where await task.value { done += 1 }
        #expect(done >= 30)
        #expect(try await flooding.count("device") == done + 1)
      }
      #expect(try await other.count("device") == 1)
    }
  }

  @Test func `A token in either spelling is one, to registrations that wait for each other`() async throws {
    let fixture = try await withDatabase { try await RegistryFixture($0) }
    let keys = try ["ABCD", "abcd", "abce"].map {
      Set(try fixture.registration(#"{"originalId":"\#($0)","deviceInfo":[{"devicetoken":"\#($0)"}]}"#).conflictKeys)
    }
    #expect(!keys[0].isDisjoint(with: keys[1]))
    #expect(keys[1].isDisjoint(with: keys[2]))
  }

  @Test func `Nobody waits for a database that does not answer`() async throws {
    let registrations = RegistrationBatcher(SilentDatabase(), limits: .impatient)
    let fixture = try await withDatabase { try await RegistryFixture($0) }
    let registration = try fixture.registration(#"{"originalId":"a","deviceInfo":[{"devicetoken":"t"}]}"#)
    for _ in 0..<3 {
      let error = await #expect(throws: PostgresError.self) {
        try await registrations.register(fixture.customer, registration)
      }
      #expect(error.flatMap { DatabaseUnavailable($0) } == .tooSlow)
    }
  }
}

/// Makes the pool open every connection it may, as load does: a statement sent behind one that waits would wait as well.
private func openAllConnections(_ database: TestDatabase) async throws {
  let slow = Statement("test.slow", .read, "SELECT count(*) FROM generate_series(1, 200000)")
  repeat {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<40 { group.addTask { try await database.pool.query(slow) } }
      try await group.waitForAll()
    }
  } while await database.pool.status.sharedConnections < PoolConfiguration(connectionString: "").sharedConnections
}

extension RegistrationBatcher.Limits {
  static var impatient: RegistrationBatcher.Limits {
    var limits = RegistrationBatcher.Limits()
    limits.timeout = .zero
    return limits
  }
}
