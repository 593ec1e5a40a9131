#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Standard output and standard error.
enum StandardStream: Int32, Sendable {
  case output = 1
  case error = 2

  /// Whether somebody looks at it, rather than a file or another program.
  var isTerminal: Bool { isatty(rawValue) == 1 }

  /// Characters a line of the terminal has; 80 when it does not say.
  var width: Int {
    var size = winsize()
    return ioctl(rawValue, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 ? Int(size.ws_col) : 80
  }

  func line(_ text: String) { write(text + "\n") }

  #if canImport(Glibc)
    private static let system = Glibc.write
  #else
    private static let system = Darwin.write
  #endif

  /// Writes all of the text at once. A reader that has gone away is no error of ours.
  func write(_ text: String) {
    var text = text
    text.withUTF8 { bytes in
      var rest = UnsafeRawBufferPointer(bytes)
      while let start = rest.baseAddress, rest.count > 0 {
        let written = Self.system(rawValue, start, rest.count)
        if written < 0 && errno != EINTR { return }
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(max(0, written)))
      }
    }
  }
}
