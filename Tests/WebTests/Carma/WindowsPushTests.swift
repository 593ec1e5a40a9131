import AsyncHTTPClient
import Content
import Delivery
import Foundation
import NIOCore
import Registry
import Sendouts
import Simulator
import Support
import Testing
import Wire

/// A Windows app by REST, from its credentials and a device's registration to the toast.
@Suite struct WindowsPushTests {
  @Test func `A device that registers by Carma's REST gets a toast, and Windows shows it`() async throws {
    try await withSendingBench(simulator: { $0.phonePort = 0 }) { bench in
      bench.simulator.wns.register(tenantID: "acme.example", clientID: "c-7", secret: "acme-secret", name: "Acme")
      let key = try await AccessKeys(bench.pool).make(bench.customer, name: "admin", scope: .admin).token
      try await bench.withWholeServer { server in
        let added = try await server.send(
          "POST", "/api/v1/apps", key: key,
          json: """
            {"name":"Acme","appId":"com.acme.win","appType":3,"tenantId":"acme.example","clientId":"c-7",\
            "clientSecret":"acme-secret"}
            """)
        #expect(added.status == 201, "\(added)")
        #expect(try added.json.array("credentials")?.first?.string("account") == "acme.example/c-7")
        let id = try #require(try added.json.integer("pushAppId"))
        #expect(try await server.send("POST", "/api/v1/apps/\(id)/check", key: key).status == 200)
        #expect(bench.simulator.wns.count == 0)

        func register(_ channel: String) async throws -> TestReply {
          try await server.send(
            "PUT", "/rest/\(bench.customer)/apps/com.acme.win/pushdevices",
            headers: [("X-Carma-Authentication-Token", key)],
            json: #"{"originalId":"me","firstName":"Robin","deviceInfo":[{"devicetoken":"\#(channel)","appType":"3"}]}"#
          )
        }
        // Twice, as the second request finds key and app in caches.
        for _ in 1...2 {
          let elsewhere = try await register("https://evil.example/?token=a")
          #expect(elsewhere.status == 400, "\(elsewhere)")
          #expect(
            try elsewhere.json.string("error")
              == "deviceInfo[0].devicetoken must be at a host that PUSHCART_WNS_ALLOWED_HOSTS names."
          )
          #expect(try await register("AwYAAA").status == 400)
          #expect(try await register(bench.simulator.channel("win-1")).status == 200)
        }

        let sent = try await server.send(
          "POST", "/api/v1/messages", key: key,
          json: """
            {"appId":"com.acme.win","to":{"originalId":"me"},"wait":30,"message":{"alert":"Hi {{firstName}} <&>",\
            "info":"More","fields":{"url2":"x"}}}
            """)
        #expect(sent.status == 201, "\(sent)")
        #expect(try sent.json.string("state") == "accepted")
      }
      let toast = try #require(bench.simulator.wns.requests.first)
      #expect(toast.channel == bench.simulator.channel("win-1") && toast.texts == ["Hi Robin <&>", "More"])
      let response = try await HTTPClient.shared.execute(
        HTTPClientRequest(url: try #require(bench.simulator.phoneURL) + "/"), timeout: .seconds(600))
      let page = String(buffer: try await response.body.collect(upTo: 1 << 20))
      let screen = try #require(page.components(separatedBy: #"data-phone="windows""#).last)
      #expect(screen.contains("Hi Robin &lt;&amp;&gt;</strong>"))
    }
  }
}
