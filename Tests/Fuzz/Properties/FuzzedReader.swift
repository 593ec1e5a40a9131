/// A reader of bytes that others send, and what holds whatever they are.
///
/// `make fuzz` feeds each for minutes, and `FuzzTests` for a moment with the same bytes at every run.
public enum FuzzedReader: String, CaseIterable, Sendable {
  case json, xml, form, multipart, sms

  /// Reads the bytes, and looks at what became of them.
  /// - Returns: that in a word, such as `refused`.
  /// - Throws: `BrokenProperty`.
  @discardableResult
  public func check(_ bytes: [UInt8]) throws(BrokenProperty) -> String {
    switch self {
    case .json: try JSONProperties.check(bytes)
    case .xml: try XMLProperties.check(bytes)
    case .form: try FormProperties.check(bytes)
    case .multipart: try MultipartProperties.check(bytes)
    case .sms: try SMSProperties.check(bytes)
    }
  }

  /// Bytes that are well meant, of which others are made. Several are as large as the reader allows, and others larger by one.
  public var samples: [[UInt8]] {
    switch self {
    case .json: JSONProperties.samples
    case .xml: XMLProperties.samples
    case .form: FormProperties.samples
    case .multipart: MultipartProperties.samples
    case .sms: SMSProperties.samples
    }
  }
}

/// What does not hold of some bytes.
public struct BrokenProperty: Error, CustomStringConvertible {
  /// A sentence without a full stop.
  public let description: String
}

func require(_ holds: Bool, _ otherwise: @autoclosure () -> String) throws(BrokenProperty) {
  if !holds { throw BrokenProperty(description: otherwise()) }
}

extension String {
  /// Combining marks in the longest row of them, counted one by one; see `CombiningMarks`.
  var longestRowOfMarks: Int {
    var (row, longest) = (0, 0)
    for scalar in unicodeScalars {
      let isVowelSign = scalar == "\u{F73}" || scalar == "\u{F75}" || scalar == "\u{F81}"
      row = isVowelSign || scalar.properties.canonicalCombiningClass != .notReordered ? row + 1 : 0
      longest = max(longest, row)
    }
    return longest
  }
}
