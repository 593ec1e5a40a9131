import Testing
import Wire

@testable import Delivery

@Suite struct SendRulesTests {
  private let quiet = QuietHours("21:00-08:00")
  private let caps = ["3/24h/marketing", "10/7d", "1/1h/transactional"].compactMap { Cap($0) }

  @Test func `Quiet hours concern marketing, and caps what they count`() {
    let marketing = SendRules(purpose: .marketing, quietHours: quiet, caps: caps)
    #expect(marketing.quietHours == quiet && marketing.caps.map(\.name) == ["3/24h marketing", "10/7d"])
    let transactional = SendRules(purpose: .transactional, quietHours: quiet, caps: caps)
    #expect(transactional.quietHours == nil && transactional.caps.map(\.name) == ["10/7d", "1/1h transactional"])
    #expect(SendRules(purpose: .transactional, quietHours: quiet, caps: [caps[0]]).limitsNothing)
  }

  @Test func `A sendout's own quiet hours replace the customer's, and null lifts them`() throws {
    func rules(_ own: QuietHoursOverride?) -> SendRules {
      SendRules(purpose: .marketing, customerQuietHours: quiet, caps: [], CampaignFields(quietHours: own))
    }
    #expect(rules(nil).quietHours == quiet)
    #expect(rules(.lifted).quietHours == nil)
    let own = try #require(QuietHours("12:00-13:00/skip"))
    #expect(rules(.set(own)).quietHours == own)
  }

  @Test func `Rules are stored and read as they were`() throws {
    let rules = SendRules(
      purpose: .marketing, quietHours: quiet, caps: caps, ignoresCaps: true, lateMinutes: 5, ratePerSecond: 7)
    #expect(try JSONCoding.decode(SendRules.self, from: JSONCoding.encode(rules)) == rules)
    #expect(rules.lateSeconds == 300 && rules.keptMoments == 18)
  }

  @Test func `A country has a zone where tzdata has one alone`() {
    let zones = CountryZones(
      zoneTab: """
        # tzdb timezone descriptions
        SE\t+5920+01803\tEurope/Stockholm
        US\t+404251-0740023\tAmerica/New_York\tEastern (most areas)
        US\t+340308-1181434\tAmerica/Los_Angeles\tPacific
        JP\t+353916+1394441\tAsia/Tokyo
        """)
    #expect(zones.countries == ["JP", "SE"] && zones.zones == ["Asia/Tokyo", "Europe/Stockholm"])
  }
}
