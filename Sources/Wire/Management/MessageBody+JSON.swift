extension MessageBody {
  /// The JSON that `Codable` stands for, in a fraction of `JSONEncoder`'s time: each single message is stored as JSON.
  public var json: String {
    var writer = JSONWriter()
    writer.open("{")
    writer.member(ifPresent: "verbatim", verbatim)
    writer.member(ifPresent: "alert", alert)
    writer.member(ifPresent: "info", info)
    switch badge {
    case .number(let number)?: writer.member("badge", number)
    case .template(let text)?: writer.member("badge", text)
    case nil: break
    }
    writer.member(ifPresent: "sound", sound)
    writer.member(ifPresent: "category", category)
    writer.member(ifPresent: "image", image)
    writer.member(ifPresent: "url", url)
    if let ttl { writer.member("ttl", ttl) }
    writer.member(ifPresent: "priority", priority?.rawValue)
    writer.member(ifPresent: "collapseKey", collapseKey)
    writer.member(ifPresent: "threadId", threadId)
    writer.member(ifPresent: "silent", silent)
    writer.member(ifPresent: "pushType", pushType?.rawValue)
    writer.member(ifPresent: "fields", fields)
    if let optionalFields {
      writer.name("optionalFields")
      writer.open("[")
      for name in optionalFields { writer.value(name) }
      writer.close("]")
    }
    writer.member(ifPresent: "trackOpens", trackOpens)
    if let overrides {
      writer.name("overrides")
      writer.value(overrides.value)
    }
    writer.close("}")
    return String(decoding: writer.bytes, as: UTF8.self)
  }
}

extension JSONWriter {
  fileprivate mutating func member(ifPresent name: StaticString, _ text: String?) {
    if let text { member(name, text) }
  }

  fileprivate mutating func member(ifPresent name: StaticString, _ flag: Bool?) {
    guard let flag else { return }
    self.name(name)
    raw(flag ? "true" : "false")
  }

  fileprivate mutating func member(ifPresent name: StaticString, _ members: [UTF8String: JSONValue]?) {
    guard let members else { return }
    self.name(name)
    value(.object(members))
  }
}
