package import FoundationEssentials
package import Registry
package import Wire

/// What a freeze decides about each contact of a sendout with times, limits or variants. A sendout without any needs none.
package struct FreezePlan: Sendable {
  package var rules: SendRules
  /// The planned moment; nil for at once, and with a local time.
  package var startAt: Date?
  package var localTime: WallTime?
  /// Zones in which the local time was over by then are `onMissed`'s.
  package var scheduledAt: Date?
  package var onMissed: MissedPolicy
  package var spreadMinutes: Int
  package var endAt: Date?
  package var holdoutPercent: Int
  /// Empty without variants. The rest waits for a winner.
  package var variants: [Variant]
  /// Whoever tells no zone has the customer's.
  package var customerZone: String
  package var countryZones: CountryZones
  package var suppressions: SuppressionKey

  /// - Parameters:
  ///   - campaign: has been checked.
  ///   - rules: of the campaign and its customer.
  ///   - templateVersions: of the variants' own templates, in the order of the variants; empty if none has one.
  package init(
    _ campaign: CampaignFields, rules: SendRules, scheduledAt: Date?,
    templateVersions: [Int32?] = [], customerZone: String, countryZones: CountryZones = .ofMachine,
    suppressions: SuppressionKey
  ) {
    self.rules = rules
    startAt = campaign.startAt?.date
    localTime = campaign.localTime
    self.scheduledAt = scheduledAt
    onMissed = campaign.onMissed ?? .skip
    spreadMinutes = campaign.spreadMinutes ?? 0
    endAt = campaign.endAt?.date
    holdoutPercent = campaign.holdoutPercent ?? 0
    variants = (campaign.variants ?? []).enumerated().map { index, variant in
      Variant(
        name: variant.name, share: variant.share,
        templateVersion: index < templateVersions.count ? templateVersions[index] : nil)
    }
    self.customerZone = customerZone
    self.countryZones = countryZones
    self.suppressions = suppressions
  }

  /// What of a variant is written at the freeze.
  package struct Variant: Sendable, Equatable {
    package var name: String
    /// Percent.
    package var share: Int
    /// Of its own template; nil without one.
    package var templateVersion: Int32?
  }

  /// Whether anything depends on the contact's time zone.
  package var asksForZones: Bool { localTime != nil || rules.quietHours != nil }
}

/// The time zone of each country that has one alone, as two arrays of the same length for statements.
package struct CountryZones: Sendable, Equatable {
  /// ISO 3166-1 codes of two letters.
  package let countries: [String]
  package let zones: [String]

  /// As this machine's tzdata has them, where TimeZone looks names up, too. Without the file, there are none.
  package static let ofMachine = CountryZones(
    zoneTab: (try? String(contentsOfFile: "/usr/share/zoneinfo/zone.tab", encoding: .utf8)) ?? "")

  /// Reads tzdata's `zone.tab`, which has a line for each zone: country, coordinates, zone, and perhaps a comment, with tabs between.
  package init(zoneTab: String) {
    var zones: [String: [String]] = [:]
    for line in zoneTab.split(whereSeparator: \.isNewline) where !line.hasPrefix("#") {
      let columns = line.split(separator: "\t", omittingEmptySubsequences: false)
      if columns.count >= 3 { zones[String(columns[0]), default: []].append(String(columns[2])) }
    }
    let single = zones.filter { $0.value.count == 1 }.sorted { $0.key < $1.key }
    countries = single.map(\.key)
    self.zones = single.compactMap(\.value.first)
  }
}

/// Whom a freeze wrote into the ledger, and whom it left out.
package struct FrozenAudience: Sendable, Equatable {
  /// Pushes in the ledger, those left out too.
  package var devices: Int
  /// Contacts of the audience; nil where they were not counted.
  package var everyone: Int?
  /// Contacts that are left.
  package var people: Int?
  /// How many contacts each step left out; steps without any are not there.
  package var leftOut: [PreflightReply.StepName: Int]
  /// How many of those left wait until quiet hours end.
  package var held: Int
  /// The first and the last planned moment; nil without any.
  package var firstAt: Date?
  package var lastAt: Date?

  package init(
    devices: Int, everyone: Int? = nil, people: Int? = nil, leftOut: [PreflightReply.StepName: Int] = [:],
    held: Int = 0, firstAt: Date? = nil, lastAt: Date? = nil
  ) {
    self.devices = devices
    self.everyone = everyone
    self.people = people
    self.leftOut = leftOut
    self.held = held
    self.firstAt = firstAt
    self.lastAt = lastAt
  }
}
