import Postgres
import Registry
import Support
import Testing
import Wire

/// What keeps whoever unpacked an app from doing harm with its device key.
@Suite struct DeviceKeyLimitTests {
  @Test func `One device too many invalidates the one that was registered the longest time ago`() async throws {
    try await withDatabase { database in
      let registry = try await RegistryFixture(database)
      try await registry.allowDevices(3)
      for number in 1...3 { try await registry.register("lars", token: "t\(number)") }
      // Registered again, it is no longer the oldest.
      try await registry.register("lars", token: "t1")
      try await registry.register("eve", token: "e1")
      let told = try await registry.register("lars", token: "t4")

      #expect(try await valid("lars", registry) == ["t1", "t3", "t4"])
      #expect(try await valid("eve", registry) == ["e1"])
      // The reply says what is stored.
      #expect(try await registry.contact("lars") == told)
      let reasons = try await database.query(
        "SELECT d.token || ' ' || e.reason FROM device_event e JOIN device d USING (device_id) WHERE e.kind = 'invalidated'"
      )
      #expect(try reasons.map { try $0.decode(String.self) } == ["t2 too_many_devices"])

      // Registered once more it is valid again, and another one makes way.
      try await registry.register("lars", token: "t2")
      #expect(try await valid("lars", registry) == ["t1", "t2", "t4"])
    }
  }

