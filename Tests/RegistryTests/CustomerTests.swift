import Registry
import Support
import Testing
import Wire

@Suite struct CustomerTests {
  @Test func `A customer is found by its number, and all in the order they came`() async throws {
    try await withDatabase { database in
      let customers = Customers(database.pool)
      let one = try await customers.add(name: "ACME")
      let two = try await customers.add(name: "ACME")
      #expect(one.id != two.id)
      #expect(try await customers.all() == [one, two])
      #expect(try await customers.find(two.id) == two)
      #expect(try await customers.find(CustomerID(4711)) == nil)
    }
  }

  @Test(arguments: [
    ("", "is empty"), (" \n", "is empty"), ("a\0b", "holds U+0000"), ("a\nb", "holds a control character"),
    (String(repeating: "å", count: 201), "is longer than 200 characters"),
  ])
  func `A name that cannot be one is refused by its field`(name: String, problem: String) async throws {
    let refusal = RegistryError.invalid(field: "name", problem: problem)
    let customer = CustomerID(1)
    await #expect(throws: refusal) { try await Customers(NoDatabase()).add(name: name) }
    await #expect(throws: refusal) { try await ContactLists(NoDatabase()).add(customer, name: name) }
    await #expect(throws: refusal) { try await AccessKeys(NoDatabase()).make(customer, name: name, scope: .backend) }
  }

  @Test func `Any other name is kept as it is`() async throws {
    try await withDatabase { database in
      let customers = Customers(database.pool)
      for name in [String(repeating: "å", count: 200), "😀 '; DROP TABLE customer; --", "مرحبا", "\u{FEFF}x\u{202E}"] {
        let added = try await customers.add(name: name)
        #expect(try await customers.find(added.id)?.name == name)
      }
    }
  }
}

@Suite struct ContactListTests {
  @Test func `A list belongs to one customer, and its name is unique there`() async throws {
    try await withDatabase { database in
      let (acme, other) = (try await database.customer(), try await database.customer("Other"))
      let lists = ContactLists(database.pool)
      let list = try await lists.add(acme, name: "All of them")
      await #expect(throws: RegistryError.nameTaken("list")) {
        try await lists.add(acme, name: "All of them")
      }
      let same = try await lists.add(other, name: "All of them")
      #expect(try await lists.all(acme) == [list])
      #expect(try await lists.find(acme, list.listId) == list)
      #expect(try await lists.find(other, list.listId) == nil)
      #expect(try await lists.find(acme, same.listId) == nil)
    }
  }

  @Test func `A list keeps the number that apps know it by, and the next ones pass over it`() async throws {
    try await withDatabase { database in
      let (acme, other) = (try await database.customer(), try await database.customer("Other"))
      let lists = ContactLists(database.pool)
      #expect(try await lists.add(acme, name: "old", id: ListID(1_000_000_005)).listId == ListID(1_000_000_005))
      #expect(try await lists.add(other, name: "old", id: ListID(1_000_000_005)).listId == ListID(1_000_000_005))
      #expect(try await lists.add(acme, name: "last", id: ListID(.max)).listId == ListID(.max))
      await #expect(throws: RegistryError.numberTaken("list")) {
        try await lists.add(acme, name: "another", id: ListID(1_000_000_005))
      }
      await #expect(throws: RegistryError.nameTaken("list")) {
        try await lists.add(acme, name: "old", id: ListID(7))
      }
      for id in [0, -1, .min] as [Int64] {
        await #expect(throws: RegistryError.self) { try await lists.add(acme, name: "none", id: ListID(id)) }
      }
      let next = try await lists.add(acme, name: "next").listId.rawValue
      for number in 1...3 { try await lists.add(acme, name: "chosen \(number)", id: ListID(next + Int64(number))) }
      #expect(try await lists.add(acme, name: "after").listId.rawValue == next + 4)
    }
  }

  @Test func `A list of nobody is refused`() async throws {
    try await withDatabase { database in
      await #expect(throws: RegistryError.customerUnknown(CustomerID(4711))) {
        try await ContactLists(database.pool).add(CustomerID(4711), name: "x")
      }
    }
  }
}

@Suite struct CustomerLimitTests {
  private let quietHours = QuietHours("21:00-08:00/skip")
  private let caps = ["3/24h/marketing", "10/7d"].compactMap { Cap($0) }

  @Test func `Quiet hours and caps are set, kept and removed`() async throws {
    try await withDatabase { database in
      let (customers, customer) = (Customers(database.pool), try await database.customer())
      let hours = try #require(quietHours)
      let set = try await customers.update(customer, CustomerUpdate(quietHours: .set(hours), caps: caps))
      #expect(set.settings.quietHours == hours && set.settings.caps == caps)
      let kept = try await customers.update(customer, CustomerUpdate(approval: true))
      #expect(kept.settings.quietHours == hours && kept.settings.caps == caps)
      #expect(try await customers.find(customer) == kept)
      let removed = try await customers.update(customer, CustomerUpdate(quietHours: .clear, caps: []))
      #expect(removed.settings.quietHours == nil && removed.settings.caps.isEmpty)
    }
  }

  @Test func `Caps that cannot be are refused by their place`() async throws {
    let refused: [([Cap], field: String, problem: String)] = [
      ((1...6).compactMap { Cap("\($0)/24h") }, "caps", "has more than 5 rules"),
      (caps + caps.prefix(1), "caps[2]", "is there already: leave it out"),
    ]
    for (caps, field, problem) in refused {
      await #expect(throws: RegistryError.invalid(field: field, problem: problem)) {
        try await Customers(NoDatabase()).update(CustomerID(1), CustomerUpdate(caps: caps))
      }
    }
  }

  @Test func `A customer's limits concern the purposes that they name`() async throws {
    try await withDatabase { database in
      let (customers, customer) = (Customers(database.pool), try await database.customer())
      let cache = CustomerLimitsCache(database.pool)
      #expect(cache.cached(customer) == nil)
      #expect(try await MessagePurpose.allCases.contains(where: cache.limits(customer).concern) == false)
      _ = try await customers.update(customer, CustomerUpdate(caps: Array(caps.prefix(1))))
      #expect(cache.cached(customer)?.concern(.marketing) == false)
      cache.flush()
      let limits = try await cache.limits(customer)
      #expect(limits.concern(.marketing) && !limits.concern(.transactional))
      _ = try await customers.update(customer, CustomerUpdate(quietHours: .set(try #require(quietHours)), caps: []))
      cache.flush()
      let quiet = try await cache.limits(customer)
      #expect(quiet.concern(.marketing) && !quiet.concern(.transactional))
      _ = try await customers.update(customer, CustomerUpdate(caps: Array(caps.suffix(1))))
      cache.flush()
      #expect(try await cache.limits(customer).concern(.transactional))
    }
  }
}
