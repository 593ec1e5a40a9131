import Foundation
import Testing
import Wire

@testable import Registry

@Suite struct TOTPTests {
  private let totp: TOTP

  /// With the secret of RFC 6238, appendix B.
  init() throws { totp = try #require(TOTP(secret: Secret("12345678901234567890"))) }

  /// The last six digits of those in RFC 6238, appendix B.
  @Test(arguments: [
    (59.0, "287082"), (1_111_111_109, "081804"), (1_111_111_111, "050471"), (1_234_567_890, "005924"),
    (2_000_000_000, "279037"), (20_000_000_000, "353130"),
  ])
  func `Codes are those of RFC 6238`(seconds: Double, code: String) {
    let moment = Date(timeIntervalSince1970: seconds)
    #expect(totp.code(in: TOTP.step(at: moment)) == code)
    #expect(totp.step(of: code, at: moment, after: 0) == TOTP.step(at: moment))
  }

  @Test
  func `A code is good from 30 seconds before its step until 30 seconds after it, and not again after it was taken`() {
    let step = TOTP.step(at: Date(timeIntervalSince1970: 1_800_000_000))
    let code = totp.code(in: step)
    func accepted(_ second: Int64, after last: Int64 = 0) -> Int64? {
      totp.step(of: code, at: Date(timeIntervalSince1970: Double(step * 30 + second)), after: last)
    }
    for (second, isGood) in [(-31, false), (-30, true), (0, true), (59, true), (60, false)] as [(Int64, Bool)] {
      #expect((accepted(second) == step) == isGood, "\(second)")
    }
    #expect(accepted(0, after: step - 1) == step)
    #expect(accepted(0, after: step) == nil && accepted(0, after: step + 1) == nil)
  }

  @Test(arguments: ["", "28708", "2870822", "28708x", "٢٨٧٠٨٢", "287082\u{0301}"])
  func `What is no code is refused`(code: String) {
    #expect(totp.step(of: code, at: Date(timeIntervalSince1970: 59), after: 0) == nil)
  }

  /// RFC 4648, section 10.
  @Test(arguments: [
    ("", ""), ("f", "MY"), ("fo", "MZXQ"), ("foo", "MZXW6"), ("foob", "MZXW6YQ"), ("foobar", "MZXW6YTBOI"),
  ])
  func `Base32 is that of RFC 4648`(text: String, encoded: String) {
    #expect(Base32.encode(Array(text.utf8)) == encoded)
    #expect(Base32.decode(encoded) == Array(text.utf8))
    #expect(Base32.decode(" \(encoded.lowercased())==") == Array(text.utf8))
  }

  @Test func `A secret is read as it is shown, and nothing else is taken for one`() throws {
    let made = TOTP()
    #expect(made.secret.bytes.count == 20 && made.secret != TOTP().secret)
    #expect(TOTP(base32: made.base32)?.secret == made.secret)
    for text in ["", "MZXW6", "1111111111111111111111111111", String(repeating: "A", count: 300)] {
      #expect(TOTP(base32: text) == nil, "\(text)")
    }
  }

  @Test func `The address for authenticator apps names issuer and account, in any characters`() {
    #expect(
      totp.uri(issuer: "Pushcart ACME", account: "mia+x@exämple.com")
        == "otpauth://totp/Pushcart%20ACME:mia%2Bx%40ex%C3%A4mple.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Pushcart%20ACME"
    )
  }

  @Test func `Recovery codes differ, and are read in any case and grouping`() throws {
    let codes = (0..<100).map { _ in RecoveryCode.make() }
    #expect(Set(codes).count == 100)
    let code = try #require(codes.first)
    #expect(code.wholeMatch(of: /([A-Z2-7]{4}-){3}[A-Z2-7]{4}/) != nil)
    let hash = try #require(RecoveryCode.hash(code))
    #expect(hash.count == 32)
    #expect(RecoveryCode.hash(code.lowercased().replacing("-", with: " ")) == hash)
    #expect(RecoveryCode.hash("287082") == nil && RecoveryCode.hash("") == nil && RecoveryCode.hash(code + "A") == nil)
  }
}
