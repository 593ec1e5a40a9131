import Foundation
import Postgres
import Simulator
import Support
import Testing
import Wire

/// The gateway for softphones in a real hub.
@Suite struct SoftphoneCrashTests {
  @Test func `What was acknowledged is in the ledger of a hub that is killed, and its log has no key`() async throws {
    try await withProcessFixture { fixture in
      let made = try await fixture.pushcart.run(
        "key", "add", "--customer", "1", "--name", "PBX", "--scope", "send", "--json")
      let key = try #require(try made.json.string("token"))
      let hub = try await fixture.serve()
      let pushes = (1...40).map { number in
        let token = Data([UInt8](repeating: UInt8(number), count: 32)).base64EncodedString()
        return
          #"{"verb":"NotifyTextMessage","AppId":"\#(ProcessFixture.appID)","DeviceToken":"\#(token)","Selector":"acc\#(number)","Message":"x"}"#
      }
      let reply = try await hub.server.send(
        "POST", "/k/\(key)/pnm2/multisend", json: "[\(pushes.joined(separator: ","))]")
      await hub.process.die()
      let codes = try #require(try Self.list(reply.json)).map { $0.integer("code") }
      #expect(codes == Array(repeating: 200, count: 40))
      let accepted = try await fixture.database.query(
        "SELECT original_id FROM push JOIN contact USING (customer_id, contact_id) WHERE state = 'accepted'")
      #expect(Set(try accepted.map { try $0.decode(String.self) }) == Set((1...40).map { "acc\($0)" }))
      #expect(fixture.simulator.apns.count == 40)
      #expect(!hub.process.text.contains(key))
    }
  }

  @Test func `A push that waits for its service when the hub is killed is sent by the next one`() async throws {
    try await withProcessFixture { fixture in
      let made = try await fixture.pushcart.run(
        "key", "add", "--customer", "1", "--name", "PBX", "--scope", "send", "--json")
      let key = try #require(try made.json.string("token"))
      fixture.simulator.apns.rule(.any, .resetStream)
      let first = try await fixture.serve()
      let token = Data([UInt8](repeating: 7, count: 32)).base64EncodedString()
      async let reply = try? first.server.send(
        "POST", "/k/\(key)/pnm2/send",
        json:
          #"{"verb":"NotifyReprovision","AppId":"\#(ProcessFixture.appID)","DeviceToken":"\#(token)","Selector":"a"}"#)
      try await waitUntil { try await !fixture.database.query("SELECT FROM push WHERE state = 'waiting'").isEmpty }
      await first.process.die()
      #expect(await reply == nil)
      fixture.simulator.apns.removeRules()
      let second = try await fixture.serve()
      try await waitUntil { try await !fixture.database.query("SELECT FROM push WHERE state = 'accepted'").isEmpty }
      await second.process.die()
    }
  }

  private static func list(_ json: JSONValue) -> [JSONValue]? {
    if case .array(let items) = json { items } else { nil }
  }
}
