import FoundationEssentials
import Logging
import Support
import Testing
import Wire

@testable import Providers

@Suite struct APNsSettingsTests {
  @Test(arguments: [
    "", "api.push.apple.com", "http://api.push.apple.com", "https://", "https://host:0", "https://host:65536",
    "https://host/path", "https://user@host", "https://host?x",
  ])
  func `An invalid address is refused with the setting's name`(_ url: String) {
    var settings = PushServiceSettings()
    settings[.apnsSandboxURL] = url
    #expect(throws: ProviderError.addressUnusable(setting: "PUSHCART_APNS_SANDBOX_URL")) {
      try PushServices(settings, logger: Logger(label: "test"))
    }
    settings[.apnsProductionURL] = url
    #expect(throws: ProviderError.addressUnusable(setting: "PUSHCART_APNS_PRODUCTION_URL")) {
      try PushServices(settings, logger: Logger(label: "test"))
    }
  }

  @Test(arguments: [
    ("https://api.push.apple.com", "api.push.apple.com", 443, "api.push.apple.com"),
    ("https://api.push.apple.com:2197/", "api.push.apple.com", 2197, "api.push.apple.com:2197"),
    ("HTTPS://localhost:8443", "localhost", 8443, "localhost:8443"),
    ("https://[::1]:8443", "::1", 8443, "[::1]:8443"),
    ("https://127.0.0.1", "127.0.0.1", 443, "127.0.0.1"),
  ])
  func `An address is a host and a port`(_ url: String, _ host: String, _ port: Int, _ authority: String) throws {
    let address = try #require(ServiceAddress(url: url))
    #expect(address.host == host)
    #expect(address.port == port)
    #expect(address.authority == authority)
    #expect(address.isNumeric == (host == "::1" || host == "127.0.0.1"))
  }

  @Test func `A missing certificate file is reported with its path`() {
    var settings = PushServiceSettings()
    settings.caFile = "/nowhere/ca.pem"
    #expect(throws: ProviderError.caFileUnusable(path: "/nowhere/ca.pem")) {
      try PushServices(settings, logger: Logger(label: "test"))
    }
  }
}
