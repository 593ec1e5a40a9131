import Wire
import Delivery
import Embedded
import HTTPTypes

/// Distinguishes people from programs that fetch links on their own. Their opens are counted apart, or reports would take scanners for
/// readers. An unknown client counts as a person.
enum BotDetector {
  static func reader(_ request: FastRequest) -> Open.Reader {
    if request.method == .head { return .machine }
    for (header, value) in prefetches where request.header(header)?.lowercasedASCII.contains(value) == true {
      return .machine
    }
    return isMachine(userAgent: request.header(.userAgent) ?? "") ? .machine : .person
  }

  /// Headers of browsers and proxies that prefetch.
  private static let prefetches: [(HTTPField.Name, String)] = [
    // Chrome, Edge (Fetch Standard); also `prefetch;prerender`.
    ("Sec-Purpose", "prefetch"),
    // Older Chrome and Firefox.
    ("Purpose", "prefetch"),
    // Safari's Top Sites.
    ("X-Purpose", "preview"),
    ("Purpose", "preview"),
    // Firefox before 115.
    ("X-Moz", "prefetch"),
  ].compactMap { name, value in HTTPField.Name(name).map { ($0, value) } }

  static func isMachine(userAgent: String) -> Bool {
    var userAgent = userAgent
    return userAgent.withUTF8 { bytes in
      if services.matches(bytes) { return true }
      if libraries.matches(bytes) { return false }
      return kinds.matches(bytes) || crawlers.matches(bytes) && !phones.matches(bytes)
    }
  }

  /// Words in the names of programs: Googlebot, bingbot, Applebot, AdsBot, Slackbot, Twitterbot, LinkedInBot,
  /// Discordbot, TelegramBot, PetalBot, SemrushBot, Baiduspider, SkypeUriPreview, BingPreview and similar ones; and
  /// messengers that fetch a link to show a preview. Names of apps have such words, too.
  private static let kinds = UserAgentMatcher([
    "bot$", "bots$", "crawler", "spider", "preview", "scanner", "prefetch", "headless", "slurp", "whatsapp", "viber",
    "mastodon", "ichiro",
  ])

  /// What uap-core's list knows beside them. It asks for crawlers last, once a header is no phone's and no tablet's, since its words are
  /// parts of their names, too.
  private static let crawlers = UserAgentMatcher(CrawlerNames.all.filter { !browsers.contains($0) })

  /// Words of the list that are browsers' and toolbars' as well.
  private static let browsers: Set<String> = ["silk", "yahoo", "daum", "zeal", "sogou", "borg"]

  private static let phones = UserAgentMatcher([
    "android", "iphone", "ipad", "ipod", "windows phone", "mobile", "silk/",
  ])

  /// HTTP libraries of apps, which put the app's name before their own: `QR Scanner/1 CFNetwork/1410 Darwin/22.6.0` is
  /// somebody's phone. No crawler that is known runs on one.
  private static let libraries = UserAgentMatcher(["cfnetwork/", "okhttp/", "dalvik/", "alamofire/"])

  /// Names that no app has, whatever library they come with.
  private static let services = UserAgentMatcher([
    // Whoever says where to read about it, as in `(+https://example.com/bot)`, is no person.
    "+http",
    // Sites that fetch a link to show a preview.
    "facebookexternalhit", "facebookcatalog", "meta-externalagent", "vkshare", "embedly", "iframely", "flipboardproxy",
    "slack-imgproxy", "pinterest.com", "yandeximage",
    // Mail and web security gateways that open every link before its recipient may.
    "barracuda", "proofpoint", "mimecast", "messagelabs", "symantec", "ironport", "forcepoint", "fireeye", "zscaler",
    "palo alto networks", "safelinks", "cloudmark", "bitdefender", "trendmicro", "urlscan", "virustotal", "netcraft",
    // Proxies that fetch for somebody without being asked to.
    "googleimageproxy", "yahoomailproxy", "google-safety", "mediapartners-google", "feedfetcher", "googleother",
    "apis-google",
    // Archives and monitors.
    "archive.org", "ia_archiver", "pingdom", "statuscake", "site24x7", "newrelicpinger", "datadog",
    "ptst/", "datanyze",
  ])
}

/// Looks for words anywhere in a User-Agent header.
struct UserAgentMatcher: Sendable {
  /// The words by their first letter, so that a header is read once.
  private let byLetter: [[[UInt8]]]

  /// - Parameter words: in lower case; `$` stands for the end of a word.
  init(_ words: [String]) {
    var byLetter = [[[UInt8]]](repeating: [], count: 256)
    for word in words {
      let bytes = Array(word.utf8)
      byLetter[Int(bytes[0])].append(bytes)
    }
    self.byLetter = byLetter
  }

  /// Whether the header has any of the words, in upper or lower case.
  func matches(_ header: UnsafeBufferPointer<UInt8>) -> Bool {
    header.indices.contains { start in
      byLetter[Int(header[start] | 0x20)].contains { header.holds($0, at: start) }
        && !Self.exceptions.contains { start >= $0.before && header.holds($0.word, at: start - $0.before) }
    }
  }

  /// Words of people's devices with such a part in them, and how far before it they begin: CUBOT makes phones.
  private static let exceptions: [(word: [UInt8], before: Int)] = [(Array("cubot".utf8), 2)]
}

extension UnsafeBufferPointer<UInt8> {
  /// Whether these lower-case letters stand here, in any case; a `$` at their end wants the end of a word.
  fileprivate func holds(_ word: [UInt8], at start: Int) -> Bool {
    for (offset, byte) in word.enumerated() {
      let place = start + offset
      if byte == UInt8(ascii: "$") { return place == count || !self[place].isLetter }
      guard place < count, self[place] == byte || (self[place].isLetter && self[place] | 0x20 == byte) else {
        return false
      }
    }
    return true
  }
}

extension UInt8 {
  fileprivate var isLetter: Bool { (0x61...0x7A).contains(self | 0x20) }
}
