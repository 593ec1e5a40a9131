import HTTPTypes
import Operations
import Wire

/// The API's description as an OpenAPI 3.1 document.
enum OpenAPIDocument {
  /// - Parameter publicURL: where clients reach the hub.
  static func json(_ description: APIDescription, publicURL: String) -> JSONValue {
    let schemas = description.schemas.map { ($0.name ?? "", $0.definition) }
    return [
      "openapi": "3.1.0",
      "info": [
        "title": .string(description.title), "version": .string(description.version),
        "description": .string(description.description),
      ],
      "servers": [["url": .string(publicURL)]],
      "tags": .array(
        APIOperation.Tag.all.map { ["name": .string($0.name), "description": .string($0.description)] }),
      "paths": .object(paths(description.operations)),
      "webhooks": .object(
        Dictionary(named: description.webhooks.map { ($0.rawValue, ["post": json($0)] as JSONValue) })),
      "components": [
        "schemas": .object(Dictionary(named: schemas)),
        "securitySchemes": [
          "bearer": [
            "type": "http", "scheme": "bearer",
            "description": "An access key as `Authorization: Bearer pck_…`.",
          ],
          "basic": [
            "type": "http", "scheme": "basic",
            "description": "An access key as the password, of any user. Only under /pnm2.",
          ],
          "carma": [
            "type": "apiKey", "in": "header", "name": "X-Carma-Authentication-Token",
            "description": "An access key as Carma's clients send it.",
          ],
          "mac": [
            "type": "apiKey", "in": "header", "name": "Authorization",
            "description": .string(
              """
              `MAC kid="APP KEY", ts="SECONDS SINCE 1970", mac="SIGNATURE"`. The signature is the HMAC-SHA1, in base64, of three lines, \
              each with a line feed: `METHOD PATH?QUERY HTTP/1.1` percent-decoded, the host, and ts. The key is the app secret. The \
              clock may differ by five minutes.
              """),
          ],
        ],
      ],
    ]
  }

  private static func paths(_ operations: [APIOperation]) -> [UTF8String: JSONValue] {
    var paths: [UTF8String: [UTF8String: JSONValue]] = [:]
    for operation in operations {
      paths[UTF8String(operation.path), default: [:]][operation.method.rawValue.lowercasedASCII] = json(operation)
    }
    return paths.mapValues { .object($0) }
  }

  private static func json(_ operation: APIOperation) -> JSONValue {
    var members: [UTF8String: JSONValue] = [
      "operationId": .string(operation.id), "tags": [.string(operation.tag.name)],
      "summary": .string(operation.summary), "description": .string(operation.description),
      "security": security(operation),
      "responses": .object(
        Dictionary(named: operation.allResponses.map { (String($0.status.code), json($0)) })),
    ]
    if !operation.parameters.isEmpty { members["parameters"] = .array(operation.parameters.map(json)) }
    if let body = operation.requestBody {
      var content: [UTF8String: JSONValue] = ["application/json": media(body)]
      content["application/xml"] = operation.xmlBody.map { text($0) }
      members["requestBody"] = ["required": .bool(body.isRequired), "content": .object(content)]
    }
    if let csv = operation.csvBody {
      members["requestBody"] = ["required": true, "content": ["text/csv": text(csv)]]
    }
    return .object(members)
  }

  /// What a receiver gets, and what its answers mean.
  private static func json(_ event: WebhookEvent) -> JSONValue {
    let carma =
      event.carmaName.map { " Of a webhook of the form `carma` it is a list of Carma's events `\($0)`." } ?? ""
    return [
      "operationId": .string(event.rawValue), "tags": [.string(APIOperation.Tag.webhooks.name)],
      "summary": .string(event.meaning), "security": [],
      "description": .string("It is posted until it is taken, so it can come twice.\(carma)"),
      "parameters": .array(
        WebhookHeader.allCases.map { header in
          json(
            APIParameter(
              location: .header, name: header.rawValue, schema: header.schema, description: header.meaning,
              example: header.example, isRequired: true))
        }),
      "requestBody": [
        "required": true, "content": ["application/json": ["schema": event.body.openAPI()]],
      ],
      "responses": [
        "2XX": ["description": "It is taken. An answer has ten seconds."],
        "410": ["description": "Nothing is wanted there any more: the webhook is disabled."],
        "default": ["description": "It is posted again later."],
      ],
    ]
  }

  private static func security(_ operation: APIOperation) -> JSONValue {
    if case .mac = operation.security { return [["mac": []]] }
    guard case .key = operation.security else { return [] }
    if operation.tag == .softphones { return [["bearer": []], ["basic": []]] }
    return operation.path.hasPrefix("/rest/") ? [["carma": []], ["bearer": []]] : [["bearer": []], ["carma": []]]
  }

  private static func json(_ parameter: APIParameter) -> JSONValue {
    [
      "name": .string(parameter.name), "in": .string(parameter.location.rawValue),
      "required": .bool(parameter.isRequired), "description": .string(parameter.description),
      "schema": parameter.schema.openAPI(), "example": parameter.example,
    ]
  }

  private static func json(_ response: APIResponse) -> JSONValue {
    var members: [UTF8String: JSONValue] = ["description": .string(response.description)]
    switch response.content {
    case .none: break
    case .json(let content): members["content"] = ["application/json": media(content)]
    case .text(let types, let example):
      members["content"] = .object(Dictionary(named: types.map { ($0, text(example)) }))
    case .jsonOrText(let content, let types, let example):
      let texts = types.map { ($0, text(example)) }
      members["content"] = .object(Dictionary(named: texts + [("application/json", media(content))]))
    }
    return .object(members)
  }

  private static func text(_ example: String) -> JSONValue {
    ["schema": ["type": "string"], "example": .string(example)]
  }

  private static func media(_ content: APIContent) -> JSONValue {
    guard content.examples.count > 1 else {
      return ["schema": content.schema.openAPI(), "example": content.examples.first ?? .null]
    }
    let named = content.examples.enumerated().map { ("\($0 + 1)", ["value": $1] as JSONValue) }
    return ["schema": content.schema.openAPI(), "examples": .object(Dictionary(named: named))]
  }
}
