import Testing
import Wire

struct PhoneNumberTests {
  @Test(arguments: [
    "0031612345678", "+31612345678", "31612345678", "+31 6 12 34 56 78", "0031-6-12345678", "+31 (6) 1234.5678",
  ])
  func `Every international form is the same number`(text: String) throws {
    let number = try #require(PhoneNumber(text))
    #expect(number.digits == "31612345678")
    #expect(number.e164 == "+31612345678")
    #expect(number.international == "0031612345678")
  }

  @Test(arguments: [
    "", "+", "00", "0612345678", "000031612345678", "+0031612345678", "123456", "1234567890123456", "31612345678x",
    "3161234+5678",
    "٣١٦١٢٣٤٥٦٧٨", "3161234\u{0}5678", "tel:31612345678",
  ])
  func `National numbers and nonsense are refused`(text: String) {
    #expect(PhoneNumber(text) == nil)
  }
}
