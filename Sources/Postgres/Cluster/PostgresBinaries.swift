#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The directory of PostgreSQL's server programs.
struct PostgresBinaries {
  let directory: String

  var initdb: String { "\(directory)/initdb" }
  var postgres: String { "\(directory)/postgres" }

  /// Looks where `pg_config` on the path points, then in the usual places, newest version first.
  static func find() throws(ClusterError) -> PostgresBinaries {
    var places: [String] = []
    if let stated = try? ChildProcess.output(of: "/usr/bin/env", ["pg_config", "--bindir"]) {
      places.append(String(stated.prefix { $0 != "\n" }))
    }
    places += versions(in: "/usr/lib/postgresql", "/bin")
    places += versions(in: "/usr", "/bin", startingWith: "pgsql-")
    places += ["/usr/local/pgsql/bin", "/usr/local/bin", "/opt/homebrew/bin", "/usr/bin"]
    places += versions(in: "/opt/homebrew/opt", "/bin", startingWith: "postgresql@")
    places += versions(in: "/usr/local/opt", "/bin", startingWith: "postgresql@")
    places += versions(in: "/Applications/Postgres.app/Contents/Versions", "/bin")
    for place in places where isProgram("\(place)/initdb") && isProgram("\(place)/postgres") {
      return PostgresBinaries(directory: place)
    }
    throw .notInstalled
  }

  private static func versions(in parent: String, _ tail: String, startingWith prefix: String = "") -> [String] {
    guard let directory = opendir(parent) else { return [] }
    defer { closedir(directory) }
    var found: [(version: Int, path: String)] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      guard name.hasPrefix(prefix), let version = Int(name.dropFirst(prefix.count)) else { continue }
      found.append((version, "\(parent)/\(name)\(tail)"))
    }
    return found.sorted { $0.version > $1.version }.map(\.path)
  }

  private static func isProgram(_ path: String) -> Bool { access(path, X_OK) == 0 }
}
