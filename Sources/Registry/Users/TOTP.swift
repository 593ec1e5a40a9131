import Crypto
import FoundationEssentials
import Wire

/// The secret of an authenticator app, and the codes that it shows: RFC 6238 with SHA-1, 6 digits and steps of 30 seconds, which every
/// such app knows.
package struct TOTP: Sendable {
  package let secret: Secret

  /// RFC 4226 wants 128 bits at least, and recommends 160.
  private static let sizes = 16...64
  private static let stepSeconds = 30.0
  private static let digits = 6

  /// Makes a secret of 160 random bits.
  package init() { secret = Secret(bytes: (0..<20).map { _ in UInt8.random(in: 0 ... .max) }) }

  /// Reads a secret as people see it.
  /// - Returns: `nil` for anything that is none.
  package init?(base32 text: String) {
    guard let bytes = Base32.decode(text) else { return nil }
    self.init(secret: Secret(bytes: bytes))
  }

  init?(secret: Secret) {
    guard Self.sizes.contains(secret.bytes.count) else { return nil }
    self.secret = secret
  }

  /// What people type into an app that cannot read the picture.
  package var base32: String { Base32.encode(secret.bytes) }

  /// What the picture says to an app.
  /// - Parameters:
  ///   - issuer: what the app calls the console.
  ///   - account: the user's e-mail address.
  package func uri(issuer: String, account: String) -> String {
    let (issuer, account) = (Self.percentEncoded(issuer), Self.percentEncoded(account))
    return "otpauth://totp/\(issuer):\(account)?secret=\(base32)&issuer=\(issuer)"
  }

  /// The step of a moment: steps are counted since 1970.
  static func step(at moment: Date) -> Int64 { Int64((moment.timeIntervalSince1970 / stepSeconds).rounded(.down)) }

  /// The code that the app shows in a step.
  func code(in step: Int64) -> String {
    let counter = withUnsafeBytes(of: step.bigEndian) { Array($0) }
    let mac = HMAC<Insecure.SHA1>.authenticationCode(for: counter, using: SymmetricKey(data: secret.bytes))
    let bytes = Array(mac)
    let offset = Int(bytes[bytes.count - 1] & 0x0F)
    let number = bytes[offset..<offset + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
    let text = String(number % 1_000_000)
    return String(repeating: "0", count: Self.digits - text.utf8.count) + text
  }

  /// The step whose code this is: the current one, or its neighbours, since clocks differ.
  /// - Parameter last: the step whose code was accepted last; neither it nor an earlier one is accepted.
  func step(of code: String, at moment: Date, after last: Int64) -> Int64? {
    let now = Self.step(at: moment)
    let code = Array(code.utf8)
    // Every step is compared, so that the time does not tell which one fits.
    let fitting = (now - 1...now + 1).filter { Array(self.code(in: $0).utf8).isEqual(inConstantTime: code) }
    return fitting.first { $0 > last }
  }

  private static func percentEncoded(_ text: String) -> String {
    text.utf8.reduce(into: "") { encoded, byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        encoded.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        let digits = String(byte, radix: 16, uppercase: true)
        encoded += digits.utf8.count == 1 ? "%0\(digits)" : "%\(digits)"
      }
    }
  }
}

/// A code on paper that stands for one code of the authenticator app: 80 random bits, as in `7QJ2-MZ4K-C3XR-W5TB`.
enum RecoveryCode {
  /// How many a user gets.
  static let count = 10
  private static let bytes = 10

  static func make() -> String {
    let text = Base32.encode((0..<bytes).map { _ in UInt8.random(in: 0 ... .max) })
    return stride(from: 0, to: text.utf8.count, by: 4)
      .map { String(text.dropFirst($0).prefix(4)) }.joined(separator: "-")
  }

  /// What is stored of a code. It is random, so a plain hash is enough.
  /// - Returns: `nil` for a text that is none.
  static func hash(_ text: String) -> [UInt8]? {
    guard let code = Base32.decode(text), code.count == bytes else { return nil }
    return Array(SHA256.hash(data: code))
  }
}

/// Base32 of RFC 4648, without padding.
enum Base32 {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)
  /// No secret or code is longer.
  private static let longest = 256

  static func encode(_ bytes: [UInt8]) -> String {
    var (text, bits, count): ([UInt8], UInt32, Int) = ([], 0, 0)
    for byte in bytes {
      (bits, count) = (bits << 8 | UInt32(byte), count + 8)
      while count >= 5 {
        count -= 5
        text.append(alphabet[Int(bits >> count & 31)])
      }
    }
    if count > 0 { text.append(alphabet[Int(bits << (5 - count) & 31)]) }
    return String(decoding: text, as: UTF8.self)
  }

  /// Letters may be small; blanks, hyphens and padding are passed over.
  /// - Returns: `nil` for other characters, and for one more than the bytes need.
  static func decode(_ text: String) -> [UInt8]? {
    guard text.utf8.count <= longest else { return nil }
    var (bytes, bits, count): ([UInt8], UInt32, Int) = ([], 0, 0)
    for character in text.utf8 where !" -=".utf8.contains(character) {
      let capital = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(character) ? character & ~0x20 : character
      guard let value = alphabet.firstIndex(of: capital) else { return nil }
      (bits, count) = (bits << 5 | UInt32(value), count + 5)
      if count >= 8 {
        count -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> count))
      }
    }
    return count < 5 ? bytes : nil
  }
}
