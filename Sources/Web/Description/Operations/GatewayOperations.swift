import HTTPTypes
import Operations
import Wire

/// The gateway of CM Hybrid Messaging.
enum GatewayOperations {
  static let all: [APIOperation] = [send("/gateway.ashx", ""), send("/v1.0/message", "JSON"), query]

  private static func send(_ path: String, _ suffix: String) -> APIOperation {
    APIOperation(
      method: .post, path: path, id: "sendHybridMessages\(suffix)", tag: .gateway, security: .none,
      summary: "Send messages to telephone numbers",
      description: """
        Messages go by push where the app of `appKey` is installed with the number verified, and else by SMS. The product token is \
        a key of scope `gateway`. A body that begins with `<` is XML, any other JSON, whatever its Content-Type.

        XML has all of its messages accepted or none. The reply is an empty 200, or a 200 with a text that begins with \
        `Error: ERROR`. JSON has each message accepted by itself. The reply is a 200 if any was, and otherwise a 400.

        Codes: 101 the product token opens no gateway, 103 the app key is unknown, 201 not all messages were created, 202 the request \
        is not well-formed, 203 there are no messages or too many, 301 `from`, 302 `to`, 303 a number, 304 the text, 305 another \
        field, 402 the number has opted out, 403 there is no SMS provider, 500 the hub or its database is overloaded or away, 999 whether the message was accepted is \
        unknown. A request fails as a whole with 500 only where none of its messages was accepted, or that is unknown.

        Limits: a body has 4 MiB, and its product token is in the first 64 KiB. A request has \(GatewayRequest.maximumMessages) messages with \(GatewayRequest.maximumRecipients) \
        numbers each and \(GatewayRequest.maximumTotal) in all, and a text 4096 bytes; a longer one is cut. XML may be nested 20 \
        deep, with 256 attributes an element and 64 declarations of namespaces, and in UTF-8, UTF-16, ISO-8859-1 or windows-1252 as it declares. A field has all text \
        within its element, that of elements in it too. A document type, entities of its own and XInclude are refused.
        """,
      requestBody: APIContent(
        GatewaySchemas.request, examples: [example([:]), example(["appMessageType": "critical"])]),
      xmlBody: """
        <?xml version="1.0"?>
        <MESSAGES>
          <AUTHENTICATION>
            <PRODUCTTOKEN>00000000-0000-0000-0000-000000000000</PRODUCTTOKEN>
          </AUTHENTICATION>
          <MSG>
            <FROM>Company</FROM>
            <TO>00447911123456</TO>
            <APPKEY>00000000-0000-0000-0000-000000000000</APPKEY>
            <BODY>This message will be delivered as a push message.</BODY>
          </MSG>
        </MESSAGES>
        """,
      bodyLimit: GatewayRequest.maximumBytes,
      responses: [
        APIResponse(
          status: .ok, description: "To JSON, what became of each message. To XML, nothing or an error.",
          content: .jsonOrText(reply, ["text/plain"], example: ""))
      ],
      errors: [
        refused, failure("The body is too large.", 202, .tooLarge(limit: GatewayRequest.maximumBytes)),
      ]
        + common)
  }

  private static let query = APIOperation(
    method: .get, path: "/gateway.ashx", id: "sendSMS", tag: .gateway, security: .none, summary: "Send an SMS",
    description: """
      One number, at most one SMS of 160 characters, and never by push: an app key is ignored. Names of parameters may be in any \
      case. The reply is that of XML. The product token is in the address, so keep that out of logs; POST is better.
      """,
    parameters: [
      .query("producttoken", .string(), "A key of scope `gateway`.", example: token, isRequired: true),
      .query("to", .string(), "The number \(PhoneNumber.form).", example: "00447911123456", isRequired: true),
      .query("from", .string(), "The sender: \(SMSAccount.senderForm).", example: "Company", isRequired: true),
      .query("body", .string(), "The text.", example: "Hello", isRequired: true),
      .query("reference", .string(), "Your own name of the message.", example: "a1"),
    ],
    responses: [
      APIResponse(
        status: .ok, description: "Nothing, or a text that begins with `Error: ERROR`.",
        content: .text(["text/plain"], example: ""))
    ], errors: common)

  private static let token: JSONValue = "00000000-0000-0000-0000-000000000000"

  private static func example(_ more: [UTF8String: JSONValue]) -> JSONValue {
    let message: [UTF8String: JSONValue] = [
      "from": "SenderName", "to": [["number": "00447911123456"]],
      "body": ["content": "This message will be delivered as a push message"], "appKey": token,
    ]
    return [
      "messages": [
        "authentication": ["producttoken": token], "msg": [.object(message.merging(more) { $1 })],
      ]
    ]
  }

  private static let reply = APIContent(
    GatewaySchemas.reply,
    examples: [
      [
        "details": "Created 1 message(s)", "errorCode": 0,
        "messages": [
          [
            "to": "00447911123456", "status": "Accepted", "reference": "a", "parts": 1, "messageDetails": nil,
            "messageErrorCode": 0,
          ]
        ],
      ]
    ])

  private static let refused = APIResponse(
    status: .badRequest, description: "To JSON: no message was created, or the request is refused.",
    content: .json(
      APIContent(
        GatewaySchemas.reply,
        examples: [
          ["details": "No account found for the given authentication", "errorCode": 101, "messages": []]
        ])))

  private static let common: [APIResponse] = [
    .error(
      "The product token, or the client's address, is used more often than the hub's settings allow.",
      HTTPErrorResponse.tooManyRequests(after: .seconds(1))),
    failure(
      "The hub or its database is overloaded, slow or away. Nothing was done, unless the sentence says that this is unknown.",
      500, .unavailable, .busy, .timedOut, .outcomeUnknown),
  ]

  /// What the hub could not carry out.
  private static func failure(_ description: String, _ code: Int, _ failures: HTTPErrorResponse...) -> APIResponse {
    let replies = failures.map { failure -> JSONValue in
      ["details": .string(failure.sentence), "errorCode": .integer(Int64(code)), "messages": []]
    }
    return APIResponse(
      status: failures[0].status, description: description,
      content: .jsonOrText(
        APIContent(GatewaySchemas.reply, examples: replies), ["text/plain"],
        example: "Error: ERROR \(failures[0].sentence)"))
  }
}

/// What phones ask of CM Hybrid Messaging.
enum GeoIPOperations {
  static let all = [
    APIOperation(
      method: .get, path: "/v1.0/geoip", id: "geoIP", tag: .hybrid, security: .mac,
      summary: "Where is the client?",
      description: """
        The client's address, and its country by the file that `PUSHCART_GEOIP_FILE` names. Both are null without that file, and where it \
        does not know the address.
        """,
      responses: [
        .ok(
          "The address and its country.",
          APIContent(
            Schema(
              .object(
                [
                  Schema.Field("Ip", .string(), "The client's address."),
                  Schema.Field("CountryCode", .string().orNull, "By ISO 3166-1, such as NL."),
                  Schema.Field("CountryName", .string().orNull, "In English."),
                ], others: nil, count: nil),
              name: "GeoIP", description: "Where a client is."),
            examples: [["Ip": "192.0.2.1", "CountryCode": "NL", "CountryName": "Netherlands"]]))
      ], errors: [.error("User-Agent names no platform.", HTTPErrorResponse.noPlatform)])
  ]
}
