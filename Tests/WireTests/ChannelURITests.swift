import Testing
import Wire

/// The addresses of Windows devices, and the hosts that they can be at.
@Suite struct ChannelURITests {
  @Test func `A channel URI is read into host, port and path`() throws {
    let uri = try #require(ChannelURI("https://DB5p.notify.windows.com/?token=AwYAAAB%2fx+y=="))
    #expect(uri.host == "db5p.notify.windows.com" && uri.port == 443 && uri.path == "/?token=AwYAAAB%2fx+y==")
    let other = try #require(ChannelURI("HTTPS://localhost:8447?token=a"))
    #expect(other.host == "localhost" && other.port == 8447 && other.path == "/?token=a")
    #expect(ChannelURI("https://a")?.path == "/")
  }

  @Test(
    arguments: [
      "", "abc", "http://db5p.notify.windows.com/?token=a", "https:db5p.notify.windows.com", "https://", "https:///x",
      "https://user@db5p.notify.windows.com/", "https://evil.example\\.notify.windows.com/",
      "https://evil.example#.notify.windows.com/", "https://[::1]/", "https://a:/", "https://a:0/", "https://a:65536/",
      "https://a:1:2/", "https://a..b/", "https://a./", "https://.notify.windows.com/", "https://a b/",
      "https://ä.com/",
      "https://a/\u{0}", "https://a%2eb/", "https://a:+80/",
    ])
  func `Anything else is none`(text: String) { #expect(ChannelURI(text) == nil) }

  @Test func `Only hosts that are named are allowed`() throws {
    func allows(_ hosts: ChannelHosts, _ uri: String) -> Bool? { ChannelURI(uri).map(hosts.allow) }
    let microsoft = ChannelHosts.microsoft
    #expect(allows(microsoft, "https://db5p.notify.windows.com/?token=a") == true)
    #expect(allows(microsoft, "https://a.b.notify.windows.com/") == true)
    for uri in [
      "https://notify.windows.com/", "https://evilnotify.windows.com/", "https://db5p.notify.windows.com:8443/",
      "https://db5p.notify.windows.com.evil.example/", "https://127.0.0.1/", "https://localhost/",
      "https://evil.example/?.notify.windows.com",
    ] { #expect(allows(microsoft, uri) == false, "\(uri)") }
    let own = try #require(ChannelHosts("*.Push.example, localhost:8447"))
    #expect(own.description == "*.push.example, localhost:8447")
    for uri in ["https://a.push.example/", "https://localhost:8447/"] { #expect(allows(own, uri) == true) }
    for uri in ["https://localhost/", "https://db5p.notify.windows.com/"] { #expect(allows(own, uri) == false) }
  }

  @Test(arguments: ["", ",", "*", "*.", "a.*", "https://a", "a:0", "a,,b", "a b/", "*.a:x", "a/"])
  func `Other texts name no hosts`(text: String) { #expect(ChannelHosts(text) == nil) }
}
