import Content
import Registry

extension LinkSigner {
  convenience init(_ settings: LinkSettings) {
    self.init(
      keys: settings.keys.mapValues(\.bytes), lastDays: settings.lastDays, maximumAges: settings.maximumAges)
  }

  func replace(_ settings: LinkSettings) {
    replace(keys: settings.keys.mapValues(\.bytes), lastDays: settings.lastDays, maximumAges: settings.maximumAges)
  }
}

extension LinkSettings {
  /// A day after a key got its successor, as hubs may hear of that late.
  fileprivate var lastDays: [Int64: LinkDay] { supersededAt.mapValues { LinkDay(LinkDay(of: $0).number + 1) } }
}
