/// Reads `application/x-www-form-urlencoded`, as forms and queries have it, by its bytes.
public enum FormPairs {
  /// Why a form is refused that is read strictly.
  public enum Problem: Error, Sendable, Hashable {
    /// It is not UTF-8, holds U+0000, or has a percent sign that begins no escape.
    case malformed
    /// It has a name of more than `UTF8String.longestName` bytes, or a value with too many combining marks.
    case excessive

    /// Ends the sentence that begins with the form.
    public var problem: String {
      switch self {
      case .malformed: "is not percent-encoded UTF-8"
      case .excessive:
        "has a name of more than \(UTF8String.longestName) bytes, or a value that \(CombiningMarks.problem)"
      }
    }
  }

  /// Names and values in their order; the value is empty where there is no equals sign.
  public static func read(_ bytes: some Collection<UInt8>) throws(Problem) -> [(name: String, value: String)] {
    guard String(validating: bytes, as: UTF8.self) != nil else { throw .malformed }
    var pairs: [(name: String, value: String)] = []
    for (name, value) in split(bytes) {
      guard let name = PercentEncoding.decode(name, plusIsBlank: true),
        let value = PercentEncoding.decode(value, plusIsBlank: true)
      else { throw .malformed }
      guard isModest(name, value) else { throw .excessive }
      pairs.append((name, value))
    }
    return pairs
  }

  /// Reads a form as far as it can be read. What is no escape, or not UTF-8, is no fault, and excessive pairs are passed over.
  public static func readLeniently(_ bytes: some Collection<UInt8>) -> [(name: String, value: String)] {
    split(bytes).compactMap { name, value in
      let name = PercentEncoding.decodeLeniently(name, plusIsBlank: true)
      let value = PercentEncoding.decodeLeniently(value, plusIsBlank: true)
      return isModest(name, value) ? (name, value) : nil
    }
  }

  private static func split<Form: Collection<UInt8>>(
    _ form: Form
  ) -> [(name: Form.SubSequence, value: Form.SubSequence)] {
    form.split(separator: UInt8(ascii: "&")).map { pair in
      let name = pair.prefix { $0 != UInt8(ascii: "=") }
      return (name, pair[name.endIndex...].dropFirst())
    }
  }

  private static func isModest(_ name: String, _ value: String) -> Bool {
    name.utf8.count <= UTF8String.longestName && CombiningMarks.areFew(in: value)
  }
}
