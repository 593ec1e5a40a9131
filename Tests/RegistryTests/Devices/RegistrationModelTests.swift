import Postgres
import Registry
import Support
import Testing
import Wire

/// Random registrations and invalidations, one after the other, held against a model of a few lines.
@Suite struct RegistrationModelTests {
  @Test(arguments: 1...UInt64(isSoak ? 6 : 2))
  func `Whatever comes, the tables say what the model says`(_ seed: UInt64) async throws {
    try await withDatabase { database in
      let fixture = try await RegistryFixture(database)
      var random = SeededGenerator(seed: seed)
      var model = Model()
      for step in 0..<150 {
        let request = Request(using: &random)
        if request.invalidates {
          let isDone = (try? await fixture.invalidate(request.json)) != nil
          #expect(isDone == model.invalidate(request), "step \(step): \(request.json)")
        } else {
          let returnsContact = Bool.random(using: &random)
          let told = try await fixture.registrations.register(
            fixture.customer, try fixture.registration(request.json), returnsContact: returnsContact)
          model.register(request)
          if returnsContact {
            #expect(told.map(Model.Person.init) == model.people[request.person], "step \(step): \(request.json)")
          }
        }
        for person in Request.people {
          let stored = try await fixture.contact(person).map(Model.Person.init)
          #expect(stored == model.people[person], "step \(step), \(person): \(request.json)")
        }
      }
      let events = try await database.query(
        "SELECT kind, count(*) FROM device_event GROUP BY kind"
      ).map { try $0.decode(String.self, Int.self) }
      #expect(Dictionary(uniqueKeysWithValues: events) == model.events)
    }
  }
}

private struct Request {
  static let people = ["a", "b", "c"]
  static let texts: [ContactField] = [.firstName, .city]
  static let keys = ["x", "y"]

  struct Device {
    var token: String
    var isSandbox: Bool
    var model: String?
    var type: Int16?
  }

  let person: String
  let invalidates: Bool
  /// `nil` is absent.
  var texts: [ContactField: String] = [:]
  /// The value `nil` is null.
  var properties: [String: Int?] = [:]
  var devices: [Device] = []

  init(using random: inout SeededGenerator) {
    person = Self.people.randomElement(using: &random) ?? ""
    invalidates = Int.random(in: 0..<4, using: &random) == 0
    for field in Self.texts where Bool.random(using: &random) {
      texts[field] = ["", "one", "two"].randomElement(using: &random)
    }
    for key in Self.keys where Bool.random(using: &random) {
      properties[key] = .some([nil, 1, 2].randomElement(using: &random) ?? nil)
    }
    for _ in 0..<Int.random(in: 1...3, using: &random) {
      let device = Device(
        token: ["t1", "t2", "t3", "t4", "t5"].randomElement(using: &random) ?? "",
        isSandbox: Int.random(in: 0..<4, using: &random) == 0,
        model: [nil, "", "phone", "pad"].randomElement(using: &random) ?? nil,
        type: Int.random(in: 0..<5, using: &random) == 0 ? Int16.random(in: 1...2, using: &random) : nil)
      devices.removeAll { $0.token == device.token }
      devices.append(device)
    }
  }

  var json: String {
    var fields = [#""originalId":"\#(person)""#]
    fields += texts.map { #""\#($0.key.name)":"\#($0.value)""# }
    if !properties.isEmpty {
      let members = properties.map { #""\#($0.key)":\#($0.value.map(String.init) ?? "null")"# }
      fields.append(#""properties":{\#(members.joined(separator: ","))}"#)
    }
    let devices = devices.map { device in
      var fields = [#""devicetoken":"\#(device.token)""#, #""sandboxToken":\#(device.isSandbox)"#]
      if let model = device.model { fields.append(#""model":"\#(model)""#) }
      if let type = device.type { fields.append(#""invalidationType":\#(type)"#) }
      return "{\(fields.joined(separator: ","))}"
    }
    fields.append(#""deviceInfo":[\#(devices.joined(separator: ","))]"#)
    return "{\(fields.joined(separator: ","))}"
  }
}

private struct Model {
  struct Person: Equatable {
    var texts: [ContactField: String] = [:]
    var properties: [String: Int] = [:]
    var devices: Set<Device> = []

    init() {}

    init(_ contact: Contact) {
      for field in Request.texts { texts[field] = contact[field] }
      for key in Request.keys {
        guard let found = contact.properties.firstRange(of: #""\#(key)":"#) else { continue }
        properties[key] = Int(String(contact.properties[found.upperBound]))
      }
      devices = Set(
        contact.devices.map {
          Device(token: $0.token, isSandbox: $0.isSandbox, model: $0.model, type: $0.invalidationType.rawValue)
        })
    }
  }

  struct Device: Hashable {
    var token: String
    var isSandbox: Bool
    var model: String?
    var type: Int16
  }

  var people: [String: Person] = [:]
  var events: [String: Int] = [:]

  private func owner(of token: String) -> String? {
    people.first { $0.value.devices.contains { $0.token == token } }?.key
  }

  mutating func register(_ request: Request) {
    var person = people[request.person] ?? Person()
    for (field, text) in request.texts { person.texts[field] = text.isEmpty ? nil : text }
    for (key, value) in request.properties { person.properties[key] = value }
    people[request.person] = person
    for device in request.devices { register(device, of: request.person) }
  }

  private mutating func register(_ device: Request.Device, of person: String) {
    let former = owner(of: device.token)
    let known = former.flatMap { people[$0]?.devices.first { $0.token == device.token } }
    let type = device.type ?? 0
    let model = device.model == nil ? known?.model : device.model == "" ? nil : device.model
    if let former, let known { people[former]?.devices.remove(known) }
    people[person]?.devices.insert(
      Device(token: device.token, isSandbox: device.isSandbox, model: model, type: type))
    if known == nil { count("registered") }
    if let former, former != person { count("moved") }
    if let known, known.isSandbox != device.isSandbox { count("environment") }
    if let known, known.type != 0, type == 0 { count("revived") }
    if known?.type ?? 0 == 0, type != 0 { count("invalidated") }
  }

  /// - Returns: whether it is done.
  mutating func invalidate(_ request: Request) -> Bool {
    guard request.devices.allSatisfy({ owner(of: $0.token) == request.person }) else { return false }
    for device in request.devices {
      guard var known = people[request.person]?.devices.first(where: { $0.token == device.token }) else { continue }
      people[request.person]?.devices.remove(known)
      if known.type == 0 { count("invalidated") }
      known.type = device.type ?? 1
      people[request.person]?.devices.insert(known)
    }
    return true
  }

  private mutating func count(_ event: String) { events[event, default: 0] += 1 }
}
