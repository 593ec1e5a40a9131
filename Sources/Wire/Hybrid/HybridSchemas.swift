/// The schemas of the phones' REST of CM Hybrid Messaging. Their readers and writers are written by hand.
public enum HybridSchemas {
  /// A `DeviceRegistrationBody`.
  public static let registration = Schema.openObject(
    [
      member("PushToken", "The token of the phone's push service."),
      member("Msisdn", "The phone's number \(PhoneNumber.form)."),
      member(
        "VerificationCode",
        "The PIN that its SMS had, however its digits were typed. A number gets back the zeros it lost."),
      Schema.Field(
        "RegisteredForPushNotification", flag, isRequired: false, "False if the user has turned notifications off."),
      Schema.Field("IsDevelopment", flag, isRequired: false, "Whether the token is of APNs' development environment."),
    ], name: "DeviceRegistrationRequest", "A phone. Unknown members are ignored.")

  /// A `VoiceCodeBody`.
  public static let voiceCode = Schema.openObject(
    [
      member("msisdn", "The phone's number \(PhoneNumber.form)."),
      member("language", "The language of the call, two letters."),
    ], name: "VoiceCodeRequest", "Which number to call.")

  /// A `MessageStatusBody`.
  public static let status = Schema.openObject(
    [
      member("UpdateID", "The message, as `UpdateID` of its list or `ref` of its push names it."),
      Schema.Field(
        "UpdateIDs", Schema(.array(of: text, count: 0...MessageStatusBody.maximumIDs)).orNull, isRequired: false,
        "Several of them."),
      member("Status", "Cancelled, Sent, Rejected, Accepted, Failed or Delivered."),
      member("ReadByRecipient", "When its user read it, as in 2016-05-22T23:41:28.563. Without a zone, in the app's."),
    ], name: "MessageStatusRequest", "What became of messages.")

  /// A `DeviceRegistrationReply`.
  public static let registered = Schema(
    .object(
      [
        Schema.Field("DeviceID", .string(), "Names the phone in further requests."),
        Schema.Field("Msisdn", .string().orNull, "Its number."),
        Schema.Field("Platform", Schema(.strings(["iOS", "Android", "WindowsPhone"])), "As its User-Agent said."),
        Schema.Field(
          "RegistrationStatus",
          Schema(.strings(["Unverified", "WaitingForPin", "LastPinVerificationFailed", "PinVerified"])),
          "How far its number is verified."),
        Schema.Field("Created", .string(), "When it was registered, in UTC."),
        Schema.Field("RegisteredForPushNotification", Schema(.boolean), "Whether it gets pushes of its number."),
        Schema.Field("AppKey", .string(), "The app."), Schema.Field("AppName", .string(), "The app's name."),
        Schema.Field("UserAgent", .string(), "Of its last change."),
      ], others: nil, count: nil),
    name: "DeviceRegistration", description: "A phone.")

  public static let registeredExample: JSONValue = [
    "DeviceID": "9386b95d-d31b-49bd-8bf8-f203bed9236e", "Msisdn": "0031600000000", "Platform": "Android",
    "RegistrationStatus": "PinVerified", "Created": "2016-05-22T18:02:45.427", "RegisteredForPushNotification": true,
    "AppKey": .string(IssuedHybridApp.example.appKey), "AppName": "com.acme.app",
    "UserAgent": "MyApp/1.0 (Android 6.0.1; LGE; Nexus 5X; en_US)",
  ]

  /// A `PhoneMessageReply`.
  public static let message = Schema(
    .object(
      [
        Schema.Field("ID", .string(), isRequired: false, "The message: a GUID."),
        Schema.Field("UpdateID", .string().orNull, isRequired: false, "Its first push or SMS."),
        Schema.Field("Recipient", .string(), isRequired: false, "The number."),
        Schema.Field("Sender", .string(), isRequired: false, "Who sent it."),
        Schema.Field("Body", .string(), isRequired: false, "Its text."),
        Schema.Field("DateTime", .string(), isRequired: false, "When it came to the hub, in UTC."),
        Schema.Field("Status", .string(), isRequired: false, "What became of it."),
        Schema.Field(
          "UpdateIDs", Schema(.array(of: .string(), count: nil)), isRequired: false, "All its pushes and SMS."),
      ], others: nil, count: nil),
    name: "PhoneMessage", description: "A message to a number. `$select` leaves members out.")

  public static let messageExample: JSONValue = [
    "ID": "7af65395-2dc9-45c4-aa58-a7f53e33c4f3", "UpdateID": "70000000015", "Recipient": "0031600000000",
    "Sender": "MyApp", "Body": "Your first message!", "DateTime": "2016-05-22T23:41:28.563", "Status": "Delivered",
    "UpdateIDs": ["70000000015"],
  ]

  /// A number is taken as it is written.
  private static let text = Schema(.either([.string(), Schema(.number)]))
  private static let flag = Schema(
    .either([Schema(.boolean), Schema(.integers([0, 1])), Schema(.strings(["true", "false", "1", "0", ""]))])
  ).orNull

  private static func member(_ name: String, _ description: String) -> Schema.Field {
    Schema.Field(name, text.orNull, isRequired: false, description)
  }
}
