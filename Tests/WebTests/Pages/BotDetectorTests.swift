import Embedded
import Foundation
import Support
import Testing

@testable import Web

/// Where Debian's package puts its data.
private let uapCore = "/usr/share/uap-core"

/// Who is a machine by its User-Agent.
@Suite struct BotDetectorTests {
  @Test(arguments: [
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 9_1 like Mac OS X) Safari/601.1 (compatible; AdsBot-Google-Mobile; +http://www.google.com/mobile/adsbot.html)",
    "Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)",
    "Mozilla/5.0 (compatible; YandexImageResizer/2.0; +http://yandex.com/bots)",
    "Mozilla/5.0 (compatible; YandexImageResizer/2.0)", "Shop bots/2", "bots/2",
    "http.rb/5.1.1 (Mastodon/4.2.0; +https://mastodon.social/)", "Mastodon/4.3.0 (http.rb/5.2.0)",
    "APIs-Google (+https://developers.google.com/webmasters/APIs-Google.html)", "APIs-Google",
    "okhttp/4.9.0 (+https://example.com/about)", "Anything at all (+http://example.com)",
    "Mozilla/5.0 (Windows NT 6.3; WOW64; Trident/7.0; rv:11.0) like Gecko PTST/1.0", "WhatsApp/2.23.20.0 A",
  ])
  func `A machine is one`(userAgent: String) {
    #expect(BotDetector.isMachine(userAgent: userAgent))
  }

  @Test(arguments: [
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (Linux; Android 14; CUBOT KINGKONG) AppleWebKit/537.36 Chrome/120.0.0.0 Mobile Safari/537.36",
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Silk/86.2.9 like Chrome/86.0.4240.198 Safari/537.36",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/120.0.0.0 Safari/537.36 YahooMail/1",
    "QR Scanner/1 CFNetwork/1410 Darwin/22.6.0", "Mastodon/1 CFNetwork/1410 Darwin/22.6.0",
    "Shop/7 (http://example.com)",
    "Mozilla/5.0 (Linux; U; Android 2.2.1; en-us; VS660 Vortex Build/FRG83G) Mobile Safari/533.1", "",
    "Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:120.0) Gecko/20100101 Firefox/120.0",
  ])
  func `A person is none`(userAgent: String) {
    #expect(!BotDetector.isMachine(userAgent: userAgent))
  }

  @Test(.enabled(if: FileManager.default.fileExists(atPath: "\(uapCore)/regexes.yaml")))
  func `The binary has the names of uap-core's crawlers, and no expressions`() {
    #expect(CrawlerNames.all.count > 80)
    for name in ["heritrix", "scrapy", "screaming frog", "wsr-agent"] { #expect(CrawlerNames.all.contains(name)) }
    for name in CrawlerNames.all { #expect(name.utf8.count >= 4 && !name.contains { "^$.*+?()[]{}\\/".contains($0) }) }
    for machine in ["Heritrix/3.3.0", "Scrapy/2.11", "Python-urllib/3.10", "Screaming Frog SEO Spider/19.4"] {
      #expect(BotDetector.isMachine(userAgent: machine), "\(machine)")
    }
  }

  /// Sixteen thousand headers of which uap-core says what they are: all crawlers, and a tenth of the others.
  @Test(.enabled(if: FileManager.default.fileExists(atPath: "\(uapCore)/tests/test_device.yaml")))
  func `What uap-core takes for a crawler is a machine, and nearly nothing else is`() throws {
    let text = try String(contentsOfFile: "\(uapCore)/tests/test_device.yaml", encoding: .utf8)
    var userAgent = ""
    var (headers, crawlers, missed, mistaken) = (0, 0, 0, [String]())
    for line in text.split(separator: "\n") {
      let words = line.drop { $0 == " " || $0 == "-" }
      func value(_ name: String) -> String? {
        guard words.hasPrefix(name) else { return nil }
        return String(words.dropFirst(name.count).drop { $0 == " " }).trimmingCharacters(in: ["'", "\""])
      }
      if let header = value("user_agent_string:") { userAgent = header }
      guard let family = value("family:") else { continue }
      headers += 1
      guard isSoak || family == "Spider" || headers.isMultiple(of: 10) else { continue }
      let isMachine = BotDetector.isMachine(userAgent: userAgent)
      if family == "Spider" {
        crawlers += 1
        if !isMachine { missed += 1 }
      } else if isMachine, !userAgent.hasPrefix("WhatsApp") {
        mistaken.append(userAgent)
      }
    }
    #expect(headers > 10_000 && crawlers > 50)
    #expect(missed <= 2)
    // Names of crawlers that look like phones' to it, as Huaweisymantecspider.
    #expect(mistaken.count <= 10, "\(mistaken)")
  }
}
