import FoundationEssentials

/// A file that a command is given.
struct InputFile {
  let bytes: [UInt8]
  private let path: String

  /// - Throws: `CommandFailure` that names the file.
  init(_ path: String) throws {
    guard let data = try? Data(contentsOf: URL(filePath: path)) else {
      throw CommandFailure("The file \(path) cannot be read.")
    }
    bytes = Array(data)
    self.path = path
  }

  /// - Throws: `CommandFailure` if it is not UTF-8.
  var text: String {
    get throws {
      guard let text = String(validating: bytes, as: UTF8.self) else {
        throw CommandFailure("The file \(path) is not UTF-8 text.")
      }
      return text
    }
  }
}