  @Test func `A device that comes from another contact counts, and devices of the same request stay`() async throws {
    try await withDatabase { database in
      let registry = try await RegistryFixture(database)
      try await registry.allowDevices(2)
      for number in 1...2 { try await registry.register("lars", token: "t\(number)") }
      try await registry.register("eve", token: "e1")
      try await registry.register("lars", token: "e1")
      #expect(try await valid("lars", registry) == ["e1", "t2"])
      try await registry.register(#"{"originalId":"lars","deviceInfo":[{"devicetoken":"a"},{"devicetoken":"b"}]}"#)
      #expect(try await valid("lars", registry) == ["a", "b"])
      // An unchanged device, and one that is invalid anyway, drive nobody out.
      try await registry.register("lars", token: "a")
      try await registry.register("lars", token: "d", #","invalidationType":1"#)
      #expect(try await valid("lars", registry) == ["a", "b"])
    }
  }

  @Test(arguments: [true, false])
  func `A new token together with a changed field drives the older device out, at the first try`(
    returnsContact: Bool
  ) async throws {
    try await withDatabase { database in
      let registry = try await RegistryFixture(database)
      try await registry.allowDevices(1)
      try await registry.register("lars", token: "t1")
      let request = try registry.registration(
        #"{"originalId":"lars","firstName":"Lars","deviceInfo":[{"devicetoken":"t2"}]}"#)
      let told = try await registry.registrations.register(
        registry.customer, request, returnsContact: returnsContact)
      #expect((told != nil) == returnsContact)
      #expect(try await valid("lars", registry) == ["t2"])
      #expect(try await registry.events("t1") == ["registered", "invalidated"])
      // A second try would write the device once more, and the contact no more.
      let isOneRun = try await database.query(
        """
        SELECT c.updated_at = d.registered_at FROM contact c JOIN device d USING (customer_id, contact_id)
        WHERE d.token = 't2'
        """)
      #expect(try isOneRun[0].decode(Bool.self))
    }
  }

  @Test func `A request that names more valid devices than a contact may have is refused and writes nothing`()
    async throws
  {
    try await withDatabase { database in
      let registry = try await RegistryFixture(database)
      try await registry.allowDevices(2)
      func put(_ originalID: String, invalid: Int, returnsContact: Bool) async throws {
        let devices = (1...3).map {
          #"{"devicetoken":"\#(originalID)\#($0)","invalidationType":\#($0 <= invalid ? 1 : 0)}"#
        }
        let json = #"{"originalId":"\#(originalID)","deviceInfo":[\#(devices.joined(separator: ","))]}"#
        try await registry.registrations.register(
          registry.customer, try registry.registration(json), returnsContact: returnsContact)
      }
      let refusal = RegistryError.invalid(
        field: "deviceInfo", problem: "holds more than 2 valid devices, the devicesPerContact of this customer")
      try await registry.register("known", token: "k")
      for returnsContact in [true, false] {
        for contact in ["known", "fresh"] {
          await #expect(throws: refusal) { try await put(contact, invalid: 0, returnsContact: returnsContact) }
        }
      }
      #expect(try await registry.count("device") == 1)
      #expect(try await registry.count("contact") == 1)
      // Invalid ones do not count.
      try await put("known", invalid: 1, returnsContact: true)
      #expect(try await valid("known", registry) == ["known2", "known3"])
    }
  }

  @Test func `Registrations of many contacts in one statement keep the limit of each`() async throws {
    try await withDatabase { database in
      let registry = try await RegistryFixture(database)
      try await registry.allowDevices(2)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for contact in 0..<8 {
          for device in 0..<5 {
            group.addTask { _ = try await registry.register("c\(contact)", token: "\(contact)x\(device)") }
          }
        }
        try await group.waitForAll()
      }
      for contact in 0..<8 { #expect(try await valid("c\(contact)", registry).count == 2) }
    }
  }

  @Test func `With a device key an invalidation does not tell who has which token`() async throws {
    try await withDatabase { database in
      let registry = try await RegistryFixture(database)
      for token in ["mine", "second"] { try await registry.register("lars", token: token) }
      try await registry.register("eve", token: "hers")
      func invalidate(_ originalID: String, _ tokens: [String], _ scope: AccessScope) async throws {
        let devices = tokens.map { #"{"devicetoken":"\#($0)"}"# }.joined(separator: ",")
        let body = try PushDevicesBody(#"{"originalId":"\#(originalID)","deviceInfo":[\#(devices)]}"#)
        let access = Access(customer: registry.customer, key: AccessKeyID(1), scope: scope)
        try await Devices(database.pool).invalidate(
          registry.customer, try Invalidation(body, apps: registry.app, access: access))
      }
      try await invalidate("nobody", ["mine"], .device)
      try await invalidate("lars", ["hers", "nobodys"], .device)
      #expect(try await valid("lars", registry) == ["mine", "second"])
      try await invalidate("lars", ["hers", "mine", "nobodys"], .device)
      #expect(try await valid("lars", registry) == ["second"])
      #expect(try await valid("eve", registry) == ["hers"])
      // Other keys are told, and nothing is changed then.
      await #expect(throws: RegistryError.deviceUnknown(field: "deviceInfo[1].devicetoken")) {
        try await invalidate("lars", ["second", "nobodys"], .backend)
      }
      #expect(try await valid("lars", registry) == ["second"])
    }
  }

  @Test(arguments: [true, false])
  func `With a device key an unknown list is ignored and the rest is registered`(_ returnsContact: Bool) async throws {
    try await withDatabase { database in
      let registry = try await RegistryFixture(database)
      let list = try await ContactLists(database.pool).add(registry.customer, name: "all").listId
      func put(_ list: Int64, city: String) async throws -> Contact? {
        let body = try PushDevicesBody(
          #"{"originalId":"lars","listId":\#(list),"city":"\#(city)","deviceInfo":[{"devicetoken":"aa"}]}"#)
        let access = Access(customer: registry.customer, key: AccessKeyID(1), scope: .device)
        try await registry.registrations.register(
          registry.customer, try Registration(body, apps: registry.app, access: access), returnsContact: returnsContact)
        return try await registry.contact("lars")
      }
      let fresh = try #require(try await put(list.rawValue + 1, city: "Lund"))
      #expect(fresh.listID == nil && fresh[.city] == "Lund" && fresh.devices.count == 1)
      #expect(try await put(list.rawValue, city: "Lund")?.listID == list)
      let known = try #require(try await put(list.rawValue + 1, city: "Malmö"))
      #expect(known.listID == list && known[.city] == "Malmö")
    }
  }

  @Test func `A device key writes the fields that its list names, and no other`() throws {
    let others = [("listId", "7"), ("dateOfBirth", #""1980-02-29""#), ("properties", #"{"food":"meat"}"#)]
    let fields = ContactField.allCases.map { ($0.name, #""x""#) } + others
    func body(_ fields: [(name: String, value: String)]) throws -> PushDevicesBody {
      let members = fields.map { #","\#($0.name)":\#($0.value)"# }.joined()
      return try PushDevicesBody(#"{"originalId":"lars","deviceInfo":[{"devicetoken":"t"}]\#(members)}"#)
    }
    let whole = try body(fields)
    #expect(try DeviceKeyFields([]).restrict(whole) == body([]))
    #expect(try DeviceKeyFields(fields.map(\.0)).restrict(whole) == whole)
    for field in fields {
      #expect(try DeviceKeyFields([field.0]).restrict(whole) == body([field]), "\(field.0)")
    }
  }

  @Test func `The fields a device key may write are compared byte for byte`() throws {
    let fields = try DeviceKeyFields(["properties.K", "properties.\u{301}x", "properties.é"])
    let body = try PushDevicesBody(
      #"{"properties":{"\u212A":1,"K":2,"e\u0301":3,"\u00e9":4,"\u0301x":5},"deviceInfo":[]}"#)
    let properties = try #require(try fields.restrict(body).properties)
    #expect(Array(properties.utf8) == Array("{\"K\":2,\"\u{e9}\":4,\"\u{301}x\":5}".utf8))
  }

  @Test func `A device key cannot tell by the reply how full the properties of a contact are`() async throws {
    try await withDatabase { database in
      let registry = try await RegistryFixture(database)
      let customer = registry.customer
      let key = try await AccessKeys(database.pool).make(customer, name: "app", scope: .device)
      let device = Access(customer: customer, key: key.key.keyId, scope: .device)
      let backend = Access(customer: customer, key: key.key.keyId, scope: .backend)
      func properties(_ name: String) -> String {
        (0..<15).map { #""\#(name)\#($0)":"\#(String(repeating: "x", count: 4096))""# }.joined(separator: ",")
      }
      func put(_ name: String, _ access: Access, _ registrations: RegistrationBatcher? = nil) async throws {
        let json =
          #"{"originalId":"lars","city":"\#(name)","properties":{\#(properties(name))},"deviceInfo":[{"devicetoken":"aa"}]}"#
        let registration = try Registration(try PushDevicesBody(json), apps: registry.app, access: access)
        try await (registrations ?? registry.registrations).register(customer, registration, returnsContact: false)
      }
      try await put("a", device)
      let before = try #require(try await registry.contact("lars"))
      let failures = FailedStatements()
      let watched = RegistrationBatcher(failures.passing(database.pool), limits: .patient)
      try await put("b", device, watched)
      // Nor by the time that a second try takes.
      #expect(failures.count(of: "23514") == 0)
      let after = try #require(try await registry.contact("lars"))
      #expect(after.properties == before.properties && after[.city] == "b")
      await #expect(
        throws: RegistryError.invalid(field: "properties", problem: "would grow beyond 64 KiB for this contact")
      ) { try await put("b", backend) }
    }
  }

  @Test func `Every event of a registration and of an invalidation names the access key`() async throws {
    try await withDatabase { database in
      let registry = try await RegistryFixture(database)
      let customer = registry.customer
      let keys = AccessKeys(database.pool)
      var accesses: [Access] = []
      for name in ["one", "two"] {
        let id = try await keys.make(customer, name: name, scope: .device).key.keyId
        accesses.append(Access(customer: customer, key: id, scope: .device))
      }
      for (access, contact) in zip(accesses, ["lars", "eve"]) {
        let body = try PushDevicesBody(#"{"originalId":"\#(contact)","deviceInfo":[{"devicetoken":"aa"}]}"#)
        try await registry.registrations.register(
          customer, try Registration(body, apps: registry.app, access: access), returnsContact: false)
        try await Devices(database.pool).invalidate(
          customer, try Invalidation(body, apps: registry.app, access: access))
      }
      let events = try await database.query(
        "SELECT kind || ' ' || access_key_id FROM device_event ORDER BY device_event_id")
      #expect(
        try events.map { try $0.decode(String.self) }.sorted()
          == ["invalidated 1", "invalidated 2", "moved 2", "registered 1", "revived 2"])
    }
  }

  /// The tokens of the contact's valid devices, sorted.
  private func valid(_ originalID: String, _ registry: RegistryFixture) async throws -> [String] {
    try await registry.contact(originalID)?.devices.filter { $0.invalidatedAt == nil }.map(\.token).sorted() ?? []
  }
}
