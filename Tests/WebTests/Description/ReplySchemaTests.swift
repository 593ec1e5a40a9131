import Foundation
import Support
import Testing
import Wire

/// Replies against their schemas, strictly: every field of the one is in the other.
@Suite struct ReplySchemaTests {
  @Test func `A contact with every field and one with none are written as the schema says`() async throws {
    try await withManagementServer { managed in
      let check = SchemaCheck(document: managed.contract.document)
      let schemas = try #require(managed.contract.document["components"]?["schemas"])
      for contact in [Self.full, ContactReply(originalId: "a")] {
        let json = try JSONValue(parsing: contact.json)
        #expect(check.problems(of: json, against: ["$ref": "#/components/schemas/Contact"]) == [])
        #expect(names(json) == names(schemas["Contact"]?["properties"]))
        for device in json.array("deviceInfo") ?? [] {
          #expect(names(device) == names(schemas["DeviceInfo"]?["properties"]))
        }
      }
      #expect(nulls(in: try JSONValue(parsing: Self.full.json)) == [])
    }
  }

  /// What may be null in a reply is null when nothing is known, and nothing else is.
  @Test func `A contact of which nothing is known has null wherever the schema allows it`() async throws {
    try await withManagementServer { managed in
      var contact = ContactReply(originalId: "a")
      contact.deviceInfo = [ContactReply.DeviceInfo(deviceToken: "t")]
      let json = try JSONValue(parsing: contact.json)
      let schemas = try #require(managed.contract.document["components"]?["schemas"])
      #expect(nulls(in: json) == nullable(schemas["Contact"]))
      #expect(nulls(in: json.array("deviceInfo")?.first) == nullable(schemas["DeviceInfo"]))
    }
  }

  private static let full: ContactReply = {
    var device = ContactReply.DeviceInfo(deviceToken: "t")
    device.appType = .firebase
    device.sandboxToken = true
    device.manufacturer = "a"
    device.model = "b"
    device.osVersion = "c"
    device.country = "d"
    device.timeZone = "Europe/Berlin"
    device.locale = "pt-BR"
    device.dateOfInvalidation = CarmaDate.range.upperBound
    device.invalidationType = .wrongEnvironment
    var contact = ContactReply(originalId: "a")
    contact.listId = .max
    contact.texts = ContactTexts { $0.name }
    contact.dateOfBirth = CarmaDate.range.lowerBound
    contact.properties = #"{"a":"x","b":1.5,"c":true,"d":null}"#
    contact.deviceInfo = [device]
    return contact
  }()

  private func names(_ object: JSONValue?) -> Set<UTF8String> {
    if case .object(let members) = object { Set(members.keys) } else { [] }
  }

  private func nulls(in object: JSONValue?) -> Set<UTF8String> {
    if case .object(let members) = object { Set(members.filter { $0.value == .null }.keys) } else { [] }
  }

  private func nullable(_ schema: JSONValue?) -> Set<UTF8String> {
    guard case .object(let fields) = schema?["properties"] else { return [] }
    return Set(fields.filter { $0.value.array("type")?.contains("null") == true }.keys)
  }
}
