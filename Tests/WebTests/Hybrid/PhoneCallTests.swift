import Foundation
import Hybrid
import Postgres
import Providers
import Registry
import Support
import Testing
import Wire

@Suite struct PhoneCallTests {
  @Test func `A call speaks the PIN that the SMS had, as long as that is good`() async throws {
    try await withPhoneServer { phones in
      let calls = Calls()
      var whole = WholeWebServer(
        phones.database.pool, vault: phones.managed.vault,
        services: try PushServices(.nowhere, logger: TestServer.logger))
      whole.makeCall = { call, _ in
        await calls.add(call)
        return true
      }
      try await withTestWebServer(try whole.routes) { server in
        let path = "/v1.0/voiceotp/requestcode"
        var phone = TestPhone(server, appKey: phones.app.appKey, secret: phones.app.appSecret)
        try await phone.register()
        let early = try await phone.send("POST", path, #"{"msisdn":"0031612345678","language":"en"}"#)
        #expect(early.status == 400 && early.text.contains("No PIN was sent"))
        _ = try await phone.put(#"{"Msisdn":"0031612345678"}"#)
        let pin = try await phones.pin("0031612345678")
        for (json, status) in [
          (#"{"msisdn":"0031612345679","language":"en"}"#, 400), (#"{"msisdn":"x"}"#, 400), (#"{"language":"1"}"#, 400),
          (#"{"msisdn":"0031612345678","language":"en"}"#, 200),
          (#"{"msisdn":"+31612345678","language":"NL-nl"}"#, 200),
          ("{}", 200), ("{}", 429),
        ] {
          let reply = try await phone.send("POST", path, json)
          #expect(reply.status == status, "\(json): \(reply.text)")
          if status == 200 { #expect(reply.text == "{}") }
        }
        #expect(await calls.all.map(\.pin) == [pin, pin, pin])
        #expect(await calls.all.map(\.language) == ["en", "nl", nil])
        #expect(await calls.all.allSatisfy { $0.number.digits == "31612345678" && $0.text == "Your code is {{pin}}" })

        try await phones.database.query("UPDATE hybrid_registration SET pin_expires_at = now() - interval '1 second'")
        try await phones.forgetRates()
        #expect(try await phone.send("POST", path, "{}").status == 400)
        try await phones.database.query("UPDATE hybrid_registration SET pin_expires_at = now() + interval '1 hour'")
        #expect(
          try await phone.put(#"{"VerificationCode":"\#(pin)"}"#).json.string("RegistrationStatus") == "PinVerified")
        #expect(try await phone.send("POST", path, "{}").status == 400)
        #expect(await calls.all.count == 3)
      }
    }
  }

  @Test func `A customer whose provider makes no calls is told so`() async throws {
    try await withPhoneServer { phones in
      var phone = phones.phone()
      try await phone.register(#"{"Msisdn":"0031612345678"}"#)
      let reply = try await phone.send("POST", "/v1.0/voiceotp/requestcode", "{}")
      #expect(reply.status == 409 && reply.text.contains("No call can be made"))
    }
  }
}

private actor Calls {
  private(set) var all: [PINCall] = []

  func add(_ call: PINCall) { all.append(call) }
}
