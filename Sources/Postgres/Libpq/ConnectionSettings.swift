import CLibpq

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// What libpq is told when it connects: the connection string's words, and ours where it and libpq's `PG…` variables are silent.
///
/// Two things are not the connection string's to say: the encoding is always UTF-8, and statements have the time limit
/// of `PoolConfiguration`, since this side reckons with it.
struct ConnectionSettings {
  /// Why a connection string cannot be used: ends a sentence that begins with its name, and quotes nothing of it.
  struct Unusable: Error { let problem: String }

  private(set) var values: [(keyword: String, value: String)]

  /// - Parameter ambientOptions: what `PGOPTIONS` says. libpq takes it in place of `options`, and ours would displace it.
  /// - Throws: when libpq cannot read the connection string, or would take a part of the password for something else.
  init(
    _ configuration: PoolConfiguration, ambientOptions: String? = getenv("PGOPTIONS").map { String(cString: $0) }
  ) throws(Unusable) {
    values = try Self.parse(configuration.connectionString)
    guard Self.hasPlainPassword(configuration.connectionString) else {
      throw Unusable(problem: "must have %40 for each @ and %2F for each / in its user and password")
    }
    let theirs = values.first { $0.keyword == "options" }?.value ?? ambientOptions
    let limit = "-c statement_timeout=\(configuration.statementTimeout.wholeMilliseconds)"
    // The last one wins.
    set("options", theirs.map { "\($0) \(limit)" } ?? limit)
    set("client_encoding", "UTF8")
    default_("fallback_application_name", configuration.applicationName)
    // A peer that vanished without a word: half a minute after something was sent to it that it does not acknowledge, and
    // about a minute after its last word when nothing was. Unix sockets ignore these.
    default_("tcp_user_timeout", "30000")
    default_("keepalives_idle", "30")
    default_("keepalives_interval", "10")
    default_("keepalives_count", "3")
  }

  private mutating func set(_ keyword: String, _ value: String) {
    values.removeAll { $0.keyword == keyword }
    values.append((keyword, value))
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
