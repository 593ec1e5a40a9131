/// Body of `PATCH /api/v1/contacts/{originalId}`, and of `PUT`.
public struct ContactRequest: APIRequest, Equatable {
  public var listIds: [ListID]?
  public var texts: ContactTexts
  public var dateOfBirth: String?
  public var properties: [UTF8String: JSONValue]?

  public init(
    listIds: [ListID]? = nil, texts: ContactTexts = ContactTexts(), dateOfBirth: String? = nil,
    properties: [UTF8String: JSONValue]? = nil
  ) {
    self.listIds = listIds
    self.texts = texts
    self.dateOfBirth = dateOfBirth
    self.properties = properties
  }

  public init(from decoder: any Decoder) throws {
    let body = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      listIds: try body.decodeIfPresent([ListID].self, forKey: .listIds), texts: try ContactTexts(from: decoder),
      dateOfBirth: try body.decodeIfPresent(String.self, forKey: .dateOfBirth),
      properties: try body.decodeIfPresent([UTF8String: JSONValue].self, forKey: .properties))
  }

  public func encode(to encoder: any Encoder) throws {
    var body = encoder.container(keyedBy: CodingKeys.self)
    try body.encodeIfPresent(listIds, forKey: .listIds)
    try texts.encode(to: encoder)
    try body.encodeIfPresent(dateOfBirth, forKey: .dateOfBirth)
    try body.encodeIfPresent(properties, forKey: .properties)
  }

  /// Most lists that a request names.
  public static let maximumLists = 1000

  public enum CodingKeys: String, CodingKey, CaseIterable { case listIds, dateOfBirth, properties }

  public static let schemaName: String? = "ContactChangeRequest"
  public static let schemaDescription = "What to change about a contact. Absent fields stay as they are."
  public static let example: ContactRequest = {
    var texts = ContactTexts()
    texts[.city] = "Lund"
    return ContactRequest(texts: texts)
  }()
  public static var form: BodyForm<Self> {
    BodyForm(schemaName, schemaDescription, isChange: true, example: example)
  }
  /// Of a contact as a whole.
  public static let whole = BodyForm<Self>(
    "ContactRequest", "What is known of a contact. Fields that are absent are removed.",
    example: {
      var texts = ContactTexts()
      (texts[.firstName], texts[.city]) = ("Lars", "Malmö")
      return ContactRequest(texts: texts, properties: ["food": "fish"])
    }())

  public static let fieldTable: FieldTable = [
    "listIds": FieldDescription(
      "The lists that the contact is on from now on, and on no other.", limits: 0...Int64(maximumLists)),
    "texts": .fields(
      ContactField.allCases.map { field in
        FieldDescription(field.meaning, limits: 0...Int64(ContactField.maximum), isRemovable: true)
          .field(field.name, String?.schema, allowsNull: true, isChange: true)
      }),
    "dateOfBirth": FieldDescription("A day, as in `1980-02-29`.", limits: 1...10, isRemovable: true),
    "properties": "Properties to set, by their names: texts, numbers, true or false. Null removes one; others stay.",
  ]
}

extension ContactRequest {
  /// The properties as a flat JSON object, as registrations have it; `nil` if there are none.
  /// - Throws: `JSONProblem`, naming the property that cannot be one.
  public func propertiesJSON() throws(JSONProblem) -> String? {
    guard let properties else { return nil }
    let json = JSONValue.object(["properties": .object(properties)]).json
    let read = json.withUnsafeBytes { bytes in
      Result { () throws(JSONProblem) -> String? in
        try JSONReader.read(bytes) { reader throws(JSONProblem) in
          var text: String?
          try reader.object { reader, _ throws(JSONProblem) in text = try reader.properties() }
          return text
        }
      }
    }
    return try read.get()
  }
}
