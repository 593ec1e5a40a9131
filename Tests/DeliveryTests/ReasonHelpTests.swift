import Testing
import Wire

@testable import Delivery

@Suite struct ReasonHelpTests {
  @Test func `Every reason of the hub has a meaning and says what helps`() {
    for reason in HubReason.allCases {
      let help = ReasonHelp(reason.rawValue, of: [.ios])
      #expect(help.meaning?.contains("`") == false, "\(reason)")
      #expect(help.advice != nil, "\(reason)")
    }
    #expect(ReasonHelp("BadOverride apns.aps", of: [.ios]) == ReasonHelp("BadOverride", of: [.ios]))
  }

  @Test func `A reason is explained by the services that it can come from`() {
    #expect(ReasonHelp("Unregistered", of: [.ios]).advice?.hasPrefix("Nothing: the device is invalidated") == true)
    #expect(ReasonHelp("Unregistered", of: [.firebase]).meaning == nil)
    #expect(ReasonHelp("UNREGISTERED", of: [.ios, .firebase]).advice != nil)
    #expect(ReasonHelp("Unregistered", of: [.ios, .firebase]).services == ["APNs"])
    #expect(ReasonHelp("InvalidProviderToken", of: [.ios]).advice?.contains("another Key Id") == true)
    #expect(ReasonHelp("something new", of: AppType.allCases) == ReasonHelp("something newer", of: [.ios]))
  }
}
