#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// How many files and sockets this process may have open at once.
enum OpenFiles {
  /// No hub needs more, and some systems allow numbers that no table could hold.
  private static let most: rlim_t = 1 << 18
  /// What all but the clients need: connections to the database and to the push services, and files.
  private static let own = 256

  #if canImport(Glibc)
    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
  #else
    private static let resource = RLIMIT_NOFILE
  #endif

  /// The limit of now.
  static var limit: Int { Int(min(read().rlim_cur, most)) }

  /// How many may be connections of clients, so that these never take what the hub needs to reach its database.
  static var forClients: Int { max(limit - own, limit / 2) }

  /// Raises the limit as far as the system lets anybody without asking: the usual 1024 are soon taken by phones that keep
  /// their connection for the next request.
  static func raiseLimit() {
    var limit = read()
    limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, most))
    setrlimit(resource, &limit)
  }

  private static func read() -> rlimit {
    var limit = rlimit(rlim_cur: 1024, rlim_max: 1024)
    getrlimit(resource, &limit)
    return limit
  }
}
