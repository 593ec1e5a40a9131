#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Standard output and standard error.
enum StandardStream: Int32, Sendable {
  case output = 1
  case error = 2

  /// Whether the stream is shown to a person, not written to a file or another program.
  var isTerminal: Bool { isatty(rawValue) == 1 }

  /// Columns of the terminal; 80 when it does not say.
  var width: Int {
    var size = winsize()
    return ioctl(rawValue, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 ? Int(size.ws_col) : 80
  }

  /// Writes text and a line end. Control characters are escaped, line ends within the text excepted.
  func line(_ text: String) { write(text + "\n") }

  /// Writes text for people. Control characters are escaped, line ends excepted: text of tenants must not steer a terminal.
  func write(_ text: String) { writeUnescaped(text.escapingControls(keeping: ["\n"])) }

  #if canImport(Glibc)
    private static let system = Glibc.write
  #else
    private static let system = Darwin.write
  #endif

  /// Writes the text exactly. A reader that has gone away is not an error.
  func writeUnescaped(_ text: String) {
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

extension String {
  /// The text with every character that could steer a terminal written as JSON escapes it, such as `\u001b`.
  ///
  /// These are the controls of C0 and C1, DEL, the line separators U+2028 and U+2029, and what changes the direction of text.
  /// JSON text keeps its meaning, since JSON holds such characters only within strings.
  func escapingControls(keeping kept: Set<Unicode.Scalar> = []) -> String {
    guard unicodeScalars.contains(where: { $0.steersTerminal && !kept.contains($0) }) else { return self }
    var text = String.UnicodeScalarView()
    for scalar in unicodeScalars {
      guard scalar.steersTerminal, !kept.contains(scalar) else {
        text.append(scalar)
        continue
      }
      let digits = String(scalar.value, radix: 16)
      text.append(contentsOf: "\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)".unicodeScalars)
    }
    return String(text)
  }

  /// The text for the middle of a line: line ends are escaped too.
  var onOneLine: String { escapingControls() }
}

extension Unicode.Scalar {
  /// Whether a terminal could take the character for a command, or show the text around it in another order.
  var steersTerminal: Bool {
    switch value {
    case 0x00...0x1F, 0x7F...0x9F: true
    case 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
    default: false
    }
  }
}
