import Wire

/// Bodies of Carma's API, and of the hub's health.
enum CarmaSchemas {
  static let all: [APIDescription.NamedSchema] = [
    .init(name: "PushDevicesRequest", schema: request),
    .init(name: "DeviceInfoRequest", schema: deviceRequest),
    .init(name: "InvalidationRequest", schema: invalidation),
    .init(name: "Contact", schema: contact),
    .init(name: "DeviceInfo", schema: device),
    .init(name: "Health", schema: .object([.always("status", .word(of: ["ok"]))], "That all is well.")),
  ]

  private static let originalId = Schema.text(
    "The user's id in the customer's own system, such as an e-mail address or a primary key; compared exactly. "
      + "`originalid` is read as well.")
  private static let token = Schema.text(
    "The push token as the platform gave it to the app. `deviceToken` is read as well.")
  private static let texts = [
    "country", "firstName", "lastName", "middleName", "emailAddress", "title", "city", "zipcode", "sex", "mobileNumber",
  ]

  private static let request = Schema.openObject(
    [
      .always("originalId", originalId),
      .always(
        "deviceInfo",
        .array(of: .named("DeviceInfoRequest"), count: 1...PushDevicesBody.maximumDevices, "The user's devices.")),
      .maybe("listId", .either([.integer(), .text()], "The list the contact is on; `\"\"` takes it off.").orNull),
      .maybe(
        "dateOfBirth", .either([.integer(), .text()], "Milliseconds since 1970, or as in 1980-02-29.").orNull),
      .maybe(
        "properties",
        Schema.openObject(
          [], further: .either([.text(), .number(), .boolean()]).orNull,
          "Further fields, merged key by key; null removes a key."
        ).orNull),
    ] + texts.map { .maybe($0, Schema.text("Absent or null leaves it, `\"\"` clears it.").orNull) },
    "A contact and its devices.")

  private static let deviceRequest = Schema.openObject(
    [
      .always("devicetoken", token),
      .maybe(
        "appType",
        .either(
          [.appType(), .word(of: AppType.allCases.map { "\($0.rawValue)" } + [""])],
          "1 iOS, 2 Android, 3 Windows, 6 Firebase; needed only when the appId exists on several platforms."
        ).orNull),
      .maybe(
        "sandboxToken",
        .either([.boolean(), .text()], "Whether the token is of APNs' development environment; false when absent.")
          .orNull
      ),
      .maybe("manufacturer", Schema.text().orNull), .maybe("model", Schema.text().orNull),
      .maybe("osVersion", Schema.text().orNull), .maybe("country", Schema.text().orNull),
      .maybe(
        "invalidationType",
        .either([.integer(), .text()], "0 valid; others invalidated, 1 by app or user.").orNull),
      .maybe("dateOfInvalidation", .either([.integer(), .text()], "Since when; now when absent.").orNull),
    ], "One device.")

  private static let invalidation = Schema.openObject(
    [
      .always("originalId", originalId),
      .always(
        "deviceInfo",
        .array(of: .named("DeviceInfoRequest"), count: 1...PushDevicesBody.maximumDevices, "The devices to invalidate.")
      ),
    ], "Devices of one user that are no longer to be sent to.")

  private static let contact = Schema.object(
    [.always("originalId", .text("The user's id in the customer's own system."))]
      + texts.map { .always($0, Schema.text().orNull) } + [
        .always("listId", Schema.id("The list the contact is on.").orNull),
        .always("dateOfBirth", Schema.integer("Milliseconds since 1970, at midnight UTC.").orNull),
        .always(
          "properties",
          .openObject([], further: .either([.text(), .number(), .boolean()]).orNull, "Further fields.")),
        .always("deviceInfo", .array(of: .named("DeviceInfo"), "Every device of the contact in this app.")),
      ], "A contact and its devices; null for what is not known.")

  private static let device = Schema.object(
    [
      .always("devicetoken", .text("Exactly as it was registered.")),
      .always("appType", Schema.word(of: AppType.allCases.map { "\($0.rawValue)" }, "A string, as in Carma.").orNull),
      .always("sandboxToken", .word(of: ["true", "false"], "A string, as in Carma.")),
      .always("manufacturer", Schema.text().orNull), .always("model", Schema.text().orNull),
      .always("osVersion", Schema.text().orNull), .always("country", Schema.text().orNull),
      .always("dateOfInvalidation", Schema.integer("Milliseconds since 1970; null while it is valid.").orNull),
      .always(
        "invalidationType",
        .integer("0 valid, 1 invalidated by app or user, 2 refused by the push service, 3 of the wrong environment.")),
    ], "One device.")
}
