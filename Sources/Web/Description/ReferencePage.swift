import Crypto
import Embedded
import FoundationEssentials
import HTTPTypes
import Operations
import Wire

/// The API's description as a page for people: one HTML document without scripts or resources from elsewhere.
struct ReferencePage {
  let description: APIDescription
  let publicURL: String

  var html: String {
    HTMLTemplates(EmbeddedFile.reference).render(
      "reference",
      [
        "title": description.title, "css": Markup(Self.style),
        "description": Prose.paragraphs(description.description),
        "tags": APIOperation.Tag.all.map { tag in
          [
            "anchor": "tag-" + tag.name.lowercasedASCII.replacing(" ", with: "-"), "name": tag.name,
            "description": Prose.paragraphs(tag.description),
            "operations": description.operations.filter { $0.tag == tag }.map(values),
          ] as [String: Any]
        }, "schemas": description.schemas.map(\.values),
      ])
  }

  /// It is inside the page, and the Content-Security-Policy names it by its hash.
  private static let style = EmbeddedFile.reference[named: "reference.css"].text

  /// The page's Content-Security-Policy: it allows the page's style and nothing else.
  static let policy: String = {
    let hash = Data(SHA256.hash(data: Data(style.utf8))).base64EncodedString()
    return "default-src 'none'; style-src 'sha256-\(hash)'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
  }()

  /// One operation: description, parameters, body, a command to try it, responses.
  private func values(of operation: APIOperation) -> [String: Any] {
    var values: [String: Any] = [
      "id": operation.id, "method": operation.method.rawValue, "methodClass": operation.method.rawValue.lowercasedASCII,
      "path": operation.path, "summary": operation.summary, "security": operation.security.inWords,
      "description": Prose.paragraphs(operation.description), "hasParameters": !operation.parameters.isEmpty,
      "parameters": operation.parameters.map { parameter in
        [
          "name": parameter.name, "place": parameter.location.rawValue + (parameter.isRequired ? "" : ", optional"),
          "type": parameter.schema.type, "description": Prose.line(parameter.description),
        ] as [String: Any]
      }, "command": CurlLine.make(operation, publicURL: publicURL), "body": "",
      "responses": operation.allResponses.map(\.values),
    ]
    if let body = operation.requestBody {
      values["body"] = body.values.merging(["xml": operation.xmlBody ?? "", "isOptional": !body.isRequired]) { $1 }
    }
    return values
  }
}

extension APIOperation.Security {
  fileprivate var inWords: String {
    switch self {
    case .none: "no key"
    case .key(let scope): "key of scope \(scope.rawValue)"
    case .mac: "signature of an app"
    }
  }
}

extension APIResponse {
  fileprivate var values: [String: Any] {
    let isGood = status.code < 400
    var values: [String: Any] = [
      "kind": isGood ? "good" : "bad", "status": status.code, "description": Prose.line(description), "isOpen": false,
      "isEmpty": false, "json": "", "other": "",
    ]
    switch content {
    case .none: values["isEmpty"] = true
    case .json(let content):
      values["json"] = content.values
      values["isOpen"] = isGood
    case .jsonOrText(let content, let types, let example):
      values["json"] = content.values
      values["other"] = Self.text(types, example, start: "Or ")
      values["isOpen"] = isGood
    case .text(let types, let example): values["other"] = Self.text(types, example, start: "")
    }
    return values
  }

  private static func text(_ types: [String], _ example: String, start: String) -> [String: Any] {
    ["start": start, "types": TypePieces.joined(types.map { [.code($0)] }, by: " or ").values, "example": example]
  }
}

extension APIContent {
  fileprivate var values: [String: Any] {
    ["type": schema.type, "examples": examples.map { ["example": ExampleText.json($0, schema)] }]
  }
}
