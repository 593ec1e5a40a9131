import Delivery
import HTTPTypes

/// Tells people from programs that fetch links on their own: their opens are kept apart, or reports would count scanners as
/// readers. Whatever is not known counts as a person.
enum BotDetector {
  static func reader(_ request: QuickRequest) -> Open.Reader {
    if request.method == .head { return .machine }
    for (header, value) in prefetches where request.header(header)?.lowercased().contains(value) == true {
      return .machine
    }
    return isMachine(userAgent: request.header(.userAgent) ?? "") ? .machine : .person
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
      services.occur(in: bytes) || (kinds.occur(in: bytes) && !libraries.occur(in: bytes))
    }
  }

  /// What programs of every kind call themselves: Googlebot, bingbot, Applebot, AdsBot, Slackbot, Twitterbot, LinkedInBot,
  /// Discordbot, TelegramBot, PetalBot, SemrushBot, Baiduspider, SkypeUriPreview, BingPreview and their like; and
  /// messengers that fetch a link to show a card of it. Apps have such words in their names, too.
  private static let kinds = UserAgentMatcher(
    ["bot$", "crawler", "spider", "preview", "scanner", "prefetch", "headless", "slurp", "whatsapp", "viber"])

  /// HTTP libraries of apps, which put the app's name before their own: `QR Scanner/1 CFNetwork/1410 Darwin/22.6.0` is
  /// somebody's phone. No crawler that is known runs on one.
  private static let libraries = UserAgentMatcher(["cfnetwork/", "okhttp/", "dalvik/", "alamofire/"])

  /// Names that no app has: they give a machine away whatever it runs on.
  private static let services = UserAgentMatcher([
    // Sites that fetch a link to show a card of it.
    "facebookexternalhit", "facebookcatalog", "meta-externalagent", "vkshare", "embedly", "iframely", "flipboardproxy",
    "slack-imgproxy", "pinterest.com",
    // Mail and web security gateways that open every link before its reader may.
    "barracuda", "proofpoint", "mimecast", "messagelabs", "symantec", "ironport", "forcepoint", "fireeye", "zscaler",
    "palo alto networks", "safelinks", "cloudmark", "bitdefender", "trendmicro", "urlscan", "virustotal", "netcraft",
    // Proxies that fetch on somebody's behalf without being asked to.
    "googleimageproxy", "yahoomailproxy", "google-safety", "mediapartners-google", "feedfetcher", "googleother",
    // Archives and monitors.
    "archive.org", "ia_archiver", "pingdom", "statuscake", "site24x7", "newrelicpinger", "datadog",
  ])
}
