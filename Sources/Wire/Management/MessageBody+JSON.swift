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
      overrides.write(to: &writer)
    }
    writer.close("}")
    return String(decoding: writer.bytes, as: UTF8.self)
  }
}

extension MessageOverrides {
  fileprivate func write(to writer: inout JSONWriter) {
    writer.open("{")
    if let apns {
      writer.name("apns")
      writer.open("{")
      writer.member(ifPresent: "headers", apns.headers)
      writer.member(ifPresent: "payload", apns.payload)
      writer.close("}")
    }
    writer.member(ifPresent: "fcm", fcm)
    writer.member(ifPresent: "hms", hms)
    if let wns {
      writer.name("wns")
      writer.open("{")
      writer.member(ifPresent: "headers", wns.headers)
      writer.member(ifPresent: "type", wns.type)
      writer.close("}")
    }
    if let webpush {
      writer.name("webpush")
      writer.open("{")
      writer.member(ifPresent: "headers", webpush.headers)
      writer.close("}")
    }
    if let sms {
      writer.name("sms")
      writer.open("{")
      writer.member(ifPresent: "from", sms.from)
      writer.member(ifPresent: "text", sms.text)
      writer.member(ifPresent: "coding", sms.coding?.rawValue)
      if let maximumParts = sms.maximumParts { writer.member("maximumParts", maximumParts) }
      writer.close("}")
    }
    writer.close("}")
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
