import Wire

/// A phone's platform, as its User-Agent names it.
public enum PhonePlatform: String, Sendable, CaseIterable {
  case iOS
  case android = "Android"
  case windowsPhone = "WindowsPhone"

  /// - Returns: nil if the text names none. What stands in brackets goes before the app's name.
  public init?(userAgent: String) {
    let bracket = userAgent.firstIndex(of: "(") ?? userAgent.endIndex
    guard let found = Self(named: userAgent[bracket...]) ?? Self(named: userAgent[..<bracket]) else { return nil }
    self = found
  }

  /// The first platform that is a word of the text, in any case.
  private init?(named text: Substring) {
    let words = text.lowercasedASCII.split { !$0.isLetter }
    for (index, word) in words.enumerated() {
      switch word {
      case "ios": self = .iOS
      case "android": self = .android
      case "windowsphone": self = .windowsPhone
      case "windows" where index + 1 < words.count && words[index + 1] == "phone": self = .windowsPhone
      default: continue
      }
      return
    }
    return nil
  }

  /// The types of push apps that such phones can be devices of, the preferred one first.
  var appTypes: [AppType] {
    switch self {
    case .iOS: [.ios]
    case .android: [.firebase, .android]
    case .windowsPhone: [.windows]
    }
  }
}
