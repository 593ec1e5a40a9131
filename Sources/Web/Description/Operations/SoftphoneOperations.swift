import FoundationEssentials
import HTTPTypes
import Operations
import Registry
import Wire

/// Cloud Softphone's gateway: `/pnm2` and `/k/{accessKey}/pnm2`.
enum SoftphoneOperations {
  static let all: [APIOperation] =
    ["/k/{accessKey}", ""].flatMap { base in
      [send(base), multisend(base), form(base)]
    } + [HTTPRequest.Method.post, .get].flatMap { [report($0), removal($0)] }

  private static func operation(
    _ base: String, _ path: String, _ id: String, _ summary: String, _ description: String, body: APIContent?,
    _ response: APIResponse
  ) -> APIOperation {
    let isKeyed = !base.isEmpty
    let who =
      isKeyed
      ? "The access key, of scope `send`, is part of the path."
      : "The access key, of scope `send`, is the bearer's token or the password of Basic. Networks that the operator listed need none."
    return APIOperation(
      method: .post, path: "\(base)\(path)", id: isKeyed ? "\(id)WithKey" : id, tag: .softphones,
      security: isKeyed ? .none : .key(.send), summary: summary + (isKeyed ? ", with the key in the path" : ""),
      description: "\(description)\n\n\(who)", parameters: isKeyed ? [accessKey] : [], requestBody: body,
      bodyLimit: path == "/pnm2" ? Limits.body : SoftphoneRoutes.bodyLimit, responses: [response],
      errors: isKeyed ? keyErrors : [])
  }

  private static func send(_ base: String) -> APIOperation {
    operation(
      base, "/pnm2/send", "sendToSoftphone", "Send a push to a softphone",
      """
      Answers once the push service has accepted or refused the push, after 30 seconds at most. Passing failures are tried again \
      meanwhile, and later as long as the push lives. A token that is not known yet becomes a device of the contact that Selector names.
      """,
      body: APIContent(push, examples: [example("NotifyGenericTextMessage"), example("NotifyReprovision")]),
      .ok("The verdict on the push.", APIContent(verdict, examples: verdicts)))
  }

  private static func multisend(_ base: String) -> APIOperation {
    operation(
      base, "/pnm2/multisend", "sendToSoftphones", "Send pushes to softphones",
      "As `send`, for up to \(SoftphoneRoutes.maximumCount) pushes. One object is taken as a list of one.",
      body: APIContent(
        Schema(.either([push, list(of: Schema(.anything))])),
        examples: [.array([example("NotifyGenericTextMessage"), .null]), example("NotifyReprovision")]),
      .ok("The verdicts in the order of the pushes.", APIContent(list(of: verdict), examples: [.array(verdicts)])))
  }

  private static func form(_ base: String) -> APIOperation {
    operation(
      base, "/pnm2", "sendFormToSoftphone", "Send a push to a softphone by the old service",
      """
      Takes the attributes of `send` as `application/x-www-form-urlencoded`, and answers with a word. It needs `verb`, `AppId` and `DeviceToken` \
      alone. A blank in the token is a `+`, and so is one before the Selector.
      """,
      body: nil,
      APIResponse(
        status: .ok,
        description: """
          `OK`, or `ERR:404 Not Found` for a dead token. Others are `ERR:400 Bad Request` and `ERR:500 Internal Server Error`.
          """,
        content: .text(["text/plain"], example: "OK")))
  }

  private static func report(_ method: HTTPRequest.Method) -> APIOperation {
    tokenOperation(
      method, "report", "reportTokens", "Report the push tokens of a softphone's account",
      """
      What the provisioning's push token reporter sends. Both pairs of AppId and token become devices of the contact that the selector \
      names. The customer's `reporterFields` say what the fields are called; `account[password]` is never read. An AppId can be left \
      out with a key that is bound to it.
      """)
  }

  private static func removal(_ method: HTTPRequest.Method) -> APIOperation {
    tokenOperation(
      method, "removal", "removeAccount", "Remove a softphone's account",
      "Invalidates the selector's devices in all softphones. Pushes to them get the code 404.")
  }

