extension MessageRequest {
  /// Reads a request of the usual fields in one pass: to a contact, and due now. Checking a body by its schema and decoding it takes
  /// several times as long.
  /// - Returns: `nil` for any other body, good or bad. What it returns, the schema lets pass and a decoder reads alike.
  public init?(plain bytes: UnsafeRawBufferPointer) {
    guard let request = try? JSONReader.read(bytes, { reader throws(JSONProblem) in try reader.plainMessage() })
    else {
      return nil
    }
    self = request
  }
}

extension JSONReader {
  fileprivate mutating func plainMessage() throws(JSONProblem) -> MessageRequest {
    var (to, message): (MessageTarget?, MessageBody?)
    var request = MessageRequest(to: MessageTarget(), message: MessageBody())
    try object { reader, key throws(JSONProblem) in
      switch key {
      case "appId": try reader.readOnce(&request.appId)
      case "template": try reader.readOnce(&request.template)
      case "reference": try reader.readOnce(&request.reference)
      case "to" where to == nil: to = try reader.plainTarget()
      case "message" where message == nil: message = try reader.plainBody()
      case "wait" where request.wait == nil:
        guard let wait = Int(try reader.number()), 0...MessageRequest.maximumWait ~= wait else { throw .notPlain }
        request.wait = wait
      case "properties" where request.properties == nil: request.properties = try reader.plainObject()
      default: throw .notPlain
      }
    }
    guard let to, let message else { throw .notPlain }
    request.to = to
    request.message = message
    return request
  }

  private mutating func plainTarget() throws(JSONProblem) -> MessageTarget {
    var target = MessageTarget()
    try object { reader, key throws(JSONProblem) in
      guard "originalId" ~= key else { throw .notPlain }
      try reader.readOnce(&target.originalId)
    }
    return target
  }

  private mutating func plainBody() throws(JSONProblem) -> MessageBody {
    var body = MessageBody()
    try object { reader, key throws(JSONProblem) in
      switch key {
      case "alert": try reader.readOnce(&body.alert, limit: 4096)
      case "info": try reader.readOnce(&body.info, limit: 4096)
      case "sound": try reader.readOnce(&body.sound)
      case "category": try reader.readOnce(&body.category)
      case "fields" where body.fields == nil: body.fields = try reader.plainObject()
      default: throw .notPlain
      }
    }
    return body
  }

  private mutating func plainObject() throws(JSONProblem) -> [UTF8String: JSONValue] {
    var members: [UTF8String: JSONValue] = [:]
    try object { reader, key throws(JSONProblem) in
      guard members.updateValue(try reader.plainValue(), forKey: key.name) == nil else { throw .notPlain }
    }
    return members
  }

  private mutating func plainValue() throws(JSONProblem) -> JSONValue {
    switch try kind() {
    case .string: return .string(try string())
    case .boolean: return .bool(try boolean())
    case .number: return .number(JSONNumber(checked: try number()))
    case .object, .array, .null: throw .notPlain
    }
  }

  /// Reads a text that is neither empty nor long into a field that was not given before.
  private mutating func readOnce(_ field: inout String?, limit: Int = 200) throws(JSONProblem) {
    let text = try string()
    guard field == nil, !text.isEmpty, text.utf8.count <= limit else { throw .notPlain }
    field = text
  }
}

extension JSONProblem {
  fileprivate static var notPlain: JSONProblem { .ofBody("is not a plain message") }
}
