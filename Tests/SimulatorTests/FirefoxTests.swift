import Foundation
import Simulator
import Support
import Testing
import Wire

/// The simulated push service with a real Firefox, and a sender of its own.
@Suite struct FirefoxTests {
  @Test func `A real Firefox subscribes, decrypts what an independent sender encrypts, and opens its page by a click`()
    async throws
  {
    try await withRequests(configure: { $0.phonePort = 0 }) { simulator, requests in
      let requester = WebPushRequester(client: requests.client, origin: simulator.webPushURL)
      let site = try #require(simulator.phoneURL)
      try await Firefox.run(pushService: simulator.webPushURL, caFile: simulator.caFile) { firefox in
        try await firefox.allowNotifications(from: site)
        try await firefox.open("\(site)/web")
        let subscription = try await firefox.page(
          """
          const [key, done] = arguments;
          (async () => {
            const worker = await navigator.serviceWorker.register("/web/sw.js", { scope: "/web" });
            await navigator.serviceWorker.ready;
            const subscription = await worker.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
            return JSON.stringify(subscription);
          })().then(done, error => done("" + error));
          """, [.string(requester.sender.vapidKey)])
        let browser = try Self.subscription(try #require(subscription.text))
        #expect(browser.endpoint.hasPrefix("\(simulator.webPushURL)/wpush/v2/"))

        let page = "\(site)/?token=clicked"
        let text = #"{"alert":"Grüße, Robin","info":"Your lunch is ready","url":"\#(page)"}"#
        let answer = try await requester.push(
          try WebPushSender.sealed(text, for: browser), to: browser.endpoint)
        #expect(answer.status == 201)
        let alert = try await firefox.alert(1)
        #expect(alert.title == "Grüße, Robin" && alert.text == "Your lunch is ready")
        #expect(await simulator.webPush.acknowledged(count: 1)[0].code == 100)
        try await firefox.clickAlert(1)
        #expect(try await firefox.tab(page).contains("Pushcart"))

        // What came while the browser was away arrives when it is back.
        simulator.webPush.disconnectBrowsers()
        _ = try await requester.push(
          try WebPushSender.sealed(#"{"alert":"Back again"}"#, for: browser), to: browser.endpoint)
        #expect(try await firefox.alert(2).text == "Back again")
      }
    }
  }

  private static func subscription(_ json: String) throws -> BrowserSubscription {
    let value = try JSONValue(parsing: json.utf8)
    return BrowserSubscription(
      endpoint: try #require(value.string("endpoint")), p256dh: try #require(value["keys"]?.string("p256dh")),
      auth: try #require(value["keys"]?.string("auth")))
  }
}
