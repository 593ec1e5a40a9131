import HTTPTypes
import Operations
import Wire

/// `/sms/status/{token}`.
enum SMSStatusOperations {
  static let all: [APIOperation] = [report, reportByGet]

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
  private static let errors = [
    APIResponse.error("It is no status report.", HTTPErrorResponse.badStatusReport),
    APIResponse.error("Twilio has not signed it.", HTTPErrorResponse.unsignedStatusReport),
    APIResponse.error("There is no such address.", HTTPErrorResponse.noStatusAddress),
  ]
}