  private static func tokenOperation(
    _ method: HTTPRequest.Method, _ path: String, _ id: String, _ summary: String, _ description: String
  ) -> APIOperation {
    let isQuery = method == .get
    let fields = isQuery ? "The fields are the query." : "The fields are a JSON object, or a form."
    return APIOperation(
      method: method, path: "/k/{accessKey}/tokens/\(path)", id: isQuery ? "\(id)ByQuery" : id, tag: .softphones,
      security: .none, summary: summary + (isQuery ? ", by a query" : ""),
      description:
        "\(description)\n\n\(fields) The access key, of scope `device` or a higher one, is part of the path.",
      parameters: [accessKey],
      responses: [APIResponse(status: .noContent, description: "The change is committed.", content: .none)],
      errors: keyErrors + [
        .error("The key is bound to another app.", HTTPErrorResponse.boundElsewhere),
        .error("An identity is required and missing.", HTTPErrorResponse.identityRefused),
        .error("The app is unknown.", RegistryError.appUnknown(appID: "com.acme.phone")),
        .error("The body is not sent as JSON.", HTTPErrorResponse.notJSON),
      ])
  }

  private static let accessKey = APIParameter.path(
    "accessKey", .string(1...100), "An access key of scope `send`. It is logged nowhere.",
    example: "pck_1_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLM")

  private static let keyErrors: [APIResponse] = [
    .error("The access key is unknown or revoked.", HTTPErrorResponse.unauthorized),
    .error("The access key's scope is too low.", HTTPErrorResponse.forbidden(needs: AccessScope.send.rawValue)),
    .error(
      "The key is used more often than the hub's settings allow. `Retry-After` says when to try again.",
      HTTPErrorResponse.tooManyRequests(after: .seconds(1))),
  ]

  private static let push = Schema.openObject(
    [
      Schema.Field(
        "verb", .string(), "Such as `NotifyTextMessage`. Unknown ones that begin with `Notify` are passed on."),
      Schema.Field("AppId", .string(), "The push app's appId. That of a PushKit app makes the push a call."),
      Schema.Field("DeviceToken", .string(), "The token in base64."),
      Schema.Field(
        "Selector", .string(), isRequired: false, "The account. Every verb but `NotifyGenericTextMessage` needs it."),
      Schema.Field("Message", .string(), isRequired: false, "The text that is shown."),
      Schema.Field(
        "Badge", Schema(.either([.integer(), .string()])), isRequired: false, "The number of unread messages."),
      Schema.Field("Sound", .string(), isRequired: false, "`default`, or a sound of the app's. Silent if empty."),
      Schema.Field("UserName", .string(), isRequired: false, "The sender's name, as is `UserDisplayName`."),
      Schema.Field("ContentType", .string(), isRequired: false, "Some kinds of content are not shown."),
      Schema.Field("Id", .string(), isRequired: false, "The message's or call's id."),
      Schema.Field("ThreadId", .string(), isRequired: false, "Messages with the same name are shown as a group."),
    ], name: "SoftphonePush",
    "A push to a softphone. Further attributes reach the app under their own names, or with `x-` before those that the hub or FCM keep for themselves."
  )

  private static let verdict = Schema.openObject(
    [
      Schema.Field("code", .integer(200...500), "200, 400, 404 for a dead token, or 500."),
      Schema.Field("status", .integer(200...500), "The same."),
      Schema.Field("response", .string(), "A sentence."),
    ], name: "SoftphoneVerdict", "What became of a push to a softphone.")

  private static func list(of schema: Schema) -> Schema { Schema(.array(of: schema, count: nil)) }

  private static func example(_ verb: String) -> JSONValue {
    [
      "DeviceToken": "ValidToken", "Selector": "ValidSelector", "AppId": "valid.appid", "verb": .string(verb),
      "Message": "Some message",
    ]
  }

  private static let verdicts: [JSONValue] = [
    ["code": 200, "status": 200, "response": "Your message was sent."],
    ["code": 404, "status": 404, "response": "Pnmediator returned unknown error: ERR:404 Not Found"],
  ]
}
