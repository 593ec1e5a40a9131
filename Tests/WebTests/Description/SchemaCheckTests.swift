import Support
import Testing
import Wire

@Suite struct SchemaCheckTests {
  private let check = SchemaCheck(document: [
    "components": ["schemas": ["Name": ["type": "string", "maxLength": 3]]]
  ])
  private let schema: JSONValue = [
    "type": "object", "additionalProperties": false, "required": ["name"],
    "properties": [
      "name": ["$ref": "#/components/schemas/Name"], "at": ["type": ["string", "null"], "format": "date-time"],
      "counts": ["type": "array", "maxItems": 2, "items": ["type": "integer", "minimum": 0]],
      "either": ["anyOf": [["type": "boolean"], ["enum": ["x"]]]],
    ],
  ]

  @Test func `Matching values have no problems`() {
    let values: [JSONValue] = [
      ["name": "abc"], ["name": "", "at": nil, "counts": [0, 1], "either": "x"],
      ["name": "a", "at": "2026-11-20T09:00:00.000Z", "either": true],
    ]
    for value in values { #expect(check.problems(of: value, against: schema) == []) }
  }

  @Test(arguments: [
    ("[]", "$: is no object"), ("{}", "$.name: is missing"), (#"{"name":"abcd"}"#, "$.name: 4 breaks maxLength 3"),
    (#"{"name":"a","nmae":1}"#, "$.nmae: is not described"),
    (#"{"name":"a","at":"yesterday"}"#, "$.at: is no moment"),
    (#"{"name":"a","counts":[1,-1]}"#, "$.counts[1]: -1 breaks minimum 0"),
    (#"{"name":"a","counts":[1,2,3]}"#, "$.counts: 3 breaks maxItems 2"),
    (#"{"name":"a","either":"y"}"#, "$.either: fits no choice of anyOf"),
  ])
  func `Each mismatch is found`(json: String, problem: String) throws {
    let problems = check.problems(of: try JSONValue(parsing: json.utf8), against: schema)
    #expect(problems.contains(problem))
  }

  @Test func `An unknown keyword is a problem`() {
    #expect(!check.problems(of: 1, against: ["multipleOf": 1]).isEmpty)
  }
}
