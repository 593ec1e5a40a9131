import Crypto
import FoundationEssentials
import Wire

/// The keys under which everything secret in the database is sealed. The current one seals; older ones only open what
/// they sealed, until `Rekey` is done.
public struct MasterKeys: Sendable {
  /// First 8 hex digits of the SHA-256 of the current key.
  public let currentID: String
  let current: SymmetricKey
  private let keys: [String: SymmetricKey]

  /// Reads keys of 32 bytes, each in base64; whitespace around one is ignored, as files end in a line end.
  /// - Parameters:
  ///   - current: what new values are sealed under.
  ///   - older: what values sealed earlier may need to open.
  /// - Throws: `RegistryError.invalid`, naming the setting and never the value.
  public init(current: String, older: [String] = []) throws(RegistryError) {
    self.current = try Self.read(current, "PUSHCART_MASTER_KEY")
    currentID = Self.id(of: self.current)
    var keys = [currentID: self.current]
    for text in older {
      let key = try Self.read(text, "PUSHCART_OLD_MASTER_KEYS")
      keys[Self.id(of: key)] = key
    }
    self.keys = keys
  }

  /// Why the text is no key, ending the sentence that begins with its setting's name; nil if it is one.
  public static func problem(with text: String) -> String? {
    do {
      _ = try read(text, "")
      return nil
    } catch {
      if case .invalid(_, let problem) = error { return problem }
      return "cannot be read"
    }
  }

  /// A new key in base64, for a set-up that makes its own.
  public static func generate() -> String {
    SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) }.base64EncodedString()
  }

  func key(_ id: String) -> SymmetricKey? { keys[id] }

  private static func id(of key: SymmetricKey) -> String {
    Array(key.withUnsafeBytes { SHA256.hash(data: $0) }.prefix(4)).hexDigits
  }

  private static func read(_ text: String, _ setting: String) throws(RegistryError) -> SymmetricKey {
    let trimmed = String(text.trimmed)
    func refuse(_ problem: String) -> RegistryError { .invalid(field: setting, problem: problem) }
    guard !trimmed.isEmpty else { throw refuse("is empty; it takes 32 bytes in base64") }
    guard let bytes = Data(base64Encoded: trimmed) else { throw refuse("is not base64; it takes 32 bytes in base64") }
    guard bytes.count == 32 else { throw refuse("holds \(bytes.count) bytes; it takes 32 bytes in base64") }
    return SymmetricKey(data: bytes)
  }
}
