import FoundationEssentials
import HTTPTypes
import Wire

/// The site's description as an OpenAPI 3.1 document.
enum OpenAPIDocument {
  /// - Parameter publicURL: where clients reach the hub.
  static func json(_ description: APIDescription, publicURL: String) -> JSONValue {
    [
      "openapi": "3.1.0",
      "info": [
        "title": .string(description.title), "version": .string(description.version),
        "description": .string(description.about),
      ],
      "servers": [["url": .string(publicURL)]],
      "tags": .array(
        description.topics.map { ["name": .string($0.topic.rawValue), "description": .string($0.about)] }),
      "paths": .object(paths(description.operations)),
      "components": [
        "schemas": .object(Dictionary(uniqueKeysWithValues: description.schemas.map { ($0.name, $0.schema.json) })),
        "securitySchemes": [
          "bearer": [
            "type": "http", "scheme": "bearer",
            "description": "An access key as `Authorization: Bearer pck_…`. Under /api/v1 only.",
          ],
          "carma": [
            "type": "apiKey", "in": "header", "name": "X-Carma-Authentication-Token",
            "description": "An access key as Carma's clients send it.",
          ],
        ],
      ],
    ]
  }

  private static func paths(_ operations: [Operation]) -> [String: JSONValue] {
    var paths: [String: [String: JSONValue]] = [:]
    for operation in operations {
      paths[operation.path, default: [:]][operation.method.rawValue.lowercased()] = json(operation)
    }
    return paths.mapValues { .object($0) }
  }

  private static func json(_ operation: Operation) -> JSONValue {
    var members: [String: JSONValue] = [
      "operationId": .string(operation.id), "tags": [.string(operation.topic.rawValue)],
      "summary": .string(operation.summary), "description": .string(operation.about),
      "security": security(operation),
      "responses": .object(
        Dictionary(operation.allReplies.map { (String($0.status.code), json($0)) }) { first, _ in first }),
    ]
    if !operation.parameters.isEmpty { members["parameters"] = .array(operation.parameters.map(json)) }
    if let body = operation.body {
      members["requestBody"] = [
        "required": true,
        "content": ["application/json": ["schema": body.schema.json, "example": parsed(body.example)]],
      ]
    }
    return .object(members)
  }

  private static func security(_ operation: Operation) -> JSONValue {
    guard case .key = operation.door else { return [] }
    return operation.path.hasPrefix("/api/v1/") ? [["bearer": []], ["carma": []]] : [["carma": []]]
  }

  private static func json(_ parameter: Parameter) -> JSONValue {
    [
      "name": .string(parameter.name), "in": .string(parameter.place.rawValue),
      "required": .bool(parameter.isRequired), "schema": parameter.schema.json,
      "example": example(parameter),
    ]
  }

  /// As a value of the parameter's schema: a number is no text.
  private static func example(_ parameter: Parameter) -> JSONValue {
    switch parameter.schema.shape {
    case .integer, .number, .boolean: parsed(parameter.example)
    default: .string(parameter.example)
    }
  }

  private static func json(_ reply: Reply) -> JSONValue {
    var members: [String: JSONValue] = ["description": .string(reply.about)]
    switch reply.content {
    case .nothing: break
    case .json(let schema, let examples):
      members["content"] = ["application/json": .object(media(schema, examples))]
    case .other(let types, let example):
      let media: JSONValue = ["schema": ["type": "string"], "example": .string(example)]
      members["content"] = .object(Dictionary(uniqueKeysWithValues: types.map { ($0, media) }))
    }
    return .object(members)
  }

  private static func media(_ schema: Schema, _ examples: [String]) -> [String: JSONValue] {
    guard examples.count > 1 else { return ["schema": schema.json, "example": examples.first.map(parsed) ?? .null] }
    let named = examples.enumerated().map { ("\($0 + 1)", ["value": parsed($1)] as JSONValue) }
    return ["schema": schema.json, "examples": .object(Dictionary(uniqueKeysWithValues: named))]
  }

  /// Examples are written in the source as JSON; a test reads every one of them.
  private static func parsed(_ example: String) -> JSONValue {
    (try? JSONDecoder().decode(JSONValue.self, from: Data(example.utf8))) ?? .string(example)
  }
}
