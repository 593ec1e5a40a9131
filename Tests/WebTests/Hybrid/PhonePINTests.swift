import Foundation
import Postgres
import Simulator
import Support
import Testing
import Wire

/// How PINs are sent and tried, how often, and that nobody else learns them.
@Suite struct PhonePINTests {
  @Test func `A PIN has five tries, however many come at once`() async throws {
    try await withPhoneServer { phones in
      var phone = phones.phone()
      try await phone.register(#"{"Msisdn":"0031612345678"}"#)
      let pin = try await phones.pin("0031612345678")
      let wrong = (0..<sampleSize(of: 10_000)).map { String(String($0 + 100_000).suffix(5)) }.filter { $0 != pin }
      let now = Int64(Date().timeIntervalSince1970)
      let answered = try await withThrowingTaskGroup(of: Int.self) { [phone] group in
        for first in 0..<64 {
          group.addTask {
            var answered = 0
            for index in stride(from: first, to: wrong.count, by: 64) {
              // The clock may stand at any of 300 moments; what repeats the signature of one with another code is refused.
              let reply = try await phone.put(
                #"{"VerificationCode":"\#(wrong[index])"}"#, at: now + Int64(index % 300) - 50)
              #expect(reply.status == 200 || reply.status == 429, "\(reply.text)")
              if reply.status == 200 { answered += 1 }
            }
            return answered
          }
        }
        return try await group.reduce(0, +)
      }
      #expect(answered == 300)
      let tries = try await phones.database.query("SELECT pin_tries FROM hybrid_registration")[0].decode(Int16.self)
      let failures = try await phones.database.query("SELECT FROM hybrid_pin_event WHERE kind = 'failed'").count
      #expect(tries == 5 && failures == 5)
    }
  }

  @Test func `After five tries, and after ten minutes, the right code verifies nothing`() async throws {
    try await withPhoneServer { phones in
      var phone = phones.phone()
      try await phone.register(#"{"Msisdn":"0031612345678"}"#)
      let now = Int64(Date().timeIntervalSince1970)
      for second in 0..<5 as Range<Int64> {
        let reply = try await phone.put(#"{"VerificationCode":"wrong"}"#, at: now - second)
        #expect(try reply.json.string("RegistrationStatus") == "LastPinVerificationFailed")
      }
      let pin = try await phones.pin("0031612345678")
      let late = try await phone.put(#"{"VerificationCode":"\#(pin)"}"#, at: now - 6)
      #expect(try late.json.string("RegistrationStatus") == "LastPinVerificationFailed")
      // The next PUT with the number makes another PIN.
      let again = try await phone.put(#"{"Msisdn":"0031612345678"}"#, at: now - 7)
      #expect(try again.json.string("RegistrationStatus") == "WaitingForPin")
      try await phones.database.query("UPDATE hybrid_registration SET pin_expires_at = now() - interval '1 second'")
      let expired = try await phone.put(
        #"{"VerificationCode":"\#(try await phones.pin("0031612345678"))"}"#, at: now - 8)
      #expect(try expired.json.string("RegistrationStatus") == "LastPinVerificationFailed")
    }
  }

  @Test func `A number gets three SMS an hour and ten a day, and phones of one address twenty an hour`() async throws {
    try await withPhoneServer { phones in
      let number = "0031612345678"
      for _ in 0..<3 {
        var phone = phones.phone()
        #expect(try await phone.register(#"{"Msisdn":"\#(number)"}"#).status == 200)
      }
      var phone = phones.phone()
      let refused = try await phone.register(#"{"Msisdn":"\#(number)"}"#)
      #expect(refused.status == 429)
      let wait = try #require(refused.header("Retry-After").flatMap { Int($0) })
      #expect((3000...3600).contains(wait))
      #expect(try await phones.texts(number).count == 3)
      // A phone that was refused left nothing.
      #expect(try await phones.database.query("SELECT FROM hybrid_registration").count == 3)

      // Ten on one day.
      try await phones.database.query(
        """
        UPDATE hybrid_rate SET sent_at = ARRAY(SELECT now() - interval '2 hours' FROM generate_series(1, 9))
        WHERE subject LIKE 'number/%'
        """)
      #expect(try await phone.register(#"{"Msisdn":"\#(number)"}"#).status == 200)
      try await phones.database.query(
        "UPDATE hybrid_rate SET sent_at = ARRAY(SELECT u - interval '2 hours' FROM unnest(sent_at) u) WHERE subject LIKE 'number/%'"
      )
      #expect(try await phone.register(#"{"Msisdn":"\#(number)"}"#).status == 429)
      try await phones.database.query(
        "UPDATE hybrid_rate SET sent_at = ARRAY(SELECT u - interval '1 day' FROM unnest(sent_at) u) WHERE subject LIKE 'number/%'"
      )
      #expect(try await phone.register(#"{"Msisdn":"\#(number)"}"#).status == 200)

      try await phones.forgetRates()
      for last in 0..<20 {
        #expect(try await phone.register(#"{"Msisdn":"00316111111\#(10 + last)"}"#).status == 200)
      }
      #expect(try await phone.register(#"{"Msisdn":"0031622222222"}"#).status == 429)
      #expect(try await phones.texts("0031622222222").isEmpty)
      // A refusal by the address takes nothing from the number.
      let rates = try await phones.database.query("SELECT FROM hybrid_rate WHERE subject = 'number/31622222222'")
      #expect(rates.isEmpty)
    }
  }

  @Test func `All phones of an app together get as many PINs an hour as its setting says`() async throws {
    try await withPhoneServer { phones in
      let change = try await phones.managed.send(
        "PATCH", "/api/v1/hybrid/com.acme.app", json: #"{"pinsPerHour":2}"#)
      #expect(try change.json["pinsPerHour"] == 2)
      func ask(_ last: Int) async throws -> TestReply {
        var phone = phones.phone()
        return try await phone.register(#"{"Msisdn":"003161111111\#(last)"}"#)
      }
      for last in 1...2 { #expect(try await ask(last).status == 200) }
      let refused = try await ask(3)
      #expect(refused.status == 429)
      let wait = try #require(refused.header("Retry-After").flatMap { Int($0) })
      #expect((1000...1800).contains(wait))
      #expect(try await phones.texts("0031611111113").isEmpty)
      // Half an hour later there is one more.
      func pass(_ time: String) async throws {
        try await phones.database.query(
          "UPDATE hybrid_rate SET sent_at = ARRAY[sent_at[1] - interval '\(time)'] WHERE spent IS NOT NULL")
      }
      try await pass("30 minutes")
      #expect(try await ask(3).status == 200)
      #expect(try await ask(4).status == 429)
      // After days of rest there are no more than two.
      try await pass("3 days")
      #expect(try await [ask(4), ask(5), ask(6)].map(\.status) == [200, 200, 429])
    }
  }

  @Test func `The SMS has the PIN that verifies its number, and no table has it before or after`() async throws {
    try await withSimulator { simulator in
      try await withPhoneServer(.init(simulator)) { phones in
        simulator.sms.register(productToken: "sesame")
        let set = try await phones.managed.send(
          "PUT", "/api/v1/sms",
          json: #"{"provider":"cm","sender":"Acme","productToken":"sesame","url":"\#(simulator.cmURL)"}"#)
        #expect(set.status == 200, "\(set)")
        var phone = phones.phone()
        try await phone.register(#"{"Msisdn":"0031612345678"}"#)
        try await waitUntil { !simulator.sms.messages.isEmpty }
        let text = try #require(simulator.sms.messages.first?.text)
        let pin = String(text.suffix(5))
        #expect(text == "Your code is \(pin)" && pin.utf8.allSatisfy { (0x30...0x39).contains($0) })
        let stored = """
          SELECT m.body ->> 'alert', position($1::text IN (m.body::jsonb #- '{fields,pinSource}')::text) > 0
              OR position($1::text IN coalesce(m.properties::text, '')) > 0 FROM message m
          """
        for isUsed in [false, true] {
          if isUsed {
            let reply = try await phone.put(#"{"VerificationCode":"\#(pin)"}"#)
            #expect(try reply.json.string("RegistrationStatus") == "PinVerified")
          }
          let (alert, isReadable) = try await phones.database.query(stored, pin)[0].decode(String.self, Bool.self)
          #expect(alert == "Your code is {{pin}}" && !isReadable)
          #expect(try await phone.send("GET", "/v1.0/messages").text.contains(pin) == false)
        }
      }
    }
  }

  @Test(arguments: ["messages/preview", "messages", "sendouts", "triggers"])
  func `No message of a caller may name the source of a PIN`(path: String) async throws {
    try await withPhoneServer { phones in
      let target =
        switch path {
        case "sendouts": #""audience":{"all":true}"#
        case "triggers": #""name":"t""#
        default: #""to":{"originalId":"0031612345678"}"#
        }
      let reply = try await phones.managed.send(
        "POST", "/api/v1/\(path)",
        json: #"{"appId":"com.acme.app",\#(target),"message":{"alert":"{{pin}}","fields":{"pinSource":"x"}}}"#)
      #expect(
        reply.status == 400 && reply.error?.hasPrefix("message.fields.pinSource has a name that is taken") == true)
    }
  }

  @Test func `The database keeps no PIN with its registration, and every PIN has its own nonce`() async throws {
    try await withPhoneServer { phones in
      var phone = phones.phone()
      try await phone.register(#"{"Msisdn":"0031612345678"}"#)
      let pin = try await phones.pin("0031612345678")
      let row = try await phones.database.query("SELECT r::text, pin_nonce, pin_hash FROM hybrid_registration r")[0]
      let (text, nonce, hash) = try row.decode(String.self, Bytes.self, Bytes.self)
      #expect(!text.contains(pin) && hash.bytes.count == 32)
      _ = try await phone.put(#"{"Msisdn":"0031612345678"}"#)
      let second = try await phones.database.query("SELECT pin_nonce FROM hybrid_registration")[0].decode(Bytes.self)
      #expect(second.bytes != nonce.bytes)
    }
  }

  @Test func `The timeline of a number's contact has its PINs`() async throws {
    try await withPhoneServer { phones in
      var phone = phones.phone()
      try await phone.register(#"{"Msisdn":"0031612345678"}"#)
      _ = try await phone.put(#"{"VerificationCode":"x"}"#)
      let pin = try await phones.pin("0031612345678")
      _ = try await phone.put(#"{"VerificationCode":"\#(pin)"}"#)
      let reply = try await phones.managed.send("GET", "/api/v1/reports/timeline?contact=0031612345678")
      let events = try reply.json.array("rows")?.compactMap { $0.string("event") }.filter { $0.hasPrefix("pin") }
      #expect(events?.sorted() == ["pin failed", "pin sent", "pin verified"])
    }
  }

  @Test func `Wrong codes are limited for a number, an address and an app, and then a right one is refused as well`()
    async throws
  {
    try await withPhoneServer { phones in
      /// Lets PINs go on, but no codes.
      func forgetPINs() async throws {
        try await phones.database.query("DELETE FROM hybrid_rate WHERE subject NOT LIKE 'codes/%'")
      }
      func guess(_ phone: TestPhone, _ number: String, _ count: Int) async throws -> [Int] {
        var statuses: [Int] = []
        for index in 0..<count {
          if index % 5 == 0 {
            try await forgetPINs()
            #expect(try await phone.put(#"{"Msisdn":"\#(number)"}"#).status == 200)
          }
          statuses.append(try await phone.put(#"{"VerificationCode":"x"}"#).status)
        }
        return statuses
      }
      func tryRight(_ phone: TestPhone, _ number: String) async throws -> TestReply {
        try await forgetPINs()
        #expect(try await phone.put(#"{"Msisdn":"\#(number)"}"#).status == 200)
        return try await phone.put(#"{"VerificationCode":"\#(try await phones.pin(number))"}"#)
      }
      func passTime(_ subject: String, _ time: String) async throws {
        try await phones.database.query(
          "UPDATE hybrid_rate SET sent_at = ARRAY[sent_at[1] - interval '\(time)'] WHERE subject LIKE '\(subject)'")
      }
      let (first, second) = ("0031612345678", "0031687654321")
      var phone = phones.phone()
      try await phone.register()
      #expect(try await guess(phone, first, 15) == Array(repeating: 200, count: 15))
      let refused = try await tryRight(phone, first)
      let wait = try #require(refused.header("Retry-After").flatMap { Int($0) })
      #expect(refused.status == 429 && (5000...5760).contains(wait), "\(refused)")
      #expect(
        try await phone.send("GET", "/v1.0/deviceregistrations").json.string("RegistrationStatus") == "WaitingForPin")
      // More than half of so many codes were wrong.
      let alarm = try await phones.managed.send("GET", "/api/v1/hybrid/com.acme.app").json["alarm"]
      #expect(alarm?.string("reason")?.hasPrefix("15 of the 15 codes of the last hour were wrong.") == true)

      // Another number has five left at this address.
      var other = phones.phone()
      try await other.register()
      #expect(try await guess(other, second, 6) == [200, 200, 200, 200, 200, 429])
      // A right code takes nothing, however often.
      try await passTime("codes/%", "3 minutes")
      #expect(try await tryRight(other, second).json.string("RegistrationStatus") == "PinVerified")
      let third = "0031611111111"
      #expect(try await tryRight(other, third).json.string("RegistrationStatus") == "PinVerified")
      #expect(try await guess(other, second, 2) == [200, 429])

      // Time gives codes back to a number: one in 96 minutes.
      try await passTime("codes/number/%", "97 minutes")
      try await passTime("codes/address/%", "1 hour")
      #expect(try await guess(phone, first, 2) == [200, 429])

      // However many numbers and addresses: an app of few PINs has twenty an hour.
      _ = try await phones.managed.send("PATCH", "/api/v1/hybrid/com.acme.app", json: #"{"pinsPerHour":100}"#)
      try await phones.database.query("DELETE FROM hybrid_rate WHERE subject LIKE 'codes/%'")
      var statuses: [Int] = []
      for last in 0..<5 {
        var stranger = phones.phone()
        try await stranger.register()
        statuses += try await guess(stranger, "003162222222\(last)", 5)
        try await phones.database.query(
          "DELETE FROM hybrid_rate WHERE subject LIKE 'codes/number/%' OR subject LIKE 'codes/address/%'")
      }
      #expect(statuses == Array(repeating: 200, count: 20) + Array(repeating: 429, count: 5))
    }
  }

  @Test(arguments: [4, 6, 8])
  func `New PINs have as many digits as the app is set to, and one that was sent stays as it is`(digits: Int)
    async throws
  {
    try await withPhoneServer { phones in
      func set(_ digits: Int) async throws {
        let set = try await phones.managed.send(
          "PATCH", "/api/v1/hybrid/com.acme.app", json: #"{"pinDigits":\#(digits)}"#)
        #expect(try set.json.integer("pinDigits") == Int64(digits))
      }
      func sent(_ number: String) async throws -> Substring? {
        try await phones.texts(number).last?.split(separator: " ").last
      }
      try await set(digits)
      var phone = phones.phone()
      try await phone.register(#"{"Msisdn":"0031612345678"}"#)
      let pin = try #require(try await sent("0031612345678"))
      #expect(pin.utf8.count == digits && pin.utf8.allSatisfy { (0x30...0x39).contains($0) })
      try await set(5)
      var other = phones.phone()
      try await other.register(#"{"Msisdn":"0031687654321"}"#)
      #expect(try await sent("0031687654321")?.utf8.count == 5)
      #expect(
        try await phone.put(#"{"VerificationCode":"\#(pin)"}"#).json.string("RegistrationStatus") == "PinVerified")
    }
  }
}
