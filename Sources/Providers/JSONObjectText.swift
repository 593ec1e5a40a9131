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
    json.append("source", Array("\"carma\"".utf8))
    json.append("alert", alert)
    json.append("info", info)
    json.append("url", url)
    json.append("pushreadurl", pushreadurl)
    json.append("badge", badge)
    json.append("sound", sound)
    json.append("category", category)
    json.append("image", image)
    for field in fields { json.append(name: field.name, field.value) }
    json.endObject()
    return json.bytes
  }
}
