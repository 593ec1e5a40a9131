/// The schemas of Carma's bodies. Their readers and writers are written by hand, for speed; a test compares the two.
public enum CarmaSchemas {
  /// Body of `PUT …/pushdevices`.
  public static let registration = Schema.openObject(
    [
      originalId,
      maybe("listId", either(.id, .string(matching: "^(0*[1-9][0-9]*)?$")), "The contact's list. `\"\"` removes it."),
      maybe("dateOfBirth", date, "Milliseconds since 1970, or as in 1980-02-29. `\"\"` clears it."),
      maybe(
        "properties", Schema(.object([], others: property, count: 0...PropertyLimits.count)),
        "Further fields, merged key by key. Null removes a key."),
    ]
      + ContactField.allCases.map {
        maybe($0.name, text(0...ContactField.maximum), "\($0.meaning) Absent or null keeps it, `\"\"` clears it.")
      }
      + [devices(registeredDevice, "The contact's devices.")],
    name: "PushDevicesRequest", "A contact and its devices.")

  /// Body of `PUT …/pushdevices/invalidation`.
  public static let invalidation = Schema.openObject(
    [originalId, devices(invalidatedDevice, "The devices to invalidate.")],
    name: "InvalidationRequest", "Devices of a contact that must not receive pushes any more.")

  /// Body of `POST …/triggers/{triggerId}/messages`.
  public static let triggerMessage = Schema.openObject(
    [
      originalId,
      maybe(
        "customerId", either(.integer(), .string(matching: "^(-?[0-9]{1,18})?$")),
        "The customer in the path. 0 means the same as absent."),
      maybe(
        "properties", Schema(.object([], others: property, count: 0...PropertyLimits.count)),
        "What the trigger's texts can name, before the contact's own properties."),
      maybe(
        "deliveryTime", date,
        "When the message is due, as in 2016-02-09T11:00:00+0100, or in milliseconds since 1970. Now if absent or past."
      ),
      maybe(
        "saveProps", flag,
        """
        Whether `properties` are stored with the contact, too: merged key by key as by a registration, null removing a key. They \
        are stored before the message is committed. False if absent.
        """),
      maybe("optOut", flag, "Only false: the hub keeps no subscriptions."),
    ], name: "TriggerMessageRequest",
    """
    A message of a trigger to one contact. Unknown fields are ignored, and so are Carma's `campaignId` and \
    `forceCreateMissingProperties`: a trigger has one message, and properties need no declaration.
    """)

  /// A `ContactReply`.
  public static let contact = Schema(
    .object(
      [Schema.Field("originalId", .string(), "The contact's id in the customer's own system.")]
        + ContactField.allCases.map { Schema.Field($0.name, .string().orNull) } + [
          Schema.Field("listId", .id.orNull, "The contact's list."),
          Schema.Field("dateOfBirth", .integer(CarmaDate.range).orNull, "Midnight UTC, in milliseconds since 1970."),
          Schema.Field("properties", Schema(.object([], others: property, count: nil)), "Further fields."),
          Schema.Field("deviceInfo", Schema(.array(of: device, count: nil)), "The contact's devices in this app."),
        ], others: nil, count: nil),
    name: "Contact", description: "A contact and its devices. Null stands for what is unknown.")

  private static let originalId = Schema.Field(
    "originalId", text(1...255),
    """
    The contact's id in the customer's own system, such as an e-mail address or a primary key. It is compared exactly. \
    `originalid` is accepted too.
    """)

  private static func devices(_ device: Schema, _ description: String) -> Schema.Field {
    Schema.Field("deviceInfo", Schema(.array(of: device, count: 1...PushDevicesBody.maximumDevices)), description)
  }

  private static let deviceIdentity = [
    Schema.Field(
      "devicetoken", either(text(1...4096), .openObject([])),
      """
      The push token as the platform gave it to the app. Of a browser it is the subscription, as an object or as its JSON. \
      `deviceToken` is accepted too.
      """),
    maybe(
      "appType",
      either(
        Schema(.integers(AppType.ofApps.map { Int64($0.rawValue) })),
        Schema(.strings(AppType.ofApps.map { "\($0.rawValue)" } + [""]))),
      "\(AppType.listOfApps). Needed only if the appId exists on several platforms."),
  ]

