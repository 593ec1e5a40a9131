import Delivery
import HTTPTypes
import Hummingbird

/// Tells people from programs that fetch links on their own: their opens are kept apart, or reports would count scanners as
/// readers. Whatever is not known counts as a person.
enum KnownMachines {
  static func reader(of request: Request) -> Open.Reader {
    if request.method == .head { return .machine }
    for (header, value) in prefetches where request.headers[header]?.lowercased().contains(value) == true {
      return .machine
    }
    return isMachine(userAgent: request.headers[.userAgent] ?? "") ? .machine : .person
  }

  /// Headers of browsers and proxies that fetch ahead, in case somebody looks later.
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
      bytes.indices.contains { start in
        marks[Int(bytes[start] | 0x20)].contains { bytes.holds($0, at: start) }
          && !exceptions.contains { start >= $0.before && bytes.holds($0.word, at: start - $0.before) }
      }
    }
  }

  /// Parts of the User-Agent header, in lower case, that give a program away; `$` stands for the end of a word. Names of
  /// HTTP libraries are not among them: an app may use any of them to say that a push was read.
  private static let words = [
    // What programs of every kind call themselves: Googlebot, bingbot, Applebot, AdsBot, Slackbot, Twitterbot, LinkedInBot,
    // Discordbot, TelegramBot, PetalBot, SemrushBot, Baiduspider, SkypeUriPreview, BingPreview and their like.
    "bot$", "crawler", "spider", "preview", "scanner", "prefetch", "headless", "slurp",
    // Messengers and sites that fetch a link to show a card of it.
    "facebookexternalhit", "facebookcatalog", "meta-externalagent", "whatsapp", "viber", "vkshare", "embedly",
    "iframely",
    "flipboardproxy", "slack-imgproxy", "pinterest.com",
    // Mail and web security gateways that open every link before its reader may.
    "barracuda", "proofpoint", "mimecast", "messagelabs", "symantec", "ironport", "forcepoint", "fireeye", "zscaler",
    "palo alto networks", "safelinks", "cloudmark", "bitdefender", "trendmicro", "urlscan", "virustotal", "netcraft",
    // Proxies that fetch on somebody's behalf without being asked to.
    "googleimageproxy", "yahoomailproxy", "google-safety", "mediapartners-google", "feedfetcher", "googleother",
    // Archives and monitors.
    "archive.org", "ia_archiver", "pingdom", "statuscake", "site24x7", "newrelicpinger", "datadog",
  ]

  /// The words by their first letter, so that a header is read once.
  private static let marks: [[[UInt8]]] = {
    var marks = [[[UInt8]]](repeating: [], count: 256)
    for word in words {
      let bytes = Array(word.utf8)
      marks[Int(bytes[0])].append(bytes)
    }
    return marks
  }()

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
