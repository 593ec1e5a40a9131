#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The limit of files and sockets that this process can have open.
enum OpenFiles {
  /// No hub needs more, and some systems allow numbers for which the kernel's tables would be huge.
  private static let most: rlim_t = 1 << 18
  /// Reserved for the hub's own connections, to the database and to push services that the operator names, and for files.
  private static let own = 256

  #if canImport(Glibc)
    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
  #else
    private static let resource = RLIMIT_NOFILE
  #endif

  /// The current limit.
  static var limit: Int { Int(min(read().rlim_cur, most)) }

  /// The limit of connections to addresses that customers, apps and devices name, so that these leave enough for clients.
  static var forNamedAddresses: Int { min(1024, limit / 8) }

  /// The limit of client connections, which leaves the hub enough to reach its database.
  static var forClients: Int { max(limit - own - forNamedAddresses, limit / 2) }

  /// Raises the soft limit to the hard limit. The usual soft limit of 1024 is too low for phones that keep connections open.
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
