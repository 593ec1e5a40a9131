import Testing
import Wire

@Suite struct SMSTextTests {
  /// The default alphabet and the extension table of GSM 03.38, written out anew.
  private static let alphabet =
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?"
    + "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
  private static let extension_ = "\u{C}^{}\\[~]|€"

  @Test func `Every character of the default alphabet takes one septet, and of the extension table two`() {
    #expect(Self.alphabet.unicodeScalars.count == 127)
    for scalar in Self.alphabet.unicodeScalars {
      let text = SMSText(String(repeating: String(scalar), count: 160))
      #expect(!text.isUnicode && text.parts == 1, "\(scalar)")
      #expect(SMSText(String(repeating: String(scalar), count: 161)).parts == 2, "\(scalar)")
    }
    for scalar in Self.extension_.unicodeScalars {
      let text = SMSText(String(repeating: String(scalar), count: 80))
      #expect(!text.isUnicode && text.parts == 1, "\(scalar)")
      #expect(SMSText(String(repeating: String(scalar), count: 81)).parts == 2, "\(scalar)")
    }
  }

  @Test(arguments: ["`", "ç", "ê", "😀", "ş", "\t", "你", "\u{1B}", "\0"])
  func `Any other character takes UCS-2`(_ character: String) {
    #expect(SMSText("Hi" + character).isUnicode)
    #expect(SMSText("Hi" + character, coding: .gsm7).text == "Hi?")
  }

  @Test(arguments: [
    ("a", 0, 1), ("a", 160, 1), ("a", 161, 2), ("a", 306, 2), ("a", 307, 3), ("a", 1224, 8), ("ж", 70, 1), ("ж", 71, 2),
    ("ж", 132, 2), ("ж", 133, 3), ("ж", 528, 8), ("😀", 35, 1), ("😀", 36, 2), ("😀", 66, 2), ("😀", 67, 3),
    // No part ends between the two septets of a character: 76 of them fit.
    ("€", 152, 2), ("€", 153, 3),
  ])
  func `Parts are counted as CM counts them`(_ character: String, _ count: Int, _ parts: Int) {
    let text = String(repeating: character, count: count)
    #expect(SMSText(text).parts == parts && SMSText(text).text == text)
    #expect(SMSText(text, maximumParts: 8).isCut == false)
  }

  @Test(arguments: [
    ("a", 1, 160), ("a", 2, 306), ("a", 8, 1224), ("ж", 1, 70), ("ж", 2, 132), ("€", 1, 80), ("€", 2, 152),
    // A family is 11 code units.
    ("👩‍👩‍👧‍👦", 1, 6), ("👩‍👩‍👧‍👦", 2, 12), ("e\u{301}", 1, 35),
  ])
  func `A text that is too long is cut between characters`(_ character: String, _ parts: Int, _ kept: Int) {
    let text = SMSText(String(repeating: character, count: 2000), maximumParts: parts)
    #expect(text.isCut && text.parts == parts && text.text == String(repeating: character, count: kept))
  }

  @Test func `A coding can be forced`() {
    #expect(SMSText("Hi", coding: .ucs2).isUnicode)
    let forced = SMSText("Zażółć 👩‍👩‍👧‍👦!", coding: .gsm7)
    #expect(!forced.isUnicode && forced.text == "Za?ó?? ?!".replacing("ó", with: "?"))
    #expect(SMSText("a\r\nb", coding: .gsm7).text == "a\r\nb")
  }

  @Test(arguments: [
    ("Acme", true), ("Acme Shop", true), ("12345678901", true), ("1234567890123456", true), ("+31612345678", true),
    ("", false), ("ABCDEFGHIJKL", false), ("12345678901234567", false), ("Ac\nme", false), (" Acme", false),
    ("+", false),
    ("Åcme", false),
  ])
  func `A sender is 11 letters and digits or 16 digits`(_ sender: String, _ isSender: Bool) {
    #expect(SMSAccount.isSender(sender) == isSender)
  }
}