  private static let dateOfInvalidation = maybe(
    "dateOfInvalidation", date, "Since when, in milliseconds since 1970 or as in 1980-02-29. Now if absent.")

  private static let registeredDevice = Schema.openObject(
    deviceIdentity + [
      maybe(
        "sandboxToken", flag,
        "Whether the token belongs to APNs' development environment. False if absent. Upper case is accepted too."),
      maybe("manufacturer", text(0...255)), maybe("model", text(0...255)), maybe("osVersion", text(0...255)),
      maybe("country", text(0...255)),
      maybe(
        "timezone", text(0...255), "A name of the IANA database, such as Europe/Berlin. `timeZone` is accepted too."),
      maybe("locale", text(0...255), "A locale such as pt-BR or pt_BR."),
      maybe(
        "invalidationType", either(.integer(0...Int64(Int16.max)), .string(matching: "^[0-9]{0,4}$")),
        "0 valid. Any other number invalidates the device: 1 by the app or its user."),
      dateOfInvalidation,
    ], name: "DeviceInfoRequest", "One device.")

  private static let invalidatedDevice = Schema.openObject(
    deviceIdentity + [
      maybe(
        "invalidationType", either(.integer(1...Int64(Int16.max)), .string(matching: "^([1-9][0-9]{0,3})?$")),
        "1 by the app or its user, which is the default."),
      dateOfInvalidation,
    ], name: "DeviceInvalidationRequest", "One device to invalidate.")

  private static let device = Schema(
    .object(
      [
        Schema.Field(
          "devicetoken", .string(),
          "The token, exactly as it was registered. Of a browser it is the subscription's endpoint and keys, as JSON."),
        Schema.Field(
          "appType", Schema(.strings(AppType.ofApps.map { "\($0.rawValue)" })).orNull, "A string, as in Carma."),
        Schema.Field("sandboxToken", Schema(.strings(["true", "false"])), "A string, as in Carma."),
        Schema.Field("manufacturer", .string().orNull), Schema.Field("model", .string().orNull),
        Schema.Field("osVersion", .string().orNull), Schema.Field("country", .string().orNull),
        Schema.Field("timezone", .string().orNull, "A name of the IANA database."),
        Schema.Field("locale", .string().orNull, "A language tag."),
        Schema.Field(
          "dateOfInvalidation", .integer(CarmaDate.range).orNull, "Milliseconds since 1970. Null while it is valid."),
        Schema.Field(
          "invalidationType", .integer(0...Int64(Int16.max)),
          "0 valid, 1 invalidated by app or user, 2 refused by the push service, 3 of the wrong environment."),
      ], others: nil, count: nil),
    name: "DeviceInfo", description: "One device.")
}

extension CarmaSchemas {
  private static func maybe(_ name: String, _ schema: Schema, _ description: String = "") -> Schema.Field {
    Schema.Field(name, schema.orNull, isRequired: false, description)
  }

  private static func either(_ choices: Schema...) -> Schema { Schema(.either(choices)) }

  /// A text; clients may send a number instead.
  private static func text(_ length: ClosedRange<Int>) -> Schema { either(.string(length), Schema(.number)) }

  /// Texts in upper case are accepted too.
  private static let flag = either(
    Schema(.boolean), Schema(.integers([0, 1])), Schema(.strings(["true", "false", "1", "0", ""])))

  private static let date = either(
    .integer(CarmaDate.range), .string(matching: "^$|^-?[0-9]+$|^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt ]\(time))?$"))
  /// As `CarmaDate` reads it, perhaps with a zone.
  private static let time =
    "([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.,][0-9]+)?)?([Zz]|[+-](0[0-9]|1[0-8])(:?[0-5][0-9])?)?"

  private static let property = either(.string(0...PropertyLimits.value), Schema(.number), Schema(.boolean)).orNull
}

extension ContactReply {
  /// Shown in the OpenAPI document.
  public static let example: ContactReply = {
    var device = DeviceInfo(deviceToken: "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0")
    device.appType = .ios
    device.manufacturer = "apple"
    device.model = "iPhone 15"
    device.osVersion = "18.1"
    var contact = ContactReply(originalId: "lars@example.com")
    contact.texts[.firstName] = "Lars"
    contact.texts[.country] = "Sweden"
    contact.properties = #"{"food":"meat"}"#
    contact.deviceInfo = [device]
    return contact
  }()
}
