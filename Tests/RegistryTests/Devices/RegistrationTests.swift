import Foundation
import Postgres
import Registry
import Support
import Testing
import Wire

@Suite struct RegistrationTests {
  @Test func `A registration stores the contact and its device`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      let contact = try await fixture.register(
        """
        {"listId":null,"country":"Sweden","originalId":"abcabc123123","firstName":"lars","lastName":"hansson",
         "middleName":null,"emailAddress":"lars@somewhere.se","title":null,"dateOfBirth":null,"city":null,
         "zipcode":null,"sex":null,"mobileNumber":null,"properties":{"food":"meat","drink":"tea"},
         "deviceInfo":[{"devicetoken":"abc123abc123kmlkmlkml","manufacturer":"apple","model":"iphone 6",
           "osVersion":"9.2","country":"Sweden","dateOfInvalidation":null,"invalidationType":0}]}
        """)
      #expect(contact.originalID == "abcabc123123")
      #expect(contact[.firstName] == "lars")
      #expect(contact[.lastName] == "hansson")
      #expect(contact[.emailAddress] == "lars@somewhere.se")
      #expect(contact[.country] == "Sweden")
      #expect(contact[.middleName] == nil)
      #expect(contact.properties == #"{"drink":"tea","food":"meat"}"#)
      let device = try #require(contact.devices.first)
      #expect(device.token == "abc123abc123kmlkmlkml")
      #expect(device.manufacturer == "apple")
      #expect(device.model == "iphone 6")
      #expect(device.osVersion == "9.2")
      #expect(device.country == "Sweden")
      #expect(!device.isSandbox)
      #expect(device.invalidatedAt == nil)
      #expect(try await fixture.contact("abcabc123123") == contact)
      #expect(try await fixture.events("abc123abc123kmlkmlkml") == ["registered"])
    }
  }

  @Test func `Absent and null leave a field as it is, and an empty text clears it`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      func put(_ fields: String) async throws -> Contact {
        try await fixture.register(#"{"originalId":"a"\#(fields),"deviceInfo":[{"devicetoken":"t"}]}"#)
      }
      _ = try await put(#","firstName":"Ann","lastName":"Lee","dateOfBirth":"1980-02-29","city":"Lund""#)
      let same = try await put(#","firstName":null,"dateOfBirth":null"#)
      #expect(same[.firstName] == "Ann")
      #expect(same[.lastName] == "Lee")
      #expect(same.dateOfBirth == 3711)
      let cleared = try await put(#","firstName":"","dateOfBirth":"","city":"Malmö""#)
      #expect(cleared[.firstName] == nil)
      #expect(cleared[.lastName] == "Lee")
      #expect(cleared.dateOfBirth == nil)
      #expect(cleared[.city] == "Malmö")
    }
  }

  @Test func `Every field of a contact can be set, kept, cleared and set again`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      for field in ContactField.allCases {
        func put(_ value: String) async throws -> String? {
          try await fixture.register(
            #"{"originalId":"a","\#(field.name)":\#(value),"deviceInfo":[{"devicetoken":"t"}]}"#)[field]
        }
        let (first, second) =
          switch field {
          case .timeZone: ("Europe/Berlin", "America/Argentina/Ushuaia")
          case .language: ("sv", "pt-BR")
          default: ("x", "y")
          }
        #expect(try await put(#""\#(first)""#) == first, "\(field)")
        #expect(try await put("null") == first, "\(field)")
        #expect(try await put(#""""#) == nil, "\(field)")
        #expect(try await put(#""\#(second)""#) == second, "\(field)")
      }
    }
  }

  private static let noTimeZones = [
    "CET", "EST", "EST5EDT", "GMT+5", "CET-1CEST", "<+03>-3", "EST5EDT,M3.2.0/2,M11.1.0/2", "europe/berlin",
    "Europe/Atlantis", "posix/Europe/Berlin", "SystemV/EST5EDT", "../etc/passwd", "/etc/passwd", "+02:00", " ",
  ]

  @Test func `A time zone is a place of the IANA database, and anything else is refused by its field`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      let problem = "must be a name of the IANA database, such as Europe/Berlin or UTC"
      for name in Self.noTimeZones {
        for (json, field) in [
          (#"{"originalId":"a","timeZone":"\#(name)","deviceInfo":[{"devicetoken":"t"}]}"#, "timeZone"),
          (#"{"originalId":"a","deviceInfo":[{"devicetoken":"t","timezone":"\#(name)"}]}"#, "deviceInfo[0].timezone"),
        ] {
          #expect(throws: RegistryError.invalid(field: field, problem: problem), "\(name)") {
            _ = try fixture.registration(json)
          }
        }
      }
      for name in ["UTC", "GMT", "Europe/Berlin", "America/Argentina/Ushuaia", "Etc/GMT+5"] {
        _ = try fixture.registration(#"{"originalId":"a","timeZone":"\#(name)","deviceInfo":[{"devicetoken":"t"}]}"#)
      }
    }
  }

  @Test(arguments: [AccessScope.backend, .device])
  func `What is no time zone and no language is an error for a back end, and left out for a device key`(
    _ scope: AccessScope
  ) async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      let key = try await AccessKeys(database.pool).make(fixture.customer, name: "key", scope: scope).key.keyId
      let access = Access(customer: fixture.customer, key: key, scope: scope)
      func put(_ more: String, _ device: String) async throws {
        let body = try PushDevicesBody(
          #"{"originalId":"a"\#(more),"deviceInfo":[{"devicetoken":"t"\#(device)}]}"#)
        let registration = try Registration(body, apps: fixture.app, access: access)
        _ = try await fixture.registrations.register(fixture.customer, registration, returnsContact: false)
      }
      try await put(
        #","timeZone":"Europe/Berlin","language":"PT_br""#, #","timezone":"Asia/Tokyo","locale":"zh_hans_CN""#)
      for (more, device, field) in [
        (#","timeZone":"CET""#, "", "timeZone"), (#","language":"C.UTF-8""#, "", "language"),
        ("", #","timezone":"CET""#, "deviceInfo[0].timezone"), ("", #","locale":"C.UTF-8""#, "deviceInfo[0].locale"),
      ] {
        if scope == .device {
          try await put(more, device)
        } else {
          let error = await #expect(throws: RegistryError.self) { try await put(more, device) }
          guard case .invalid(let named, _) = error else {
            Issue.record("\(String(describing: error))")
            return
          }
          #expect(named == field)
        }
      }
      let contact = try #require(try await fixture.contact("a"))
      #expect(contact[.timeZone] == "Europe/Berlin" && contact[.language] == "pt-BR")
      #expect(contact.devices[0].timeZone == "Asia/Tokyo" && contact.devices[0].locale == "zh-Hans-CN")
    }
  }

  @Test func `Fields of a device follow the same rule`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      try await fixture.register(
        "a", token: "t",
        #","model":"X","osVersion":"1","manufacturer":"m","country":"c","timezone":"Europe/Berlin","locale":"sv-SE""#)
      let device = try await fixture.register("a", token: "t", #","model":"","osVersion":null,"locale":"""#).devices[0]
      #expect(device.timeZone == "Europe/Berlin" && device.locale == nil)
      #expect(device.model == nil)
      #expect(device.osVersion == "1")
      #expect(device.manufacturer == "m")
      #expect(device.country == "c")
    }
  }

  @Test func `Properties are merged key by key, and null removes a key`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      func put(_ properties: String) async throws -> String {
        try await fixture.register(
          #"{"originalId":"a","properties":\#(properties),"deviceInfo":[{"devicetoken":"t"}]}"#
        ).properties
      }
      #expect(try await put(#"{"a":"1","b":2,"c":true}"#) == #"{"a":"1","b":2,"c":true}"#)
      #expect(try await put(#"{"b":null,"d":"4","a":""}"#) == #"{"a":"","c":true,"d":"4"}"#)
      #expect(try await put("null") == #"{"a":"","c":true,"d":"4"}"#)
      #expect(try await put("{}") == #"{"a":"","c":true,"d":"4"}"#)
      #expect(try await put(#"{"n":1.50,"z":null}"#) == #"{"a":"","c":true,"d":"4","n":1.50}"#)
    }
  }

  @Test func `Null properties of a new contact are not stored`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      let contact = try await fixture.register(
        #"{"originalId":"a","firstName":"","properties":{"x":null,"y":1},"deviceInfo":[{"devicetoken":"t"}]}"#)
      #expect(contact.properties == #"{"y":1}"#)
      #expect(contact[.firstName] == nil)
    }
  }

  @Test func `Properties may not grow for ever, and the one too many changes nothing`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      let value = String(repeating: "x", count: 4000)
      func put(_ key: Int) async throws {
        try await fixture.register(
          #"{"originalId":"a","properties":{"k\#(key)":"\#(value)"},"deviceInfo":[{"devicetoken":"t\#(key)"}]}"#)
      }
      await #expect(
        throws: RegistryError.invalid(field: "properties", problem: "would grow beyond 64 KiB for this contact")
      ) {
        for key in 0..<20 { try await put(key) }
      }
      let contact = try #require(try await fixture.contact("a"))
      #expect(contact.devices.count == 16)
    }
  }

  @Test func `What does not change is not written`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      let json =
        #"{"originalId":"a","firstName":"Ann","title":"","dateOfBirth":0,"properties":{"x":1,"y":null},"deviceInfo":[{"devicetoken":"t"}]}"#
      try await fixture.register(json)
      func versions() async throws -> [String] {
        try await database.query("SELECT xmin::text || ' ' || updated_at FROM contact").map {
          try $0.decode(String.self)
        }
      }
      let before = try await versions()
      try await fixture.register(json)
      #expect(try await versions() == before)
      #expect(try await fixture.events("t") == ["registered"])
      try await fixture.register(#"{"originalId":"a","firstName":"Bo","deviceInfo":[{"devicetoken":"t"}]}"#)
      #expect(try await versions() != before)
    }
  }

  @Test func `The moment of registration always moves`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      let first = try await fixture.register("a", token: "t").devices[0]
      let second = try await fixture.register("a", token: "t").devices[0]
      #expect(second.registeredAt > first.registeredAt)
      #expect(second.id == first.id)
    }
  }

  @Test func `A contact may have many devices, and the answer lists them all`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      try await fixture.allowDevices(1000)
      let devices = (1...100).map { #"{"devicetoken":"t\#($0)"}"# }.joined(separator: ",")
      #expect(try await fixture.register(#"{"originalId":"a","deviceInfo":[\#(devices)]}"#).devices.count == 100)
      let contact = try await fixture.register("a", token: "one-more")
      #expect(contact.devices.count == 101)
      #expect(contact.devices.last?.token == "one-more")
      #expect(try await fixture.contact("a")?.devices.count == 101)
    }
  }

  @Test func `Of a token given twice in one request the last one counts`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      let contact = try await fixture.register(
        #"{"originalId":"a","deviceInfo":[{"devicetoken":"AB","model":"1"},{"devicetoken":"ab","model":"2"}]}"#)
      #expect(contact.devices.map(\.token) == ["ab"])
      #expect(contact.devices[0].model == "2")
    }
  }

  @Test func `The same hexadecimal token in either case is one device, any other text is compared exactly`()
    async throws
  {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      try await fixture.register("a", token: "00FCab")
      let contact = try await fixture.register("a", token: "00fcAB")
      #expect(contact.devices.map(\.token) == ["00fcAB"])
      try await fixture.register("b", token: "xyz")
      #expect(try await fixture.register("b", token: "XYZ").devices.count == 2)
    }
  }

  @Test func `Two contacts may hold the same token in different apps`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      try await fixture.register("a", token: "aa")
      try await fixture.register(
        #"{"originalId":"b","deviceInfo":[{"devicetoken":"aa","appType":1},{"devicetoken":"aa","appType":"2"}]}"#,
        fixture.both)
      #expect(try await fixture.contact("a")?.devices.count == 1)
      #expect(try await fixture.contact("b", fixture.both)?.devices.count == 2)
      #expect(try await fixture.contact("b")?.devices.isEmpty == true)
    }
  }

  @Test func `A token belongs to one contact: the last registration wins`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      try await fixture.register("first", token: "t")
      let second = try await fixture.register("second", token: "t")
      #expect(second.devices.count == 1)
      #expect(try await fixture.contact("first")?.devices.isEmpty == true)
      #expect(try await fixture.events("t") == ["registered", "moved"])
    }
  }

  @Test func `Registering an invalidated token revives it`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      try await fixture.register("a", token: "t")
      try await fixture.invalidate(#"{"originalId":"a","deviceInfo":[{"devicetoken":"t","invalidationType":"1"}]}"#)
      #expect(try await fixture.contact("a")?.devices[0].invalidationType == 1)
      let device = try await fixture.register("a", token: "t").devices[0]
      #expect(device.invalidatedAt == nil)
      #expect(device.invalidationType == 0)
      #expect(try await fixture.events("t") == ["registered", "invalidated", "revived"])
    }
  }

  @Test func `The same token under the other sandboxToken changes environment`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      try await fixture.register("a", token: "t", #","sandboxToken":"true""#)
      #expect(try await fixture.contact("a")?.devices[0].isSandbox == true)
      // The guide: the field defaults to false if it is not added.
      #expect(try await fixture.register("a", token: "t").devices[0].isSandbox == false)
      #expect(try await fixture.events("t") == ["registered", "environment"])
    }
  }

  @Test func `A device put back as invalid stays invalid, with its date and reason`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      try await fixture.register("a", token: "t")
      let date = 1_700_000_000_123
      let put = #","invalidationType":2,"dateOfInvalidation":\#(date)"#
      let device = try await fixture.register("a", token: "t", put).devices[0]
      #expect(device.invalidationType == 2)
      #expect(device.invalidatedAt == Int64(date))
      let again = try await fixture.register("a", token: "t", #","invalidationType":"2""#).devices[0]
      #expect(again.invalidatedAt == device.invalidatedAt)
      #expect(try await fixture.events("t") == ["registered", "invalidated"])
      let fresh = try await fixture.register("a", token: "new", #","invalidationType":1"#)
      #expect(fresh.devices.last?.invalidatedAt != nil)
      #expect(try await fixture.events("new") == ["registered", "invalidated"])
    }
  }

  @Test func `An unknown list is refused and nothing of that request is written`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      let list = try await ContactLists(database.pool).add(fixture.customer, name: "all").listId
      func put(_ list: String) async throws -> Contact {
        try await fixture.register(#"{"originalId":"a","listId":\#(list),"deviceInfo":[{"devicetoken":"t"}]}"#)
      }
      await #expect(throws: RegistryError.invalid(field: "listId", problem: "names no list of this customer")) {
        _ = try await put("\(list.rawValue + 1)")
      }
      #expect(try await fixture.count("contact") == 0)
      #expect(try await fixture.count("device") == 0)
      #expect(try await put("\(list)").listID == list)
      #expect(try await put("null").listID == list)
      #expect(try await put(#""\#(list)""#).listID == list)
      #expect(try await put(#""""#).listID == nil)
    }
  }

  @Test(arguments: [true, false])
  func `A contact joins one list after another, and leaves all of them at once`(_ returnsContact: Bool) async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      let lists = ContactLists(database.pool)
      let (low, high) = (
        try await lists.add(fixture.customer, name: "low").listId,
        try await lists.add(fixture.customer, name: "high").listId
      )
      func put(_ id: String, _ list: String) async throws -> ListID? {
        let registration = try fixture.registration(
          #"{"originalId":"\#(id)","listId":\#(list),"deviceInfo":[{"devicetoken":"\#(id)"}]}"#)
        return try await fixture.registrations.register(
          fixture.customer, registration, returnsContact: returnsContact)?.listID
      }
      func listed(_ id: String) async throws -> [ListID] {
        let contact = try #require(try await fixture.contact(id))
        return try await lists.lists(fixture.customer, of: contact.id)
      }
      // A reply shows the list that the request names, and the lowest one otherwise.
      #expect(try await put("a", "\(high)") == (returnsContact ? high : nil))
      #expect(try await put("a", "\(low)") == (returnsContact ? low : nil))
      #expect(try await put("a", "\(high)") == (returnsContact ? high : nil))
      #expect(try await put("a", "null") == (returnsContact ? low : nil))
      #expect(try await fixture.contact("a")?.listID == low)
      _ = try await put("b", "\(high)")
      #expect(try await listed("a") == [low, high])
      #expect(try await put("a", #""""#) == nil)
      #expect(try await listed("a") == [])
      #expect(try await listed("b") == [high])
    }
  }

  @Test func `A registration of a member of its list writes neither the contact nor the membership`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      let list = try await ContactLists(database.pool).add(fixture.customer, name: "all").listId
      let body = #"{"originalId":"a","listId":\#(list),"deviceInfo":[{"devicetoken":"t"}]}"#
      func written() async throws -> [String] {
        try await database.query(
          "SELECT 'contact ' || xmin FROM contact UNION ALL SELECT 'member ' || xmin FROM list_member ORDER BY 1"
        ).map { try $0.decode(String.self) }
      }
      try await fixture.register(body)
      let before = try await written()
      #expect(before.count == 2)
      try await fixture.register(body)
      #expect(try await written() == before)
    }
  }

  @Test func `A customer's contacts and tokens are its own`() async throws {
    try await withDatabase { database in
      let one = try await RegistryFixture(database)
      let two = try await RegistryFixture(database)
      try await one.register(#"{"originalId":"a","firstName":"One","deviceInfo":[{"devicetoken":"t"}]}"#)
      try await two.register(#"{"originalId":"a","firstName":"Two","deviceInfo":[{"devicetoken":"t"}]}"#)
      #expect(try await one.contact("a")?[.firstName] == "One")
      #expect(try await one.contact("a")?.devices.count == 1)
      #expect(try await two.contact("a")?[.firstName] == "Two")
    }
  }

  @Test func `Original ids are compared exactly, whatever Unicode thinks of them`() async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      let ids = ["é", "e\u{301}", "É", "a/b", "a b", "a+b", "a%2Fb", "Å", "\u{212B}", "👩‍👩‍👧", "\u{1}"]
      for (index, id) in ids.enumerated() {
        let escaped = id == "\u{1}" ? "\\u0001" : id
        try await fixture.register(escaped, token: "token\(index)")
      }
      for (index, id) in ids.enumerated() {
        #expect(try await fixture.contact(id)?.devices.map(\.token) == ["token\(index)"], "\(id)")
      }
    }
  }
}
