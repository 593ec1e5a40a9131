import HTTPTypes
import Operations
import Registry
import Wire

/// `/api/v1/sms` and `/sms/status/{token}`.
enum SMSOperations {
  static let all: [APIOperation] = [save, show, check, rotate, allow, report, reportByGet]

  private static let save = APIOperation(
    method: .put, path: "/api/v1/sms", id: "saveSMS", tag: .sms, security: .key(.admin),
    summary: "Set the provider of SMS",
    description: """
      An SMS is a push to an app of the type SMS (10), whose `appId` is `sms`, and whose devices are telephone numbers. CM takes \
      `productToken`, Twilio `accountSid` and `authToken`. Any other provider takes a `template` of its request, and its `url`. \
      Addresses are https and of the internet, on the ports 443 and 8443. `PUSHCART_SMS_ALLOWED_HOSTS` names the only hosts, if it is \
      set; at localhost, 127.0.0.1 and [::1] these may be http. All fields are set anew.

      Enter the reply's `statusUrl` at the provider, so that it reports which messages were delivered. Twilio is told with each \
      message.
      """,
    requestBody: APIContent(SMSSettingsRequest.example),
    responses: [.ok("The provider.", SMSSettingsReply.example)])

  private static let show = APIOperation(
    method: .get, path: "/api/v1/sms", id: "showSMS", tag: .sms, security: .key(.admin),
    summary: "Show the provider of SMS", description: "What signs in is never shown.",
    responses: [.ok("The provider.", SMSSettingsReply.example)], errors: [missing])

  private static let check = APIOperation(
    method: .post, path: "/api/v1/sms/check", id: "checkSMS", tag: .sms, security: .key(.admin),
    summary: "Check the sign-in to the provider of SMS",
    description: """
      Asks CM or Twilio whether it accepts the sign-in. Nobody gets a message. Other providers cannot be asked: the verdict is then \
      `unasked`.
      """,
    parameters: [.idempotencyKey],
    responses: [
      .ok(
        "The provider's answer.",
        PushAppCheckReply(
          pushAppId: PushAppID(9), appId: PushApp.smsAppID,
          checks: [.init(environment: .production, verdict: .accepted)]))
    ],
    errors: [
      missing,
      .error("What signs in cannot be decrypted.", RegistryError.sealed(what: "push_credential/1/9/sms_account")),
    ])

  private static let rotate = APIOperation(
    method: .post, path: "/api/v1/sms/status-address", id: "rotateSMSStatusAddress", tag: .sms, security: .key(.admin),
    summary: "Renew the address for status reports",
    description: """
      For an address that leaked. The one before is refused from now on, by other hubs within a moment. Enter the reply's `statusUrl` at \
      the provider; until then its reports are lost, as are Twilio's of messages that left before.
      """,
    parameters: [.idempotencyKey],
    responses: [.created("The provider, with its new address.", SMSSettingsReply.example)],
    errors: [
      missing,
      .error("What signs in cannot be decrypted.", RegistryError.sealed(what: "push_credential/1/9/sms_account")),
    ])

  private static let allow = APIOperation(
    method: .delete, path: "/api/v1/sms/optouts/{number}", id: "allowSMS", tag: .sms, security: .key(.admin),
    summary: "Undo the opt-out of a number",
    description: """
      A provider said that the number has opted out, and it gets no SMS since. From now on it does. Only do this when its owner asks for \
      it: the provider may have the opt-out in a list of its own, and then refuses the next SMS.
      """,
    parameters: [
      .path("number", .string(1...40), "The telephone number \(PhoneNumber.form).", example: "0031612345678")
    ],
    responses: [.ok("The opt-out that was undone.", SMSOptOutReply.example)],
    errors: [
      missing, .error("The number is none.", HTTPErrorResponse.noNumber),
      .error("It has not opted out.", HTTPErrorResponse.noOptOut),
    ])

  private static let report = APIOperation(
    method: .post, path: "/sms/status/{token}", id: "reportSMS", tag: .sms, security: .none,
    summary: "Report what became of SMS",
    description: """
      For the provider alone, in its own form: CM's JSON or XML, Twilio's signed form, and for others \
      `{"reference":"…","status":"delivered"}` or `failed`, with an optional `errorCode`, or a list of these. A reference is what \
      the hub gave the message. Reports of other messages, and those that are not final, are taken and ignored. A number that has \
      opted out gets no SMS any more.
      """,
    parameters: [token], bodyLimit: SMSStatusRoutes.bodyLimit, responses: [taken], errors: errors)

  private static let reportByGet = APIOperation(
    method: .get, path: "/sms/status/{token}", id: "reportSMSByGet", tag: .sms, security: .none,
    summary: "Report what became of an SMS by a query",
    description: "CM's older form: REFERENCE, STATUS and STATUSDESCRIPTION as query parameters.",
    parameters: [
      token, .query("reference", .string(), "What the hub gave the message.", example: "10000001"),
      .query("status", .string(), "CM's status code.", example: "2"),
    ],
    responses: [taken], errors: errors)

  private static let token = APIParameter.path(
    "token", .string(1...60), "As in `statusUrl`.", example: "1-vT0c2nUe0nEJzN0bXwKpQy")
  private static let taken = APIResponse(status: .ok, description: "It is committed.", content: .none)
  private static let missing = APIResponse.error("The customer has no provider of SMS.", HTTPErrorResponse.noSMS)
  private static let errors = [
    APIResponse.error("It is no status report.", HTTPErrorResponse.badStatusReport),
    APIResponse.error("Twilio has not signed it.", HTTPErrorResponse.unsignedStatusReport),
    APIResponse.error("There is no such address.", HTTPErrorResponse.noStatusAddress),
  ]
}
