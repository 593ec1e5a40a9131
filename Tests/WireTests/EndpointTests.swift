import Testing
import Wire

/// The addresses that clients name: channel URIs of Windows, subscriptions to Web Push, and where both may lead.
@Suite struct EndpointTests {
  private static let key = Base64URL.text([4] + [UInt8](repeating: 9, count: 64))
  private static let auth = Base64URL.text([UInt8](repeating: 7, count: 16))

  private static func json(
    _ endpoint: String = "https://push.example.com/1", key: String = key, auth: String = auth
  ) -> String {
    #"{"endpoint":"\#(endpoint)","keys":{"p256dh":"\#(key)","auth":"\#(auth)"}}"#
  }

  @Test func `A subscription has one text, whatever its JSON was written like`() throws {
    let plain = Self.json()
    let other = """
      { "keys" : {"auth":"\(Self.auth)==", "p256dh":"\(Self.key.replacing("-", with: "+").replacing("_", with: "/"))="},
        "expirationTime": null, "endpoint": "https:\\/\\/push.example.com\\/1", "more": [1] }
      """
    #expect(try WebPushSubscription(json: plain).text == plain)
    #expect(try WebPushSubscription(json: other).text == plain)
  }

  @Test(arguments: [
    ("[]", ""), ("{}", "endpoint"), (#"{"endpoint":"https://a.b/c"}"#, "keys.p256dh"),
    (#"{"endpoint":7}"#, "endpoint"), (json("http://push.example.com/1"), "endpoint"),
    (json("https://user@push.example.com/1"), "endpoint"), (json("https://push.example.com/1#x"), "endpoint"),
    (json("https://push.example.com:0/1"), "endpoint"), (json("https://push.example.com:99999/1"), "endpoint"),
    (json("https://push.example.com:/1"), "endpoint"), (json("https://push .example.com/1"), "endpoint"),
    (json("https://push.example.com\\\\@10.0.0.1/"), "endpoint"), (json("https:///1"), "endpoint"),
    (json("https://127.1/1"), "endpoint"), (json("https://2130706433/1"), "endpoint"),
    (json("https://0x7f000001/1"), "endpoint"), (json("https://010.0.0.1/1"), "endpoint"),
    (json("https://[::1/1"), "endpoint"), (json("https://[fe80::1%25eth0]/1"), "endpoint"),
    (json("https://exämple.com/1"), "endpoint"), (json("https://push.example.com./1"), "endpoint"),
    (json(key: ""), "keys.p256dh"), (json(key: Base64URL.text([UInt8](repeating: 4, count: 64))), "keys.p256dh"),
    (json(key: Base64URL.text([UInt8](repeating: 2, count: 65))), "keys.p256dh"), (json(key: "?"), "keys.p256dh"),
    (json(auth: Base64URL.text([UInt8](repeating: 7, count: 15))), "keys.auth"), (json(auth: "AAAAA"), "keys.auth"),
  ])
  func `What is no subscription is refused, and the field is named`(_ json: String, _ field: String) {
    let problem = #expect(throws: JSONProblem.self) { try WebPushSubscription(json: json) }
    #expect(problem?.path == field)
  }

  @Test func `Host, port and path of an endpoint are those that it names`() throws {
    let plain = try PushEndpoint(url: "https://Push.Example.com/a/b?c=%20d")
    #expect(plain.host == "push.example.com" && plain.port == 443 && plain.path == "/a/b?c=%20d")
    let bare = try PushEndpoint(url: "HTTPS://push.example.com:8443?q")
    #expect(bare.port == 8443 && bare.path == "/?q")
    let numeric = try PushEndpoint(url: "https://[2001:4860:4860::8888]:8443/x")
    #expect(numeric.host == "2001:4860:4860::8888" && numeric.port == 8443)
    let channel = try PushEndpoint(url: "https://DB5p.notify.windows.com/?token=AwYAAAB%2fx+y==")
    #expect(channel.host == "db5p.notify.windows.com" && channel.path == "/?token=AwYAAAB%2fx+y==")
    #expect(try PushEndpoint(url: "https://localhost:8447?token=a").path == "/?token=a")
    #expect(try PushEndpoint(url: "https://a").path == "/")
  }

  @Test(
    arguments: [
      "", "abc", "http://db5p.notify.windows.com/?token=a", "https:db5p.notify.windows.com", "https://", "https:///x",
      "https://user@db5p.notify.windows.com/", "https://evil.example\\.notify.windows.com/",
      "https://evil.example#.notify.windows.com/", "https://[::1/", "https://a:/", "https://a:0/", "https://a:65536/",
      "https://a:1:2/", "https://a..b/", "https://a./", "https://.notify.windows.com/", "https://a b/",
      "https://ä.com/", "https://a/\u{0}", "https://a%2eb/", "https://a:+80/", "https://127.1/",
    ])
  func `Any other text is no endpoint`(text: String) {
    #expect(throws: JSONProblem.self) { try PushEndpoint(url: text) }
  }

  @Test(arguments: [
    "0.0.0.0", "0.1.2.3", "10.1.2.3", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.9.9.9", "169.254.169.254",
    "172.16.0.1", "172.31.255.255", "192.0.0.8", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1",
    "198.51.100.7",
    "203.0.113.9", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "::", "::1", "::127.0.0.1",
    "::ffff:127.0.0.1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1",
    "2002:7f00:1::", "3fff::1", "fc00::1", "fd12:3456::1", "fe80::1", "fec0::1", "ff02::1",
  ])
  func `An address that is not of the internet is none of ours to call`(_ address: String) throws {
    #expect(try #require(HostAddress(address)).isPublic == false)
    let host = address.contains(":") ? "[\(address)]" : address
    let endpoint = try PushEndpoint(url: "https://\(host)/1")
    #expect(EndpointRule.webPush.problem(with: endpoint) == "must not be a private or reserved address")
  }

  @Test(arguments: [
    "1.1.1.1", "100.63.0.1", "100.128.0.1", "172.15.0.1", "172.32.0.1", "192.169.0.1", "2606:4700::1111",
  ])
  func `An address of the internet is`(_ address: String) throws {
    #expect(try #require(HostAddress(address)).isPublic)
  }

  @Test(arguments: [
    "1.2.3", "1.2.3.4.5", "1.2.3.256", "01.2.3.4", "1.2.3.+4", "", ":", ":::", "1::2::3", "1:2:3:4:5:6:7", "12345::",
    "1:2:3:4:5:6:7:8:9", "::1.2.3", "g::",
  ])
  func `What is no address is read as none`(_ text: String) { #expect(HostAddress(text) == nil) }

  @Test(arguments: [
    ("https://push.example.com/1", true), ("https://push.example.com:8443/1", true),
    ("https://push.example.com:22/1", false), ("https://push.example.com:80/1", false), ("https://localhost/1", false),
    ("https://db.internal/1", false), ("https://printer.local/1", false), ("https://a.localhost/1", false),
    ("https://intranet/1", false), ("https://8.8.8.8/1", true),
  ])
  func `Without a list every host of the internet is allowed, at two ports`(_ url: String, _ isAllowed: Bool) throws {
    #expect((EndpointRule.webPush.problem(with: try PushEndpoint(url: url)) == nil) == isAllowed)
  }

  @Test(arguments: [
    ("https://db5p.notify.windows.com/?token=a", true), ("https://a.b.notify.windows.com/", true),
    ("https://db5p.notify.windows.com:8443/", true), ("https://notify.windows.com/", false),
    ("https://evilnotify.windows.com/", false), ("https://db5p.notify.windows.com:22/", false),
    ("https://db5p.notify.windows.com.evil.example/", false), ("https://127.0.0.1/", false),
    ("https://localhost/", false), ("https://evil.example/?.notify.windows.com", false),
    ("https://push.example.com/1", false),
  ])
  func `Without a list Windows' hosts are Microsoft's alone`(_ url: String, _ isAllowed: Bool) throws {
    let problem = EndpointRule.wns.problem(with: try PushEndpoint(url: url))
    #expect(
      problem
        == (isAllowed
          ? nil : "must be at a host of *.notify.windows.com, as PUSHCART_WNS_ALLOWED_HOSTS names no others"))
  }

  @Test(arguments: [
    ("https://localhost:8447/1", true), ("https://localhost/1", false), ("https://[::1]:9/1", true),
    ("https://web.push.apple.com/1", true), ("https://push.apple.com/1", false), ("https://xpush.apple.com/1", false),
    ("https://web.push.apple.com:22/1", false), ("https://push.example.com/1", false), ("https://10.0.0.1/1", true),
    ("https://db5p.notify.windows.com/?token=a", false), ("https://a.b.example:9443/1", true),
    ("https://a.b.example/1", false),
  ])
  func `A list allows what it names and nothing else`(_ url: String, _ isAllowed: Bool) throws {
    let hosts = try #require(HostList("localhost:8447, *.Push.apple.com,10.0.0.1,[::1]:9,*.b.example:9443"))
    #expect(hosts.description == "localhost:8447, *.push.apple.com, 10.0.0.1, [::1]:9, *.b.example:9443")
    #expect(HostList(hosts.description) == hosts)
    let endpoint = try PushEndpoint(url: url)
    for (rule, setting) in [
      (EndpointRule.wns, "PUSHCART_WNS_ALLOWED_HOSTS"), (.webPush, "PUSHCART_WEBPUSH_ALLOWED_HOSTS"),
      (.sms, "PUSHCART_SMS_ALLOWED_HOSTS"),
    ] {
      var rule = rule
      rule.listed = hosts
      #expect(rule.problem(with: endpoint) == (isAllowed ? nil : "must be at a host that \(setting) names"))
      #expect(rule.isListed(endpoint.host, endpoint.port) == isAllowed)
    }
  }

  @Test(
    arguments: [
      "", ",", "a,", "a,,b", "a b", "https://a.b", "a b,*", "*", "*.", "a.*", "a:b", "a:0", "a.b/c", "a/", "*.*.a",
      "*.a:x", "*.10.0.0.1", "*.[::1]",
    ])
  func `What is no list of hosts is refused`(_ list: String) { #expect(HostList(list) == nil) }

  @Test func `Push services of browsers and listed hosts are believed about an app's key, strangers are not`() throws {
    var rule = EndpointRule.webPush
    for host in [
      "fcm.googleapis.com", "updates.push.services.mozilla.com", "web.push.apple.com", "wns2.notify.windows.com",
    ] {
      #expect(rule.isTrusted(host, 443) && !rule.isListed(host, 443))
    }
    #expect(!rule.isTrusted("push.example.com", 443))
    rule.listed = HostList("push.example.com")
    #expect(rule.isTrusted("push.example.com", 443))
  }

  @Test(arguments: [nil, "push.example.com", "*.example.com:9443,a.b", "[::1]:9", "10.0.0.1"])
  func `The example of an endpoint is one that is allowed`(_ list: String?) throws {
    for var rule in [EndpointRule.wns, .webPush] {
      rule.listed = try list.map { try #require(HostList($0)) }
      #expect(rule.problem(with: try PushEndpoint(url: rule.example)) == nil, "\(rule.example)")
    }
  }
}
