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
      await #expect(throws: RegistryError.listNameTaken("All of them")) {
        try await lists.add(acme, name: "All of them")
      }
      let same = try await lists.add(other, name: "All of them")
      #expect(try await lists.all(acme) == [list])
      #expect(try await lists.find(acme, list.id) == list)
      #expect(try await lists.find(other, list.id) == nil)
      #expect(try await lists.find(acme, same.id) == nil)
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
