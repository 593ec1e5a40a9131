import CLibpq

/// What libpq is told when it connects: the connection string's words, and ours where it is silent.
struct ConnectionSettings {
  /// Why a connection string cannot be used: ends a sentence that begins with its name, and quotes nothing of it.
  struct Unusable: Error { let problem: String }

  private(set) var values: [(keyword: String, value: String)]

  /// - Throws: when libpq cannot read the connection string, or would take a part of the password for something else.
  init(_ configuration: PoolConfiguration) throws(Unusable) {
    values = try Self.parse(configuration.connectionString)
    guard Self.hasPlainPassword(configuration.connectionString) else {
      throw Unusable(problem: "must have %40 for each @ and %2F for each / in its user and password")
    }
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

  private static func parse(_ text: String) throws(Unusable) -> [(keyword: String, value: String)] {
    var problem: UnsafeMutablePointer<CChar>?
    guard let options = PQconninfoParse(text, &problem) else {
      PQfreemem(problem)
      throw Unusable(problem: "must be postgres://user:password@host:port/database, or libpq's key=value form")
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

  /// Whether a URI's user and password end where its writer thinks: libpq ends them at the first `@` or `/`, takes the rest
  /// for host, port and database, and quotes those in its errors.
  private static func hasPlainPassword(_ text: String) -> Bool {
    guard let scheme = text.firstRange(of: "://"), ["postgres", "postgresql"].contains(text[..<scheme.lowerBound])
    else {
      return true
    }
    let rest = text[scheme.upperBound...]
    let authority = rest.prefix { $0 != "/" }
    let path = rest.dropFirst(authority.count).prefix { $0 != "?" }
    return authority.count { $0 == "@" } <= 1 && !path.contains("@")
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
