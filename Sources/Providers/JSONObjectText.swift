import Wire

/// A JSON object as it is written, member by member, from values that are JSON already.
struct JSONObjectText {
  private(set) var bytes: [UInt8]

  /// Begins the object.
  init(capacity: Int) {
    bytes = []
    bytes.reserveCapacity(capacity)
    bytes.append(UInt8(ascii: "{"))
  }

  /// Appends a member, unless it has no value.
  mutating func append(_ name: StaticString, _ value: [UInt8]?) {
    guard let value else { return }
    appendName(name)
    bytes.append(contentsOf: value)
  }

  /// - Parameter name: as a JSON string.
  mutating func append(name: [UInt8], _ value: [UInt8]) {
    separate()
    bytes.append(contentsOf: name)
    bytes.append(UInt8(ascii: ":"))
    bytes.append(contentsOf: value)
  }

  mutating func beginObject(_ name: StaticString) {
    appendName(name)
    bytes.append(UInt8(ascii: "{"))
  }

  /// Ends the innermost object that has begun.
  mutating func endObject() { bytes.append(UInt8(ascii: "}")) }

  private mutating func appendName(_ name: StaticString) {
    separate()
    bytes.append(UInt8(ascii: "\""))
    name.withUTF8Buffer { bytes.append(contentsOf: $0) }
    bytes.append(contentsOf: "\":".utf8)
  }

  private mutating func separate() {
    if bytes.last != UInt8(ascii: "{") { bytes.append(UInt8(ascii: ",")) }
  }
}

extension RenderedMessage {
  /// All fields of Carma's guide, and the message's own, as one JSON object.
  var fieldsAsJSON: [UInt8] {
    var json = JSONObjectText(capacity: 1024)
    eachFieldOfGuide { json.append($0, $1) }
    for field in fields { json.append(name: field.name, field.value) }
    json.endObject()
    return json.bytes
  }

  /// Hands out the same as texts: names and values as JSON strings. Of what is no string, the value is the JSON text.
  /// - Parameter isTaken: whether a field of the message's own is among them.
  func eachText(where isTaken: (Field) -> Bool = { _ in true }, _ take: (_ name: [UInt8], _ value: [UInt8]) -> Void) {
    func text(_ json: [UInt8]) -> [UInt8] {
      json.first == UInt8(ascii: "\"") ? json : JSONText.quoted(String(decoding: json, as: UTF8.self))
    }
    eachFieldOfGuide { take(JSONText.quoted($0.description), text($1)) }
    for field in fields where isTaken(field) { take(field.name, text(field.value)) }
  }

  /// Hands out the fields of Carma's guide that the message has, with their values as JSON.
  private func eachFieldOfGuide(_ take: (_ name: StaticString, _ value: [UInt8]) -> Void) {
    func append(_ name: StaticString, _ value: [UInt8]?) {
      if let value { take(name, value) }
    }
    append("source", Array("\"carma\"".utf8))
    append("alert", alert)
    append("info", info)
    append("url", url)
    append("pushreadurl", pushreadurl)
    append("badge", badge)
    append("sound", sound)
    append("category", category)
    append("image", image)
  }
}
