import Testing
import Wire

@Suite struct FormPairsTests {
  @Test(arguments: [
    ("a=1&b=2", "a: 1, b: 2"), ("a&b=&=c&&d==", "a: , b: , : c, d: ="), ("", ""),
    ("a+b=c+d%2B%26%3D%25&%61=", "a b: c d+&=%, a: "), ("%C3%A9=\u{E9}&%f0%9F%98%80=\u{301}", "é: é, 😀: \u{301}"),
    // A mark behind a sign makes one character of both, and the sign is one all the same.
    ("a=1&\u{301}b=2", "a: 1, \u{301}b: 2"), ("a=\u{301}1", "a: \u{301}1"), ("a=b+\u{301}", "a: b \u{301}"),
  ])
  func `A form is read by its bytes`(_ form: String, _ pairs: String) throws {
    #expect(shown(try FormPairs.read(form.utf8)).hasSameBytes(as: pairs))
    #expect(shown(FormPairs.readLeniently(form.utf8)).hasSameBytes(as: pairs))
  }

  @Test(arguments: [
    ("a=%", "a: %"), ("a=%4", "a: %4"), ("%zz=%%41", "%zz: %A"), ("a=%+1%-0", "a: % 1%-0"), ("a=%E9", "a: \u{FFFD}"),
    ("a=%00", "a: \0"), ("a=\0", "a: \0"), ("a=%ED%A0%80", "a: \u{FFFD}\u{FFFD}\u{FFFD}"),
  ])
  func `What is no percent-encoded UTF-8 is refused, or read as far as it can be`(_ form: String, _ pairs: String) {
    #expect(throws: FormPairs.Problem.malformed) { try FormPairs.read(form.utf8) }
    #expect(shown(FormPairs.readLeniently(form.utf8)).hasSameBytes(as: pairs))
  }

  @Test func `Bytes that are UTF-8 only with an escape behind them are refused`() {
    #expect(throws: FormPairs.Problem.malformed) { try FormPairs.read([0x61, 0x3D, 0xC3] + "%A9".utf8) }
  }

  @Test func `Names of 128 bytes and 30 marks in a row are the most`() throws {
    func form(_ bytes: Int, _ marks: Int) -> [UInt8] {
      Array("\(String(repeating: "n", count: bytes))=\(String(repeating: "%CC%81", count: marks))&a=b".utf8)
    }
    #expect(try FormPairs.read(form(128, 30)).count == 2)
    for form in [form(129, 30), form(128, 31)] {
      #expect(throws: FormPairs.Problem.excessive) { try FormPairs.read(form) }
      #expect(shown(FormPairs.readLeniently(form)) == "a: b")
    }
  }

  private func shown(_ pairs: [(name: String, value: String)]) -> String {
    pairs.map { "\($0.name): \($0.value)" }.joined(separator: ", ")
  }
}
