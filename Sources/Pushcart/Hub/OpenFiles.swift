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

  /// Raises the limit as far as the system lets anybody without asking: the usual 1024 are soon taken by phones that keep
  /// their connection for the next request.
  /// - Returns: how many may be connections of clients, so that these never take what the hub needs to reach its database.
  static func raiseLimit() -> Int {
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0 else { return 1024 - own }
    let all = min(limit.rlim_max, most)
    if limit.rlim_cur < all {
      limit.rlim_cur = all
      if setrlimit(resource, &limit) != 0 { getrlimit(resource, &limit) }
    }
    let files = Int(min(limit.rlim_cur, most))
    return max(files - own, files / 2)
  }
}
