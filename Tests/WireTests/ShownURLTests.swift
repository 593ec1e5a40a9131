import FoundationEssentials
import Testing
import Wire

@Suite struct ShownURLTests {
  @Test(arguments: [
    ("https://acme.example.com/a/b", "https://acme.example.com/a/b"),
    ("https://acme.example.com/a?key=canary", "https://acme.example.com/a"),
    ("https://acme.example.com?canary", "https://acme.example.com"),
    ("https://acme.example.com/a#canary", "https://acme.example.com/a"),
    ("https://canary:canary@acme.example.com:8443/a", "https://acme.example.com:8443/a"),
    ("https://canary@canary@acme.example.com/a@b", "https://acme.example.com/a@b"),
    ("http://canary@acme.example.com", "http://acme.example.com"), ("", ""), ("no address", "no address"),
  ])
  func `An address is shown without its query, its fragment and its user`(url: String, shown: String) throws {
    #expect(ShownURL(url).text == shown)
    #expect(String(decoding: try JSONEncoder().encode([ShownURL(url)]), as: UTF8.self).contains("canary") == false)
    #expect(ShownURL(shown).text == shown)
  }

  @Test func `Settings that are sent back as they were shown keep their queries`() {
    func settings(_ uris: String...) -> WebhookSettings {
      WebhookSettings(destinations: [
        "hook": WebhookDestination(
          enabled: true, subscribeDurationSeconds: 60, destinationUris: uris.map { DestinationURI(uri: $0) },
          headers: [WebhookDestination.tokenHeader: "bar"])
      ])
    }
    let stored = settings("https://a.example.com/x?key=canary", "https://b.example.com/")
    #expect(stored.shown == settings("https://a.example.com/x", "https://b.example.com/"))
    #expect(stored.shown.restored(from: stored) == stored)
    #expect(settings("https://c.example.com/x").restored(from: stored) == settings("https://c.example.com/x"))
    #expect(stored.audited().destinations["hook"]?.destinationUris.first?.uri == "https://a.example.com/x")
    #expect(stored.audited().destinations["hook"]?.headers == [WebhookDestination.tokenHeader: "…"])
  }
}
