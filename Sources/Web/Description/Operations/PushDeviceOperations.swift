import HTTPTypes
import Registry
import Wire

/// Carma's `/rest/{customerId}/apps/{appId}/pushdevices`.
enum PushDeviceOperations {
  static let all: [Operation] =
    operations("pushdevices", suffix: "", older: "")
    + operations("devices", suffix: "Old", older: " (the guide's older path)")

  private static func operations(_ name: String, suffix: String, older: String) -> [Operation] {
    let path = "/rest/{customerId}/apps/{appId}/\(name)"
    return [
      register(path, id: "registerDevices\(suffix)", "Register devices\(older)"),
      invalidate("\(path)/invalidation", id: "invalidateDevices\(suffix)", "Invalidate devices\(older)"),
      show("\(path)/{originalId}", id: "showContact\(suffix)", "Show a contact and its devices\(older)"),
    ]
  }

  private static func register(_ path: String, id: String, _ summary: String) -> Operation {
    Operation(
      method: .put, path: path, id: id, topic: .pushDevices, door: .key(.device), summary: summary,
      about: """
        Registers 1 to 100 devices of one user and updates the contact. A field that is absent or null stays as it is, \
        `""` clears it; `properties` is merged key by key, and null removes a key. Unknown fields are ignored.

        A token belongs to one contact of an app: the last registration wins. Registering an invalidated token revives it. \
        The reply is the contact with all its devices; to a key of scope `device` only what it sent. Such a key can learn from \
        a 400 that a `listId` is not the customer's, or that a contact's `properties` are full, and nothing else of what is \
        stored.

        Limits: a body of 64 KiB; `originalId` and every other text 255 characters; a token 4096 bytes; `properties` 100 \
        keys a request, each named by up to 100 characters and worth up to 4096 bytes, and 64 KiB a contact in all. Values \
        of `properties` are strings, numbers and booleans. No text may hold U+0000.
        """,
      parameters: place,
      body: Body(
        schema: .named("PushDevicesRequest"),
        example: """
          {
            "originalId": "lars@example.com", "firstName": "Lars", "country": "Sweden",
            "properties": { "food": "meat" },
            "deviceInfo": [
              { "devicetoken": "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0", "appType": "1",
                "sandboxToken": "false", "manufacturer": "apple", "model": "iPhone 15", "osVersion": "18.1" }
            ]
          }
          """),
      replies: [.ok("The contact and its devices.", .named("Contact"), example: contact)],
      errors: [unknownApp])
  }

  private static func invalidate(_ path: String, id: String, _ summary: String) -> Operation {
    Operation(
      method: .put, path: path, id: id, topic: .pushDevices, door: .key(.device), summary: summary,
      about: """
        Nothing is sent any more to these tokens of this user. The rows are kept; asking again changes nothing. If one of the \
        tokens is not registered, none is invalidated.
        """,
      parameters: place,
      body: Body(
        schema: .named("InvalidationRequest"),
        example: """
          {
            "originalId": "lars@example.com",
            "deviceInfo": [
              { "devicetoken": "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0", "invalidationType": "1" }
            ]
          }
          """),
      replies: [.ok("The contact and its devices.", .named("Contact"), example: contact)],
      errors: [
        .refusal(
          "The app or the user is unknown, or a token is not registered for this user.",
          RegistryError.deviceUnknown(field: "deviceInfo[0].devicetoken"))
      ])
  }

  private static func show(_ path: String, id: String, _ summary: String) -> Operation {
    Operation(
      method: .get, path: path, id: id, topic: .pushDevices, door: .key(.backend), summary: summary,
      about: "The same struct as registering answers with.",
      parameters: place + [
        .path("originalId", .text("Percent-encoded: `lars%40example.com`."), example: "lars%40example.com")
      ],
      replies: [.ok("The contact and its devices.", .named("Contact"), example: contact)],
      errors: [
        .refusal("The app or the user is unknown.", RegistryError.contactUnknown(originalID: "lars@example.com"))
      ])
  }

  private static let place: [Parameter] = [
    .path("customerId", .id("The customer's number."), example: "1"),
    .path("appId", .text("Bundle id or package name."), example: "com.acme.app"),
  ]

  private static let unknownApp = Reply.refusal(
    "The app is unknown. An unknown list is a 400.", RegistryError.appUnknown(appID: "com.acme.app"))

  private static let contact = """
    {
      "listId": null, "country": "Sweden", "originalId": "lars@example.com", "firstName": "Lars", "lastName": null,
      "middleName": null, "emailAddress": null, "title": null, "dateOfBirth": null, "city": null, "zipcode": null,
      "sex": null, "mobileNumber": null, "properties": { "food": "meat" },
      "deviceInfo": [
        {
          "devicetoken": "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0", "appType": "1",
          "sandboxToken": "false", "manufacturer": "apple", "model": "iPhone 15", "osVersion": "18.1",
          "country": null, "dateOfInvalidation": null, "invalidationType": 0
        }
      ]
    }
    """
}
