/// The schemas of the gateway's bodies. Their reader and writer are written by hand, since names are in any case and a wrong field
/// concerns its message alone.
public enum GatewaySchemas {
  /// Body of `POST /gateway.ashx` and `POST /v1.0/message` as JSON.
  public static let request = Schema.openObject(
    [
      Schema.Field(
        "messages",
        .openObject([
          Schema.Field(
            "authentication", .openObject([Schema.Field("producttoken", .string(), "A key of scope gateway.")])),
          Schema.Field("msg", Schema(.array(of: message, count: 1...GatewayRequest.maximumMessages)), "The messages."),
        ]))
    ],
    name: "GatewayRequest",
    "Messages to telephone numbers. Names of members may be in any case, and unknown ones are ignored.")

  private static let message = Schema.openObject(
    [
      Schema.Field("from", .string(), "The sender: \(SMSAccount.senderForm)."),
      Schema.Field(
        "to",
        Schema(
          .array(
            of: .openObject([
              Schema.Field("number", .string(), "A number \(PhoneNumber.form), +31612345678 or 31612345678.")
            ]), count: 1...GatewayRequest.maximumRecipients)),
        "Each number gets a message of its own."),
      Schema.Field(
        "body",
        .openObject([
          Schema.Field("content", .string(), "The text. It is no template."),
          option(
            "type", "AUTO for UCS-2 where GSM-7 lacks a character. If absent, those become question marks in an SMS."),
        ])),
      Schema.Field(
        "allowedChannels", Schema(.array(of: .string(), count: nil)).orNull, isRequired: false,
        "SMS, Push or both, in any case. Both if absent or empty."),
      option("appKey", "The key of the app that shows pushes. Without it a message goes by SMS."),
      option("appMessageType", "default, otp or critical, in any case. If absent, what the app says."),
      option("reference", "Your own name of the message: 1 to 32 letters, digits and `_-.:`."),
      option(
        "validity", "As in 2h, 30m, 2017-04-20 11:50:05 GMT, … +8 or … -07:00. Without a zone that of Central Europe."),
      Schema.Field(
        "minimumNumberOfMessageParts", Schema.integer(1...8).orNull, isRequired: false, "Checked, and not used."),
      Schema.Field(
        "maximumNumberOfMessageParts", Schema.integer(1...8).orNull, isRequired: false,
        "The most parts of an SMS. A longer text is cut. 8 if absent."),
      Schema.Field("dcs", Schema.integers([0, 8]).orNull, isRequired: false, "8 for UCS-2. 0 if absent."),
    ], name: "GatewayMessage", "A text to one or more telephone numbers.")

  /// The gateway's reply as JSON.
  public static let reply = Schema(
    .object(
      [
        Schema.Field("details", .string(), "How many messages were created, or why the request is refused."),
        Schema.Field("errorCode", .integer(), "0, or 201 if a message was refused, or why all of the request is."),
        Schema.Field("messages", Schema(.array(of: result, count: nil)), "One for each number, in their order."),
      ], others: nil, count: nil),
    name: "GatewayReply", description: "What became of a request's messages.")

  private static let result = Schema(
    .object(
      [
        Schema.Field("to", .string(), "The number, as it came."),
        Schema.Field("status", Schema(.strings(["Accepted", "Rejected"]))),
        Schema.Field("reference", .string().orNull, "As it came."),
        Schema.Field("parts", .integer(0 ... .max), "How many SMS the text takes."),
        Schema.Field("messageDetails", .string().orNull, "Why it is rejected."),
        Schema.Field("messageErrorCode", .integer(), "0, or why it is rejected."),
      ], others: nil, count: nil),
    name: "GatewayResult", description: "What became of a message to one number.")

  private static func option(_ name: String, _ description: String) -> Schema.Field {
    Schema.Field(name, .string().orNull, isRequired: false, description)
  }
}

extension Schema {
  fileprivate static func integers(_ values: [Int64]) -> Schema { Schema(.integers(values)) }
}
