import Testing
import Wire

@Suite struct LanguageTagTests {
  @Test(arguments: [
    ("sv", "sv"), ("SV", "sv"), ("pt-br", "pt-BR"), ("ZH-HANS-cn", "zh-Hans-CN"), ("es-419", "es-419"),
    ("sl-rozaj-biske", "sl-rozaj-biske"), ("de-CH-1901", "de-CH-1901"), ("zh-yue-HK", "zh-yue-HK"),
    ("en-US-u-ca-GREGORY-nu-latn", "en-US-u-ca-gregory-nu-latn"), ("en-x-US", "en-x-us"), ("x-whatever", "x-whatever"),
    ("und", "und"), ("qaa-Qaaa-QM-x-southern", "qaa-Qaaa-QM-x-southern"),
  ])
  func `A tag is read, and its parts get their usual case`(_ text: String, _ tag: String) {
    #expect(LanguageTag(text)?.text == tag)
  }

  @Test(arguments: [
    "", "s", "x", "sv_SE", "sv-", "-sv", "sv--SE", "svenska språket", "sv-SE.UTF-8", "en-US@calendar=x", "12", "en-a",
    "en-u", "en-x", "en-u-x", "abcdefghi", "en-abcdefghi", "en-US-GB", "sv\u{0}", "ſv", "K-el",
    "en-x-" + Array(repeating: "abcdefgh", count: 12).joined(separator: "-"),
  ])
  func `What is none is not read`(_ text: String) {
    #expect(LanguageTag(text) == nil)
  }
}
