extension GatewayRequest {
  /// Reads JSON. Names of members are in any case, unknown ones are ignored, and of a repeated one the last counts.
  /// - Throws: `GatewayProblem` for what is wrong with the request as a whole. A field that is wrong concerns its message alone.
  public init(json bytes: UnsafeRawBufferPointer) throws(GatewayProblem) {
    var reading = JSONReading()
    do throws(JSONProblem) {
      try JSONReader.read(bytes, rules: .cutTexts) { reader throws(JSONProblem) in try reading.document(&reader) }
    } catch {
      throw reading.problem ?? .malformed(error.sentence + ".")
    }
    self = reading.request
    if messages.isEmpty { throw .noMessages }
  }
}

/// Reads a request from front to back.
private struct JSONReading {
  var request = GatewayRequest()
  /// What made the reader stop, if it was not the JSON.
  var problem: GatewayProblem?
  private var total = 0

  mutating func document(_ reader: inout JSONReader) throws(JSONProblem) {
    try reader.object { reader, key throws(JSONProblem) in
      guard key.equalsInAnyCase("messages") else { return try reader.skip() }
      try reader.object { reader, key throws(JSONProblem) in
        if key.equalsInAnyCase("authentication") {
          try authentication(&reader)
        } else if key.equalsInAnyCase("msg") {
          try messages(&reader)
        } else {
          try reader.skip()
        }
      }
    }
  }

  private mutating func authentication(_ reader: inout JSONReader) throws(JSONProblem) {
    guard try reader.kind() == .object else { return try reader.skip() }
    try reader.object { reader, key throws(JSONProblem) in
      guard key.equalsInAnyCase("producttoken") else { return try reader.skip() }
      request.productToken = try Self.text(&reader)
    }
  }

  private mutating func messages(_ reader: inout JSONReader) throws(JSONProblem) {
    guard try reader.kind() == .array else { throw stop(.badCount("messages.msg must be an array of messages.")) }
    (request.messages, total) = ([], 0)
    try reader.array { reader, _ throws(JSONProblem) in
      let message = try message(&reader)
      do throws(GatewayProblem) { try request.add(message) } catch { throw stop(error) }
    }
  }

  private mutating func message(_ reader: inout JSONReader) throws(JSONProblem) -> GatewayRequest.Message {
    guard try reader.kind() == .object else { throw stop(.badCount("messages.msg must be an array of objects.")) }
    var message = GatewayRequest.Message()
    try reader.object { reader, key throws(JSONProblem) in
      switch true {
      case key.equalsInAnyCase("from"): message.sender = try Self.text(&reader)
      case key.equalsInAnyCase("to"): try recipients(&reader, &message)
      case key.equalsInAnyCase("body"): try Self.body(&reader, &message)
      case key.equalsInAnyCase("reference"): try Self.option(&reader, &message, \.reference, "reference")
      case key.equalsInAnyCase("appkey"): try Self.option(&reader, &message, \.appKey, "appKey")
      case key.equalsInAnyCase("appmessagetype"): try Self.option(&reader, &message, \.kind, "appMessageType")
      case key.equalsInAnyCase("allowedchannels"): try Self.channels(&reader, &message)
      case key.equalsInAnyCase("validity"): try Self.option(&reader, &message, \.validity, "validity")
      case key.equalsInAnyCase("dcs"): try Self.option(&reader, &message, \.coding, "dcs")
      case key.equalsInAnyCase("minimumnumberofmessageparts"):
        try Self.option(&reader, &message, \.minimumParts, "minimumNumberOfMessageParts")
      case key.equalsInAnyCase("maximumnumberofmessageparts"):
        try Self.option(&reader, &message, \.maximumParts, "maximumNumberOfMessageParts")
      default: try reader.skip()
      }
    }
    return message
  }

  private mutating func recipients(
    _ reader: inout JSONReader, _ message: inout GatewayRequest.Message
  ) throws(JSONProblem) {
    total -= message.recipients.count
    message.recipients = []
    guard try reader.kind() == .array else { return try recipient(&reader, &message) }
    try reader.array { reader, _ throws(JSONProblem) in try recipient(&reader, &message) }
  }

  /// Reads `{"number": "…"}`, or a number alone.
  private mutating func recipient(
    _ reader: inout JSONReader, _ message: inout GatewayRequest.Message
  ) throws(JSONProblem) {
    var number: String?
    if try reader.kind() == .object {
      try reader.object { reader, key throws(JSONProblem) in
        guard key.equalsInAnyCase("number") else { return try reader.skip() }
        number = try Self.text(&reader)
      }
    } else {
      number = try Self.text(&reader)
    }
    message.recipients.append(number ?? "")
    total += 1
    do throws(GatewayProblem) {
      try GatewayRequest.checkCount(of: message.recipients.count, total: total)
    } catch {
      throw stop(error)
    }
  }

  private static func body(_ reader: inout JSONReader, _ message: inout GatewayRequest.Message) throws(JSONProblem) {
    guard try reader.kind() == .object else { return try reader.skip() }
    try reader.object { reader, key throws(JSONProblem) in
      if key.equalsInAnyCase("content") {
        message.text = try text(&reader)
      } else if key.equalsInAnyCase("type") {
        try option(&reader, &message, \.textType, "body.type")
      } else {
        try reader.skip()
      }
    }
  }

  private static func channels(
    _ reader: inout JSONReader, _ message: inout GatewayRequest.Message
  ) throws(JSONProblem) {
    var channels: [String] = []
    if try reader.kind() == .array {
      try reader.array { reader, _ throws(JSONProblem) in
        let channel = try text(&reader)
        // More than there are; each is checked later, and one that is no text is none of them.
        if channels.count < 16 { channels.append(channel ?? "null") }
      }
    } else if let channel = try text(&reader) {
      channels = [channel]
    }
    message.channels = channels
  }

  /// Reads a field that may be absent.
  private static func option(
    _ reader: inout JSONReader, _ message: inout GatewayRequest.Message,
    _ field: WritableKeyPath<GatewayRequest.Message, String?>, _ name: String
  ) throws(JSONProblem) {
    let isNull = try reader.kind() == .null
    message[keyPath: field] = try text(&reader)
    if !isNull, message[keyPath: field] == nil { message.unreadableField = name }
  }

  /// A text, in which half a surrogate pair is U+FFFD, or a number as it is written. Nil for anything else, and for a text that nothing
  /// can store.
  private static func text(_ reader: inout JSONReader) throws(JSONProblem) -> String? {
    switch try reader.kind() {
    case .string:
      do throws(JSONProblem) {
        let text = try reader.string()
        return text.utf8.contains(0) ? nil : text
      } catch {
        if error.isOfBody { throw error }
        return nil
      }
    case .number: return try reader.number()
    default:
      try reader.skip()
      return nil
    }
  }

  private mutating func stop(_ problem: GatewayProblem) -> JSONProblem {
    self.problem = problem
    return .ofBody("")
  }
}
