import FuzzProperties
import Testing
import Wire

@Suite struct SMSTextTests {
  @Test func `Every character of the default alphabet takes one septet, and of the extension table two`() throws {
    #expect(SMSProperties.alphabet.unicodeScalars.count == 127)
    for scalar in SMSProperties.alphabet.unicodeScalars {
      let text = try SMSText(String(repeating: String(scalar), count: 160))
      #expect(!text.isUnicode && text.parts == 1, "\(scalar)")
      #expect(try SMSText(String(repeating: String(scalar), count: 161)).parts == 2, "\(scalar)")
    }
    for scalar in SMSProperties.extensions.unicodeScalars {
      let text = try SMSText(String(repeating: String(scalar), count: 80))
      #expect(!text.isUnicode && text.parts == 1, "\(scalar)")
      #expect(try SMSText(String(repeating: String(scalar), count: 81)).parts == 2, "\(scalar)")
    }
  }

  @Test(arguments: ["`", "ç", "ê", "😀", "ş", "\t", "你", "\u{1B}", "\0"])
  func `Any other character takes UCS-2`(_ character: String) throws {
    #expect(try SMSText("Hi" + character).isUnicode)
    #expect(try SMSText("Hi" + character, coding: .gsm7).text == "Hi?")
  }

  @Test(arguments: [
    ("a", 0, 1), ("a", 160, 1), ("a", 161, 2), ("a", 306, 2), ("a", 307, 3), ("a", 1224, 8), ("ж", 70, 1), ("ж", 71, 2),
    ("ж", 132, 2), ("ж", 133, 3), ("ж", 528, 8), ("😀", 35, 1), ("😀", 36, 2), ("😀", 66, 2), ("😀", 67, 3),
    // No part ends between the two septets of a character: 76 of them fit.
    ("€", 152, 2), ("€", 153, 3),
  ])
  func `Parts are counted as CM counts them`(_ character: String, _ count: Int, _ parts: Int) throws {
    let text = String(repeating: character, count: count)
    let read = try SMSText(text)
    #expect(read.parts == parts && read.text == text)
    #expect(try SMSText(text, maximumParts: 8).isCut == false)
  }

  @Test(arguments: [
    ("a", 1, 160), ("a", 2, 306), ("a", 8, 1224), ("ж", 1, 70), ("ж", 2, 132), ("€", 1, 80), ("€", 2, 152),
    // A family is 11 code units.
    ("👩‍👩‍👧‍👦", 1, 6), ("👩‍👩‍👧‍👦", 2, 12), ("x\u{301}", 1, 35),
  ])
  func `A text that is too long is cut between characters`(_ character: String, _ parts: Int, _ kept: Int) throws {
    let text = try SMSText(String(repeating: character, count: 2000), maximumParts: parts)
    #expect(text.isCut && text.parts == parts && text.text == String(repeating: character, count: kept))
  }

  @Test func `A coding can be forced`() throws {
    #expect(try SMSText("Hi", coding: .ucs2).isUnicode)
    let forced = try SMSText("Zażółć 👩‍👩‍👧‍👦!", coding: .gsm7)
    #expect(!forced.isUnicode && forced.text == "Za?ó?? ?!".replacing("ó", with: "?"))
    #expect(try SMSText("a\r\nb", coding: .gsm7).text == "a\r\nb")
  }

  @Test(arguments: [
    ("Jose\u{301}", "José"), ("Mu\u{308}ller", "Müller"), ("\u{212B}ngstro\u{308}m \u{2126}", "Ångström Ω"),
    ("Jose\u{327}\u{301}", "Jos?"), ("n\u{303}\u{37E}", "ñ;"), ("e\u{300}a\u{300}", "èà"),
  ])
  func `Accents that came as combining marks are letters of GSM-7`(_ text: String, _ sent: String) throws {
    let forced = try SMSText(text, coding: .gsm7)
    #expect(Array(forced.text.unicodeScalars) == Array(sent.unicodeScalars))
    let chosen = try SMSText(text)
    #expect(chosen.isUnicode == sent.contains("?"))
    #expect(chosen.isUnicode || chosen.text.utf8.elementsEqual(forced.text.utf8))
  }

  @Test(arguments: [(70, 1, true), (71, 1, false), (132, 2, true), (134, 2, false), (528, 8, true), (530, 8, false)])
  func `A character that is larger than all parts is refused, and never sent empty`(
    _ size: Int, _ parts: Int, _ fits: Bool
  ) throws {
    let character = SMSProperties.joined(size)
    try #require(character.count == 1 && character.utf16.count == size)
    if fits {
      #expect(try SMSText(character, maximumParts: parts).text == character)
    } else {
      #expect(throws: SMSText.Problem.characterTooLarge) { try SMSText(character, maximumParts: parts) }
      // Behind another it is cut off, as any text.
      let cut = try SMSText("Hi " + character, maximumParts: parts)
      #expect(cut.isCut && cut.text == "Hi ")
      // In GSM-7 it is one question mark.
      #expect(try SMSText(character, coding: .gsm7, maximumParts: parts).text == "?")
    }
  }

  @Test func `More combining marks in a row than any language has are refused`() throws {
    for mark in ["\u{301}", "\u{323}\u{301}", "\u{F73}", "\u{344}"] {
      let length = mark.unicodeScalars.count
      let most = "a" + String(repeating: mark, count: 30 / length)
      #expect(CombiningMarks.areFew(in: most))
      #expect(throws: Never.self) { try SMSText(most + "b" + most) }
      for coding in SMSCoding.allCases {
        #expect(throws: SMSText.Problem.tooManyMarks) { try SMSText(most + mark, coding: coding) }
        #expect(throws: SMSText.Problem.tooManyMarks) {
          try SMSText(String(repeating: mark, count: 100_000), coding: coding)
        }
      }
    }
    #expect(CombiningMarks.composed("e\u{301}").map { Array($0.unicodeScalars) } == ["é"])
  }

  @Test(arguments: [
    ("Acme", true), ("Acme Shop", true), ("12345678901", true), ("1234567890123456", true), ("+31612345678", true),
    ("cm.com", true), ("H&M", true), ("A-B_C", true), ("O'Neill", true), ("<a>~!@#$%^*", true), ("\"quoted\"", true),
    ("", false), ("ABCDEFGHIJKL", false), ("12345678901234567", false), ("Ac\nme", false), (" Acme", false),
    ("Acme ", false), (" ", false), ("Åcme", false), ("Acme\u{7F}", false), ("Ac\tme", false),
    ("A\u{301}cme", false), ("٣١٦١٢٣٤٥", false), ("Acme\u{A0}", false),
  ])
  func `A sender is 11 printable characters of ASCII or 16 digits`(_ sender: String, _ isSender: Bool) {
    #expect(SMSAccount.isSender(sender) == isSender)
  }
}
