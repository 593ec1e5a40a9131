import HTTPTypes
import Hybrid
import Operations
import Registry
import Wire

/// `/v1.0`, CM Hybrid Messaging's REST for phones.
enum HybridOperations {
  static let all: [APIOperation] = [showPhone, addPhone, changePhone, call, messages, confirm]

  private static let showPhone = APIOperation(
    method: .get, path: "/v1.0/deviceregistrations", id: "showPhone", tag: .hybrid, security: .mac,
    summary: "Show the phone's registration",
    description: "How far its number is verified, and whether it gets pushes.",
    parameters: [device, userAgent], responses: [registration], errors: [notFound, badRequest])

  private static let addPhone = APIOperation(
    method: .post, path: "/v1.0/deviceregistrations", id: "addPhone", tag: .hybrid, security: .mac,
    summary: "Register a phone",
    description: """
      The body may be `{}`. With an `Msisdn` the number gets a PIN by SMS. The reply's `DeviceID` goes with every further request.
      """,
    parameters: [userAgent], requestBody: APIContent(HybridSchemas.registration, examples: registrationExamples),
    responses: [registration], errors: [badRequest, tooMany, noSMS])

  private static let changePhone = APIOperation(
    method: .put, path: "/v1.0/deviceregistrations", id: "changePhone", tag: .hybrid, security: .mac,
    summary: "Change the phone's registration, or verify its number",
    description: """
      Absent members stay as they are. An `Msisdn` that is not verified yet gets a PIN by SMS, of five digits unless the app is set to others; another one starts \
      over. The PIN is good for ten minutes and five tries. A `VerificationCode` is tried: `RegistrationStatus` says the result. A \
      number gets three SMS an hour and ten a day; phones of one address get twenty an hour. Fifteen wrong codes a day are taken of a \
      number, twenty an hour of the app's phones at an address, and of the app a tenth of its PINs an hour.

      A signature that was used before is taken only with the same body, since it covers no body and counts seconds. Another body gets 429: sign \
      it again in a second.
      """,
    parameters: [device, userAgent],
    requestBody: APIContent(HybridSchemas.registration, examples: registrationExamples),
    responses: [registration], errors: [badRequest, tooMany, noSMS])

  private static let call = APIOperation(
    method: .post, path: "/v1.0/voiceotp/requestcode", id: "callPhone", tag: .hybrid, security: .mac,
    summary: "Have the PIN spoken", description: "Calls the number and speaks the PIN that its SMS had.",
    parameters: [device, userAgent],
    requestBody: APIContent(
      HybridSchemas.voiceCode, examples: [["msisdn": "0031612345678", "language": "nl"], ["msisdn": "0031612345678"]]),
    responses: [done("The call is under way.")],
    errors: [
      .error("There is no PIN to speak.", HybridError.noPIN), badRequest, tooMany,
      .error(
        "The customer has nothing to make calls with, or its provider made none.", HybridError.noCalls,
        HybridError.callFailed),
    ])

  private static let messages = APIOperation(
    method: .get, path: "/v1.0/messages", id: "listPhoneMessages", tag: .hybrid, security: .mac,
    summary: "List the phone's messages",
    description: """
      The messages to this app and the phone's number since the phone verified it, those that went by SMS too; the newest first, \
      1000 at most. The options are those of OData v3. `$filter` takes its operators and functions over ID, UpdateID, Recipient, \
      Sender, Body, DateTime and Status. A date without a zone is in the app's clock zone. A filter or an order chooses among the newest \
      \(ODataQuery.mostConsidered) that the filter's dates leave. A filter that takes too much work is refused.
      """,
    parameters: [
      device, userAgent,
      .query("$filter", .string(), "A condition.", example: "DateTime gt datetime'2016-01-01T12:00:00'"),
      .query("$orderby", .string(), "Properties, each with `asc` or `desc`.", example: "DateTime desc"),
      .query("$top", .integer(0...999_999_999), "Most messages.", example: 100),
      .query("$skip", .integer(0...999_999_999), "Messages to leave out.", example: 0),
      .query("$select", .string(), "Members to show.", example: "ID,Body,DateTime,Sender"),
      .query(
        "$inlinecount", .string(), "With `allpages`, the header X-Total-Count says how many the filter finds.",
        example: "allpages"),
    ],
    responses: [
      .ok(
        "The messages.",
        APIContent(
          Schema(.array(of: HybridSchemas.message, count: nil)), examples: [[HybridSchemas.messageExample]]))
    ],
    errors: [notFound, badRequest])

  private static let confirm = APIOperation(
    method: .put, path: "/v1.0/messages", id: "confirmMessages", tag: .hybrid, security: .mac,
    summary: "Say what became of messages",
    description: """
      A confirmation keeps back the SMS that would stand in for the push. It can be repeated. Ids that are not of this phone's \
      messages change nothing.
      """,
    parameters: [device, userAgent],
    requestBody: APIContent(
      HybridSchemas.status,
      examples: [
        ["UpdateID": "70000000015", "Status": "Delivered", "ReadByRecipient": "2016-05-22T23:41:28.563"],
        ["UpdateIDs": ["70000000015"], "Status": "Delivered"],
      ]),
    responses: [done("It is noted.")], errors: [badRequest])

  private static let device = APIParameter(
    location: .header, name: "DeviceID", schema: .string(), description: "The phone's `DeviceID`.",
    example: "9386b95d-d31b-49bd-8bf8-f203bed9236e", isRequired: true)
  private static let userAgent = APIParameter(
    location: .header, name: "User-Agent", schema: .string(), description: "Names iOS, Android or WindowsPhone.",
    example: "MyApp/1.0 (Android 6.0.1; LGE; Nexus 5X; en_US)", isRequired: true)
  private static let registrationExamples: [JSONValue] = [
    [:], ["PushToken": "3b19403cc169950f61471bec7fb21722e9a26f5e35c70a", "Msisdn": "0031600000000"],
    ["VerificationCode": "12345"],
  ]
  private static let registration = APIResponse.ok(
    "The registration.", APIContent(HybridSchemas.registered, examples: [HybridSchemas.registeredExample]))
  private static func done(_ what: String) -> APIResponse {
    .ok(what, APIContent(Schema(.object([], others: nil, count: nil)), examples: [[:]]))
  }
  private static let notFound = APIResponse.error("The phone is unknown.", HTTPErrorResponse.deviceNotFound)
  private static let badRequest = APIResponse.error(
    "The phone is unknown, User-Agent names no platform, or a value is wrong.", HybridError.deviceUnknown,
    HTTPErrorResponse.noPlatform, HybridError.invalid(field: "Msisdn", problem: "is wrong"))
  private static let tooMany = APIResponse.error(
    "The number, the address or the app got too many PINs, sent too many wrong codes, or registered too often.",
    HybridError.tooManyPINs(wait: .seconds(3600)))
  private static let noSMS = APIResponse.error("The customer has nothing to send SMS with.", HybridError.noSMS)
}
