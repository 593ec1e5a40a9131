import HTTPTypes
import Operations
import Registry
import Wire

/// Carma's `/rest/{customerId}/apps/{appId}/pushdevices`.
enum PushDeviceOperations {
  static let all: [APIOperation] =
    operations("pushdevices", suffix: "", older: "")
    + operations("devices", suffix: "Old", older: " (the guide's older path)")

  private static func operations(_ name: String, suffix: String, older: String) -> [APIOperation] {
    let path = "/rest/{customerId}/apps/{appId}/\(name)"
    return [
      register(path, id: "registerDevices\(suffix)", "Register devices\(older)"),
      invalidate("\(path)/invalidation", id: "invalidateDevices\(suffix)", "Invalidate devices\(older)"),
      show("\(path)/{originalId}", id: "showContact\(suffix)", "Show a contact and its devices\(older)"),
    ]
  }

  private static func register(_ path: String, id: String, _ summary: String) -> APIOperation {
    APIOperation(
      method: .put, path: path, id: id, tag: .pushDevices, security: .key(.device), summary: summary,
      description: """
        Registers 1 to 100 devices of one contact and updates the contact. A field that is absent or null stays as it is. \
        `""` clears a field. `properties` is merged key by key, and null removes a key. Unknown fields are ignored.

        A text may be sent as a string or a number. A number keeps its digits.

        Pages of any site may register and invalidate from a browser (CORS).

        A token belongs to one contact of an app: the last registration wins. Registering an invalidated token revives it.

        The reply is the contact with all its devices. A key of scope `device` gets back only what it sent, and no reply to it \
        depends on what is stored of contacts and devices. Of what it sends, a `listId` that names no list is dropped, and so \
        are `properties` that would not fit, time zones and languages that there are not, and fields that the app's `deviceFields` do \
        not name.

        A contact has up to `devicesPerContact` valid devices, 50 unless the customer sets another number. A further one \
        invalidates those that were registered the longest time ago, but none that the same request names. A request that \
        itself names more valid devices is a 400.

        Limits: a body has 64 KiB, a token 4096 bytes, and every other text 255 characters. A request has up to 100 \
        properties. A property's name has 1 to 100 characters and its value up to 4096 bytes. All properties of a contact \
        have 64 KiB together. No text may contain U+0000.
        """,
      parameters: location + [identity],
      requestBody: APIContent(
        CarmaSchemas.registration,
        examples: [
          [
            "originalId": "lars@example.com", "firstName": "Lars", "country": "Sweden", "properties": ["food": "meat"],
            "deviceInfo": [
              [
                "devicetoken": token, "appType": "1", "sandboxToken": "false", "manufacturer": "apple",
                "model": "iPhone 15", "osVersion": "18.1",
              ]
            ],
          ]
        ]),
      responses: [contact],
      errors: [
        .error(
          "The app is unknown. An unknown list is a 400, and ignored from a key of scope `device`.",
          RegistryError.appUnknown(appID: "com.acme.app")),
        refusedToDevice,
      ])
  }

  private static func invalidate(_ path: String, id: String, _ summary: String) -> APIOperation {
    APIOperation(
      method: .put, path: path, id: id, tag: .pushDevices, security: .key(.device), summary: summary,
      description: """
        Stops all pushes to these tokens of this contact. The rows are kept, and repeating the request changes nothing. If \
        one of the tokens is not registered, none is invalidated. A key of scope `device` always gets a 200: tokens that are \
        not registered for this contact are ignored.
        """,
      parameters: location + [identity],
      requestBody: APIContent(
        CarmaSchemas.invalidation,
        examples: [
          ["originalId": "lars@example.com", "deviceInfo": [["devicetoken": token, "invalidationType": "1"]]]
        ]),
      responses: [contact],
      errors: [
        .error(
          "The app is unknown; or, unless the key is of scope `device`, the contact, or a token for this contact.",
          RegistryError.deviceUnknown(field: "deviceInfo[0].devicetoken")),
        refusedToDevice,
      ])
  }

  private static func show(_ path: String, id: String, _ summary: String) -> APIOperation {
    APIOperation(
      method: .get, path: path, id: id, tag: .pushDevices, security: .key(.backend), summary: summary,
      description: "Returns the same contact as a registration does.",
      parameters: location + [
        .path(
          "originalId", .string(), "The contact's id, percent-encoded: `lars%40example.com`.",
          example: "lars%40example.com")
      ],
      responses: [contact],
      errors: [
        .error("The app or the contact is unknown.", RegistryError.contactUnknown(originalID: "lars@example.com")),
        .error("The key is bound to another app.", HTTPErrorResponse.boundElsewhere),
      ])
  }

  private static let identity = APIParameter(
    location: .header, name: "X-Pushcart-Identity", schema: .string(43...64),
    description: """
      Needed with a device key if any app of the customer has `identity` `required`: the HMAC-SHA256 of `originalId` with \
      an app's identity secret, in hexadecimal or base64url, computed by the customer's back end.
      """,
    example: "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8")

  private static let refusedToDevice = APIResponse.error(
    "The key is bound to another app, or an app requires `X-Pushcart-Identity`.", HTTPErrorResponse.boundElsewhere,
    HTTPErrorResponse.identityRefused)

  private static let location: [APIParameter] = [
    .path("customerId", .id, "The customer's number.", example: 1),
    .path("appId", .string(), "Bundle id or package name.", example: "com.acme.app"),
  ]

  private static let contact = APIResponse.ok(
    "The contact and its devices.", APIContent(ContactReply.example))

  private static let token: JSONValue = .string(ContactReply.example.deviceInfo[0].deviceToken)
}

extension APIContent {
  /// Of a body that writes itself.
  init(_ contact: ContactReply) {
    guard let example = try? JSONValue(json: contact.json) else {
      preconditionFailure("the example of a contact is not JSON")
    }
    self.init(CarmaSchemas.contact, examples: [example])
  }
}
