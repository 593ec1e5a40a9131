import Foundation
import Hybrid
import Postgres
import Registry
import Support
import Testing
import Wire

@Suite struct PhoneRegistrationTests {
  @Test func `A verified phone is a device while it has a token, its number and notifications`() async throws {
    try await withPhoneServer { phones in
      var phone = phones.phone()
      phone.userAgent = "hm_sdk/1.2.5 (ios 9.0; iPhone7,2; en)"
      let token = String(repeating: "ab", count: 32)
      try await phone.register(#"{"Msisdn":"0031612345678","PushToken":"<\#(token)>","IsDevelopment":true}"#)
      #expect(try await devices(phones) == [])
      let pin = try await phones.pin("0031612345678")
      let verified = try await phone.put(#"{"VerificationCode":"\#(pin)"}"#)
      #expect(try verified.json["RegisteredForPushNotification"] == true)
      #expect(try await devices(phones) == ["0031612345678 \(token) sandbox valid"])
      let carma = try await phones.managed.send(
        "GET", "/rest/\(phones.customer)/apps/com.acme.app/pushdevices/0031612345678",
        headers: [("X-Carma-Authentication-Token", phones.managed.key)])
      #expect(try carma.json.array("deviceInfo")?.map { $0.string("devicetoken") } == [token])

      // Notifications off, and on again.
      let off = try await phone.put(#"{"RegisteredForPushNotification":false}"#)
      #expect(try off.json["RegisteredForPushNotification"] == false)
      #expect(try await devices(phones) == ["0031612345678 \(token) sandbox invalid"])
      #expect(
        try await phone.put(#"{"RegisteredForPushNotification":true}"#).json["RegisteredForPushNotification"] == true)
      #expect(try await devices(phones) == ["0031612345678 \(token) sandbox valid"])

      // Another token, and another number.
      let second = String(repeating: "cd", count: 32)
      _ = try await phone.put(#"{"PushToken":"\#(second)","IsDevelopment":false}"#)
      #expect(
        try await devices(phones)
          == ["0031612345678 \(token) sandbox invalid", "0031612345678 \(second) production valid"])
      let moved = try await phone.put(#"{"Msisdn":"+31 6 8765 4321"}"#)
      #expect(
        try moved.json.string("Msisdn") == "0031687654321" && moved.json["RegisteredForPushNotification"] == false)
      #expect(try await devices(phones).allSatisfy { $0.hasSuffix("invalid") })
      _ = try await phone.put(#"{"VerificationCode":"\#(try await phones.pin("0031687654321"))"}"#)
      #expect(try await devices(phones).contains("0031687654321 \(second) production valid"))

      // A token that its push service has retired comes back with the next PUT of it.
      try await phones.database.query(
        "UPDATE device SET invalidated_at = now(), invalidation_type = 2 WHERE invalidated_at IS NULL")
      _ = try await phone.put(#"{"PushToken":"\#(second)"}"#)
      #expect(try await devices(phones).contains("0031687654321 \(second) production valid"))
    }
  }

  @Test func `The last phone that verifies a number evicts no other`() async throws {
    try await withPhoneServer { phones in
      let tokens = ["ab", "cd"].map { String(repeating: $0, count: 32) }
      for token in tokens {
        var phone = phones.phone()
        phone.userAgent = "ios"
        try await phone.register(#"{"Msisdn":"0031612345678","PushToken":"\#(token)"}"#)
        _ = try await phone.put(#"{"VerificationCode":"\#(try await phones.pin("0031612345678"))"}"#)
      }
      #expect(try await devices(phones) == tokens.map { "0031612345678 \($0) production valid" })
    }
  }

  @Test func `However many phones a number has, it keeps its SMS`() async throws {
    try await withPhoneServer { phones in
      try await phones.database.query("UPDATE customer SET devices_per_contact = 1")
      let tokens = ["ab", "cd"].map { String(repeating: $0, count: 32) }
      for token in tokens {
        var phone = phones.phone()
        phone.userAgent = "ios"
        try await phone.register(#"{"Msisdn":"0031612345678","PushToken":"\#(token)"}"#)
        _ = try await phone.put(#"{"VerificationCode":"\#(try await phones.pin("0031612345678"))"}"#)
      }
      let valid = try await phones.database.query(
        "SELECT token FROM device WHERE invalidated_at IS NULL ORDER BY token")
      #expect(try valid.map { try $0.decode(String.self) } == ["+31612345678", tokens[1]])
    }
  }

  /// Has a statement run as soon as a device with that token is registered, as another request would.
  private func onDevice(_ token: String, _ phones: PhoneServer, run statement: String) async throws {
    for statement in [
      "CREATE FUNCTION meanwhile() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \(statement); RETURN NULL; END $$",
      """
      CREATE TRIGGER meanwhile AFTER INSERT ON device FOR EACH ROW WHEN (NEW.token = '\(token)')
      EXECUTE FUNCTION meanwhile()
      """,
    ] { try await phones.database.query(statement) }
  }

  @Test func `Notifications that are turned off while a phone's number is verified stay off`() async throws {
    try await withPhoneServer { phones in
      let token = String(repeating: "ab", count: 32)
      try await onDevice(token, phones, run: "UPDATE hybrid_registration SET notifications = false")
      var phone = phones.phone()
      phone.userAgent = "ios"
      try await phone.register(#"{"Msisdn":"0031612345678","PushToken":"\#(token)"}"#)
      let reply = try await phone.put(#"{"VerificationCode":"\#(try await phones.pin("0031612345678"))"}"#)
      #expect(try reply.json["RegisteredForPushNotification"] == false)
      #expect(try await devices(phones) == ["0031612345678 \(token) production invalid"])
    }
  }

  @Test func `A token that comes while its phone changes the number is not registered for the number before`()
    async throws
  {
    try await withPhoneServer { phones in
      let tokens = ["ab", "cd"].map { String(repeating: $0, count: 32) }
      var phone = phones.phone()
      phone.userAgent = "ios"
      try await phone.register(#"{"Msisdn":"0031612345678","PushToken":"\#(tokens[0])"}"#)
      _ = try await phone.put(#"{"VerificationCode":"\#(try await phones.pin("0031612345678"))"}"#)
      try await onDevice(
        tokens[1], phones,
        run: """
          UPDATE hybrid_registration SET number = '31687654321', status = 'WaitingForPin', verified_at = NULL,
            device_number = NULL, device_token = NULL
          """)
      let reply = try await phone.put(#"{"PushToken":"\#(tokens[1])"}"#)
      #expect(
        try reply.json.string("Msisdn") == "0031687654321" && reply.json["RegisteredForPushNotification"] == false)
      #expect(try await devices(phones) == tokens.map { "0031612345678 \($0) production invalid" })
    }
  }

  @Test func `A number that has opted out leaves no registration, and an unknown DeviceID no signature`() async throws {
    try await withPhoneServer { phones in
      _ = try await phones.phone(verified: "0031612345678")
      try await phones.database.query(
        "UPDATE device SET invalidated_at = now(), invalidation_type = -1 WHERE token = '+31612345678'")
      try await phones.database.query("DELETE FROM hybrid_signature")
      var phone = phones.phone()
      #expect(try await phone.register(#"{"Msisdn":"0031612345678"}"#).status == 409)
      #expect(try await phones.database.query("SELECT FROM hybrid_registration").count == 1)
      phone.deviceID = UUID().uuidString
      #expect(try await phone.register().status == 200)
      #expect(try await phones.database.query("SELECT FROM hybrid_signature").isEmpty)
    }
  }

  @Test
  func `Phones of one address register a tenth as often as all phones of their app, and leave nothing beyond that`()
    async throws
  {
    try await withPhoneServer { phones in
      let change = try await phones.managed.send(
        "PATCH", "/api/v1/hybrid/com.acme.app", json: #"{"registrationsPerHour":60}"#)
      #expect(try change.json["registrationsPerHour"] == 60)
      var phone = phones.phone()
      #expect(try await phone.register().status == 200)
      // An address may have fifty at least, the app sixty.
      func spent() async throws -> [Int64] {
        try await phones.database.query(
          "SELECT extract(epoch FROM spent)::int8 FROM hybrid_rate WHERE subject LIKE 'registrations/%' ORDER BY subject"
        ).map { try $0.decode(Int64.self) }
      }
      #expect(try await spent() == [72, 60])
      for subject in ["registrations/address/%", "registrations/app/%"] {
        try await phones.database.query(
          "UPDATE hybrid_rate SET spent = interval '1 hour', sent_at = ARRAY[now()] WHERE subject LIKE '\(subject)'")
        for json in ["{}", #"{"Msisdn":"0031612345678"}"#] {
          var stranger = phones.phone()
          let refused = try await stranger.register(json)
          let wait = try #require(refused.header("Retry-After").flatMap { Int($0) })
          #expect(refused.status == 429 && refused.error != nil && (1...72).contains(wait))
        }
        #expect(try await phones.database.query("SELECT FROM hybrid_registration").count == 1)
        // A phone that is registered goes on.
        #expect(try await phone.put(#"{"PushToken":"aa"}"#).status == 200)
        try await phones.database.query(
          "UPDATE hybrid_rate SET sent_at = ARRAY[now() - interval '2 hours'] WHERE subject LIKE '\(subject)'")
        var other = phones.phone()
        #expect(try await other.register().status == 200)
        try await phones.database.query("DELETE FROM hybrid_registration WHERE push_token IS NULL")
      }
      #expect(try await phones.texts("0031612345678").isEmpty)
    }
  }

  @Test func `A registration takes a thousand changes a day`() async throws {
    try await withPhoneServer { phones in
      var phone = phones.phone()
      try await phone.register()
      let now = Int64(Date().timeIntervalSince1970)
      #expect(try await phone.put(#"{"PushToken":"aa"}"#, at: now).status == 200)
      try await phones.database.query(
        """
        INSERT INTO hybrid_signature (customer_id, registration_no, signature, body_hash)
        SELECT customer_id, registration_no, int4send(n), body_hash FROM hybrid_signature, generate_series(1, 999) AS n
        """)
      // A request that is repeated leaves nothing new.
      #expect(try await phone.put(#"{"PushToken":"aa"}"#, at: now).status == 200)
      let refused = try await phone.put(#"{"PushToken":"bb"}"#, at: now - 1)
      #expect(refused.status == 429 && refused.header("Retry-After") == "3600")
      #expect(try await phones.database.query("SELECT FROM hybrid_signature").count == 1000)
      // Another phone has its own.
      var other = phones.phone()
      try await other.register()
      #expect(try await other.put(#"{"PushToken":"cc"}"#).status == 200)
    }
  }

  @Test func `A signature that was used before is taken only with the same body`() async throws {
    try await withPhoneServer { phones in
      var phone = phones.phone()
      try await phone.register()
      let now = Int64(Date().timeIntervalSince1970)
      let body = #"{"PushToken":"aa"}"#
      #expect(try await phone.put(body, at: now).status == 200)
      #expect(try await phone.put(body, at: now).status == 200)
      let replayed = try await phone.put(#"{"PushToken":"bb"}"#, at: now)
      #expect(replayed.status == 429 && replayed.header("Retry-After") == "1")
      #expect(try await phone.put(#"{"PushToken":"bb"}"#, at: now - 1).status == 200)
      // So it is with another registration by a phone that has a DeviceID.
      let number = #"{"Msisdn":"0031612345678"}"#
      for (json, status) in [(number, 200), (number, 200), (#"{"Msisdn":"0031600000001"}"#, 429)] {
        #expect(try await phone.send("POST", "/v1.0/deviceregistrations", json, at: now - 2).status == status)
      }
      #expect(try await phones.texts("0031600000001").isEmpty)
      // Two phones of one second share a signature, and both count.
      var other = phones.phone()
      try await other.register()
      #expect(try await other.put(#"{"PushToken":"cc"}"#, at: now).status == 200)
      let tokens = try await phones.database.query(
        "SELECT push_token FROM hybrid_registration WHERE push_token IS NOT NULL ORDER BY push_token")
      #expect(try tokens.map { try $0.decode(String.self) } == ["bb", "cc"])
    }
  }

  @Test func `Every fault of a signature looks the same`() async throws {
    try await withPhoneServer { phones in
      var phone = phones.phone()
      try await phone.register()
      let other = try await phones.managed.send(
        "POST", "/api/v1/apps", key: phones.managed.otherKey, json: ManagementServer.app("com.other", nil))
      #expect(other.status == 201)
      let enabled = try await phones.managed.send(
        "POST", "/api/v1/hybrid", key: phones.managed.otherKey, json: #"{"appId":"com.other"}"#)
      let foreign = try enabled.json
      let now = Int64(Date().timeIntervalSince1970)
      var replies: [TestReply] = []
      replies.append(try await phone.send("GET", "/v1.0/messages", at: now - 400))
      for (key, secret) in [
        (phones.app.appKey, "wrong"), (foreign.string("appKey") ?? "", phones.app.appSecret), (UUID().uuidString, "x"),
        ("00000000-0001-8000-8000-000000000000", "x"), ("x", "x"),
      ] {
        let stranger = TestPhone(phones.managed.server, appKey: key, secret: secret, deviceID: phone.deviceID)
        replies.append(try await stranger.send("GET", "/v1.0/messages"))
      }
      for headers in [[], [("Authorization", "MAC x")], [("Authorization", "Bearer \(phones.managed.key)")]] {
        replies.append(try await phones.managed.server.send("GET", "/v1.0/messages", headers: headers))
      }
      for reply in replies {
        #expect(reply.status == 401 && reply.header("WWW-Authenticate") == "MAC" && reply.text == replies[0].text)
      }

      // With a good signature of its own app, another customer's phone is unknown.
      let thief = TestPhone(
        phones.managed.server, appKey: foreign.string("appKey") ?? "", secret: foreign.string("appSecret") ?? "",
        deviceID: phone.deviceID)
      let read = try await thief.send("GET", "/v1.0/messages")
      #expect(read.status == 404 && read.text.contains("No registration with DeviceID"))
      #expect(try await thief.put(#"{"PushToken":"stolen"}"#).status == 400)
    }
  }

  @Test func `A request must name its platform and its phone`() async throws {
    try await withPhoneServer { phones in
      var phone = phones.phone()
      phone.userAgent = "curl/8.0"
      let refused = try await phone.register()
      #expect(refused.status == 400 && refused.text.contains("User-Agent"))
      for (agent, platform) in [
        ("App/1.0 (Android 6.0; Maker; en) HM_SDK/2.1.1-SNAPSHOT", "Android"), ("Kiosk android", "Android"),
        ("AndroidHelper/1 (IOS 9.0)", "iOS"), ("x (Windows Phone 10)", "WindowsPhone"),
        ("WINDOWSPHONE", "WindowsPhone"),
      ] {
        phone.userAgent = agent
        phone.deviceID = nil
        #expect(try await phone.register().json.string("Platform") == platform, "\(agent)")
      }
      for (id, unknown) in [(nil, 400), ("x", 400), (UUID().uuidString, 404)] as [(String?, Int)] {
        phone.deviceID = id
        for (method, path, json, status) in [
          ("GET", "/v1.0/deviceregistrations", nil, unknown), ("PUT", "/v1.0/deviceregistrations", "{}", 400),
          ("GET", "/v1.0/messages", nil, unknown),
          ("PUT", "/v1.0/messages", #"{"UpdateID":"70000000001","Status":"Delivered"}"#, 400),
          ("POST", "/v1.0/voiceotp/requestcode", #"{"msisdn":"0031612345678"}"#, 400),
        ] as [(String, String, String?, Int)] {
          let reply = try await phone.send(method, path, json)
          #expect(reply.status == status && reply.text.contains("No registration with DeviceID"), "\(method) \(path)")
        }
      }
      #expect(try await phones.database.query("SELECT FROM hybrid_signature").isEmpty)
    }
  }

  @Test func `A body that is wrong is refused by its field`() async throws {
    try await withPhoneServer { phones in
      for (json, problem) in [
        (#"{"Msisdn":"0612345678"}"#, "Msisdn must be a telephone number"), (#"{"Msisdn":"x"}"#, "Msisdn must be"),
        (#"{"PushToken":"a b"}"#, "PushToken holds a blank"), (#"{"IsDevelopment":"maybe"}"#, "IsDevelopment must be"),
        (#"{"PushToken":{}}"#, "PushToken must be"), ("[]", "must be an object"), ("", "JSON"),
      ] as [(String, String)] {
        var phone = phones.phone()
        let reply = try await phone.register(json)
        #expect(reply.status == 400 && reply.text.contains(problem), "\(reply.text)")
        #expect(try await phones.database.query("SELECT FROM hybrid_registration").isEmpty, "\(json)")
      }
    }
  }

  @Test func `Whether a number is known to anybody is not to be learned`() async throws {
    try await withPhoneServer { phones in
      _ = try await phones.phone(verified: "0031612345678")
      var replies: [String] = []
      for number in ["0031612345678", "0031699999999"] {
        var phone = phones.phone()
        let added = try await phone.register(#"{"Msisdn":"\#(number)"}"#)
        let guessed = try await phone.put(#"{"VerificationCode":"x"}"#)
        let listed = try await phone.send("GET", "/v1.0/messages")
        replies.append(
          [added, guessed, listed].map { "\($0.status) " + $0.text }.joined().replacing(number, with: "NUMBER")
            .replacing(phone.deviceID ?? "", with: "ID").replacing(#/"Created":"[^"]*"/#, with: ""))
      }
      #expect(replies[0] == replies[1])
    }
  }

  @Test func `Without an app of SMS no number can be verified, and nothing is registered`() async throws {
    try await withPhoneServer { phones in
      try await phones.database.query("UPDATE push_app SET app_id = 'other' WHERE app_id = 'sms'")
      var phone = phones.phone()
      let reply = try await phone.register(#"{"Msisdn":"0031612345678"}"#)
      #expect(reply.status == 409 && reply.text.contains("SMS"))
      #expect(try await phones.database.query("SELECT FROM hybrid_registration").isEmpty)
    }
  }

  @Test func `What is of no use any more is deleted`() async throws {
    try await withPhoneServer { phones in
      _ = try await phones.phone(verified: "0031612345678")
      func count() async throws -> [Int] {
        try await phones.database.query(
          """
          SELECT ARRAY[(SELECT count(*) FROM hybrid_signature), (SELECT count(*) FROM hybrid_rate),
            (SELECT count(*) FROM hybrid_pin_event)]
          """)[0].decode([Int].self)
      }
      let pool = phones.database.pool
      try await PhoneRegistrations.forgetExpired(phones.customer, eventsAfterDays: 1, in: pool)
      #expect(try await count() == [1, 8, 2])
      for change in [
        "UPDATE hybrid_signature SET at = at - interval '2 days'",
        "UPDATE hybrid_pin_event SET at = at - interval '2 days'",
        "UPDATE hybrid_rate SET sent_at = ARRAY[now() - interval '2 days']",
      ] { try await phones.database.query(change) }
      try await PhoneRegistrations.forgetExpired(phones.customer, eventsAfterDays: nil, in: pool)
      #expect(try await count() == [0, 0, 2])
      try await PhoneRegistrations.forgetExpired(phones.customer, eventsAfterDays: 1, in: pool)
      #expect(try await count() == [0, 0, 0])
    }
  }

  @Test func `A registration without a verified number is deleted after 30 days without a change`() async throws {
    try await withPhoneServer { phones in
      let verified = try await phones.phone(verified: "0031612345678")
      var (changed, unused) = (phones.phone(), phones.phone())
      try await changed.register()
      try await unused.register()
      try await phones.database.query("UPDATE hybrid_registration SET changed_at = changed_at - interval '31 days'")
      #expect(try await changed.put(#"{"PushToken":"aa"}"#).status == 200)
      try await PhoneRegistrations.forgetExpired(phones.customer, eventsAfterDays: nil, in: phones.database.pool)
      for (phone, status) in [(verified, 200), (changed, 200), (unused, 404)] {
        #expect(try await phone.send("GET", "/v1.0/deviceregistrations").status == status)
      }
    }
  }

  @Test func `No table has a phone's DeviceID, and no other than its phone is shown it`() async throws {
    try await withPhoneServer { phones in
      let phone = try await phones.phone(verified: "0031612345678", token: "aa")
      _ = try await phone.put(#"{"VerificationCode":"x"}"#)
      let id = try #require(phone.deviceID)
      let tables = try await phones.database.query(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'")
      #expect(tables.count > 30)
      for table in try tables.map({ try $0.decode(String.self) }) {
        let rows = try await phones.database.query(
          "SELECT t::text FROM \(table) t WHERE t::text ILIKE '%' || $1::text || '%' OR t::text ILIKE '%' || $2::text || '%'",
          id, id.replacing("-", with: ""))
        #expect(rows.isEmpty, "\(table)")
      }
      let listed = try await phones.managed.send("GET", "/api/v1/hybrid/com.acme.app/phones")
      #expect(try listed.json.array("items")?.first?.string("number") == "0031612345678")
      for path in ["hybrid/com.acme.app/phones", "audit", "reports/timeline?contact=0031612345678"] {
        let reply = try await phones.managed.send("GET", "/api/v1/\(path)")
        #expect(reply.status == 200 && !reply.text.contains(id), "\(path)")
      }
      // In capitals it is the same.
      var loud = phone
      loud.deviceID = id.uppercased()
      #expect(try await loud.send("GET", "/v1.0/deviceregistrations").json.string("DeviceID") == id.lowercased())
    }
  }

  @Test func `A phone whose place another token takes is told, and the registration shows when and from where`()
    async throws
  {
    try await withPhoneServer { phones in
      var phone = phones.phone()
      phone.userAgent = "ios"
      let tokens = ["ab", "cd", "ef"].map { String(repeating: $0, count: 32) }
      try await phone.register(#"{"Msisdn":"0031612345678","PushToken":"\#(tokens[0])"}"#)
      _ = try await phone.put(#"{"VerificationCode":"\#(try await phones.pin("0031612345678"))"}"#)
      /// Who was told what, in the order of their pushes.
      func told() async throws -> [String] {
        try await phones.database.query(
          """
          SELECT d.token || ' ' || (m.body ->> 'alert')
          FROM push p JOIN device d USING (customer_id, device_id) JOIN push_app a USING (customer_id, push_app_id)
          JOIN message m ON m.customer_id = p.customer_id AND m.sendout_id = p.sendout_id AND p.push_no = ANY (m.push_nos)
          WHERE a.app_id = 'com.acme.app' ORDER BY p.push_no
          """
        ).map { try $0.decode(String.self) }
      }
      func shown() async throws -> JSONValue {
        try #require(
          try await phones.managed.send("GET", "/api/v1/hybrid/com.acme.app/phones?number=0031612345678").json
            .array("items")?.first)
      }
      #expect(try await told() == [])
      let fresh = try await shown()
      #expect(fresh["tokenChangedAt"] == nil && fresh["getsPushes"] == true)
      // The same token again is no change.
      _ = try await phone.put(#"{"PushToken":"\#(tokens[0])"}"#)
      #expect(try await told() == [])
      #expect(try await shown()["tokenChangedAt"] == nil)

      _ = try await phone.put(#"{"PushToken":"\#(tokens[1])"}"#)
      let words = HybridAppReply.movedTextOfHub
      #expect(try await told() == ["\(tokens[0]) \(words)"])
      let changed = try await shown()
      #expect(changed.string("tokenChangedFrom") == "127.0.0.1" && changed.string("tokenChangedAt") != nil)
      #expect(!(try await phones.managed.send("GET", "/api/v1/hybrid/com.acme.app/phones")).text.contains(tokens[1]))

      // No way round it: notifications off, another token, and on again. The text is the app's.
      _ = try await phones.managed.send("PATCH", "/api/v1/hybrid/com.acme.app", json: #"{"movedText":"Moved"}"#)
      try await waitUntil { [phone] in
        _ = try await phone.put(#"{"RegisteredForPushNotification":false}"#)
        _ = try await phone.put(#"{"PushToken":"\#(tokens[2])"}"#)
        _ = try await phone.put(#"{"RegisteredForPushNotification":true}"#)
        return try await told().count == 2
      }
      #expect(try await told()[1].hasPrefix(tokens[1]))
    }
  }

  /// Devices of the app `com.acme.app`, as in `0031612345678 abab production valid`.
  private func devices(_ phones: PhoneServer) async throws -> [String] {
    try await phones.database.query(
      """
      SELECT original_id || ' ' || token || CASE WHEN sandbox THEN ' sandbox' ELSE ' production' END
        || CASE WHEN invalidated_at IS NULL THEN ' valid' ELSE ' invalid' END
      FROM device JOIN contact USING (customer_id, contact_id) JOIN push_app USING (customer_id, push_app_id)
      WHERE app_id = 'com.acme.app' ORDER BY device_id
      """
    ).map { try $0.decode(String.self) }
  }
}
