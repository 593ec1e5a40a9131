import Support
import Testing
import Wire

struct PhoneNumberTests {
  @Test(arguments: PhoneNumberForms.dutch)
  func `Every form of a number is the same number`(text: String) throws {
    let number = try #require(PhoneNumber(text))
    #expect(number.digits == "31612345678")
    #expect(number.e164 == "+31612345678")
    #expect(number.international == "0031612345678")
  }

  @Test(arguments: [
    "+44 (0)7911 123456", "+44(0)7911123456", "0044 (0) 7911 123456", "0044(0)7911-123456", "44 (0)7911 123456",
    "(+44) (0)7911 123456", "+44 ( 0 ) 7911 123456", "+44\u{A0}(\u{200E}0)\u{A0}7911\u{2011}123456",
    "+٤٤ (٠)٧٩١١ ١٢٣٤٥٦",
    "+44（0）7911 123456",
  ])
  func `A zero in brackets behind a country code is left out`(text: String) {
    #expect(PhoneNumber(text)?.digits == "447911123456")
  }

  @Test(arguments: [
    ("+1 (0)202 555 0123", "12025550123"), ("+7 (0)912 345 67 89", "79123456789"),
    ("+49 (0)151 23456789", "4915123456789"),
    ("00353 (0)87 123 4567", "353871234567"), ("+971 (0)50 123 4567", "971501234567"),
    ("+43 (0)664 1234567", "436641234567"),
    // These numbers have a zero of their own.
    ("+39 (0)6 1234 5678", "390612345678"), ("0039 (0)612345678", "390612345678"), ("39 (0)6 12345678", "390612345678"),
    ("+378 (0)549 886377", "3780549886377"), ("+225 (0)7 12 34 56 78", "2250712345678"),
    // A bracket elsewhere is no country's zero.
    ("+44 79 (0) 11123456", "4479011123456"), ("+44 7911 (123) 456", "447911123456"),
    ("+1 (202) 555 0100", "12025550100"),
  ])
  func `A country's own zero stays, and so does one elsewhere`(text: String, digits: String) {
    #expect(PhoneNumber(text)?.digits == digits)
  }

  @Test(arguments: [
    "", "+", "00", "0612345678", "(0)612345678", "000031612345678", "+0031612345678", "+(0)31612345678", "123456",
    "1234567890123456", "31612345678x", "3161234+5678", "++31612345678", "3161234\u{0}5678", "tel:31612345678",
    "3161234５6７8½", "²31612345678", "31612345678.0", "3.1612345678e10", String(repeating: "3", count: 100_000),
  ])
  func `National numbers and nonsense are refused`(text: String) { #expect(PhoneNumber(text) == nil) }

  @Test(arguments: [
    ("12345", "12345"), (" 12 345 ", "12345"), ("1-2-3-4-5", "12345"), ("1\u{2011}23\u{A0}45", "12345"),
    ("\u{202D}12345\u{202C}", "12345"), ("\u{FEFF}12345", "12345"), ("١٢٣٤٥", "12345"), ("۱۲۳۴۵", "12345"),
    ("１２３４５", "12345"),
    ("१२३४५", "12345"), ("00123", "00123"), ("123", "123"), ("wrong", "wrong"), ("", nil), (" \u{200E}", nil),
  ])
  func `A PIN is its digits, however they were typed`(typed: String, text: String?) {
    #expect(TypedPIN(typed)?.text == text)
    #expect(TypedPIN(typed)?.padded(to: 5) == text)
  }

  @Test(arguments: [
    ("123", 5, "00123"), ("0", 4, "0000"), ("12345", 5, "12345"), ("123456", 5, "123456"), ("7", 8, "00000007"),
  ])
  func `A PIN that came as a number gets its zeros back`(typed: String, digits: Int, pin: String) {
    #expect(TypedPIN(typed, isNumber: true)?.padded(to: digits) == pin)
  }

  @Test func `A PIN that is too long is cut before it is looked at`() {
    #expect(TypedPIN(String(repeating: "1\u{301}", count: 100_000))?.text.unicodeScalars.count == 64)
  }
}
