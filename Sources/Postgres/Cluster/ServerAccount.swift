#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The user that the server runs as: PostgreSQL refuses to run as root, so root starts it as the user `postgres`.
struct ServerAccount {
  let userID: uid_t
  let groupID: gid_t
  /// Whether it is another user than ours.
  let isOther: Bool

  private static let setpriv = "/usr/bin/setpriv"

  static func find() throws(ClusterError) -> ServerAccount {
    guard geteuid() == 0 else { return ServerAccount(userID: geteuid(), groupID: getegid(), isOther: false) }
    guard let entry = getpwnam("postgres") else { throw .noAccount }
    guard access(setpriv, X_OK) == 0 else { throw .noSetpriv }
    return ServerAccount(userID: entry.pointee.pw_uid, groupID: entry.pointee.pw_gid, isOther: true)
  }

  /// The command that runs a program as this user, in the same process. On Linux, `setpriv` also has the kernel send SIGINT,
  /// PostgreSQL's fast shutdown, when the thread that starts the program ends, even by SIGKILL.
  func command(_ program: String, _ arguments: [String]) -> (path: String, arguments: [String]) {
    guard access(Self.setpriv, X_OK) == 0 else { return (program, arguments) }
    let identity = isOther ? ["--reuid=\(userID)", "--regid=\(groupID)", "--init-groups"] : []
    return (Self.setpriv, identity + ["--pdeathsig", "INT", "--", program] + arguments)
  }

  /// Makes a directory that only this user may enter, unless it exists and belongs to that user already.
  func makeDirectory(_ path: String) throws(ClusterError) {
    if mkdir(path, 0o700) == 0 {
      guard chown(path, userID, groupID) == 0 else { throw .system("cannot give \(path) to the user postgres") }
      return
    }
    var status = stat()
    guard errno == EEXIST, lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == userID else {
      throw .system("cannot make the directory \(path)")
    }
  }

  /// Whether this user can reach what is in the directory, through all its parents.
  func canReach(_ directory: String) -> Bool {
    var path = ""
    for name in directory.split(separator: "/") {
      path += "/\(name)"
      var status = stat()
      guard stat(path, &status) == 0 else { return false }
      let mode = status.st_mode
      let canEnter: Bool
      if status.st_uid == userID {
        canEnter = mode & S_IXUSR != 0
      } else if status.st_gid == groupID {
        canEnter = mode & S_IXGRP != 0
      } else {
        canEnter = mode & S_IXOTH != 0
      }
      guard canEnter else { return false }
    }
    return true
  }
}
