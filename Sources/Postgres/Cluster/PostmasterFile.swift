#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The contents of a running server's `postmaster.pid` (`miscadmin.h`: process in line 1, status in line 8).
struct PostmasterFile {
  let processID: pid_t
  let isReady: Bool

  /// `nil` when there is no such file, or none that can be read.
  init?(data: String) {
    guard let text = readText("\(data)/postmaster.pid") else { return nil }
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    guard let first = lines.first, let processID = pid_t(first) else { return nil }
    self.processID = processID
    isReady = lines.count > 7 && lines[7].hasPrefix("ready")
  }

  /// Whether that process is a server on that data; another program may have the number by now.
  func isAlive(data: String) -> Bool {
    guard kill(processID, 0) == 0 || errno == EPERM else { return false }
    #if canImport(Glibc)
      return Self.works(processID, in: data)
    #else
      return true
    #endif
  }

  #if canImport(Glibc)
    /// Whether any server process is left on that data: those of a killed server take a little time to notice.
    static func hasProcesses(data: String) -> Bool {
      guard let all = opendir("/proc") else { return true }
      defer { closedir(all) }
      while let entry = readdir(all) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) {
          $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        if let processID = pid_t(name), works(processID, in: data) { return true }
      }
      return false
    }

    /// Every server process works in its data directory; a zombie has none.
    private static func works(_ processID: pid_t, in data: String) -> Bool {
      var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
      let count = readlink("/proc/\(processID)/cwd", &buffer, buffer.count - 1)
      guard count > 0, let real = realpath(data, nil) else { return false }
      defer { free(real) }
      return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) == String(cString: real)
    }
  #endif
}

/// A small file's text, from an offset on.
func readText(_ path: String, from start: off_t = 0) -> String? {
  let file = open(path, O_RDONLY | O_CLOEXEC)
  guard file >= 0 else { return nil }
  defer { close(file) }
  lseek(file, start, SEEK_SET)
  var text: [UInt8] = []
  var buffer = [UInt8](repeating: 0, count: 4096)
  while true {
    let count = read(file, &buffer, buffer.count)
    guard count > 0 else { break }
    text += buffer[..<count]
  }
  return String(decoding: text, as: UTF8.self)
}
