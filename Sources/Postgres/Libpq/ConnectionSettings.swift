import CLibpq

/// What libpq is told when it connects: the connection string's words, and ours where it is silent.
struct ConnectionSettings {
  private(set) var values: [(keyword: String, value: String)]

  /// - Throws: when libpq cannot read the connection string; its message does not quote the string.
  init(_ configuration: PoolConfiguration) throws(Connector.Failure) {
    values = try Self.parse(configuration.connectionString)
    let milliseconds = configuration.statementTimeout.wholeMilliseconds
    let ours = "-c statement_timeout=\(milliseconds)"
    if let at = values.firstIndex(where: { $0.keyword == "options" }) {
      // Theirs come last and so win.
      values[at].value = "\(ours) \(values[at].value)"
    } else {
      values.append(("options", ours))
    }
    default_("application_name", configuration.applicationName)
    default_("client_encoding", "UTF8")
    // A peer that vanished without a word is noticed within a minute; unix sockets ignore these.
    default_("keepalives_idle", "30")
    default_("keepalives_interval", "10")
    default_("keepalives_count", "3")
  }

  private mutating func default_(_ keyword: String, _ value: String) {
    if !values.contains(where: { $0.keyword == keyword }) { values.append((keyword, value)) }
  }

  private static func parse(_ text: String) throws(Connector.Failure) -> [(keyword: String, value: String)] {
    var problem: UnsafeMutablePointer<CChar>?
    guard let options = PQconninfoParse(text, &problem) else {
      PQfreemem(problem)
      throw Connector.Failure(reason: "the connection string cannot be read")
    }
    defer { PQconninfoFree(options) }
    var values: [(String, String)] = []
    var option = options
    while let keyword = option.pointee.keyword {
      if let value = option.pointee.val { values.append((String(cString: keyword), String(cString: value))) }
      option += 1
    }
    return values
  }

  /// Runs `body` with the two null-terminated arrays that libpq takes.
  func withPointers<Answer>(
    _ body: (UnsafePointer<UnsafePointer<CChar>?>, UnsafePointer<UnsafePointer<CChar>?>) -> Answer
  ) -> Answer {
    let copies = values.map { (Array($0.keyword.utf8CString), Array($0.value.utf8CString)) }
    let keywords = copies.map(\.0)
    let texts = copies.map(\.1)
    return Self.withPointers(keywords) { keywords in Self.withPointers(texts) { body(keywords, $0) } }
  }

  private static func withPointers<Answer>(
    _ texts: [[CChar]], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Answer
  ) -> Answer {
    let lengths = texts.map(\.count)
    let all = Array(texts.joined())
    return all.withUnsafeBufferPointer { all in
      var pointers: [UnsafePointer<CChar>?] = []
      var start = 0
      for length in lengths {
        pointers.append(all.baseAddress.map { $0 + start })
        start += length
      }
      pointers.append(nil)
      return body(pointers)
    }
  }
}
