import FoundationEssentials
import NIOHTTP1
import Simulator
import Support
import Testing
import Wire

/// What the simulated FCM refuses in a message, field by field.
@Suite struct FCMMessageTests {
  /// Both spellings of names, and every field.
  @Test(arguments: [
    #""data":{}"#, #""notification":{"title":"T","body":"B","image":"https://x.test/i.png"}"#,
    #""android":{"collapse_key":"k","priority":"high","ttl":"3600s","restricted_package_name":"com.acme","data":{"a":"b"},"direct_boot_ok":true,"fcm_options":{"analytics_label":"l"}}"#,
    #""android":{"collapseKey":"k","priority":"NORMAL","ttl":"0s","restrictedPackageName":"com.acme","directBootOk":false,"fcmOptions":{"analyticsLabel":"l"},"bandwidthConstrainedOk":true,"restrictedSatelliteOk":true}"#,
    #""android":{"ttl":"2419200s"}"#, #""android":{"ttl":"3.5s"}"#, #""android":{"ttl":null}"#,
    ##""android":{"notification":{"title":"T","body":"B","icon":"i","color":"#aaBB09","sound":"s","tag":"t","click_action":"c","body_loc_key":"k","body_loc_args":["a"],"title_loc_key":"k","title_loc_args":[],"channel_id":"c","ticker":"t","sticky":true,"event_time":"2026-01-02T03:04:05.678Z","local_only":false,"notification_priority":"PRIORITY_MAX","default_sound":true,"default_vibrate_timings":true,"default_light_settings":true,"vibrate_timings":["3.5s"],"visibility":"SECRET","notification_count":7,"image":"https://x.test/i.png","bypass_proxy_notification":true,"proxy":"DENY","light_settings":{"color":{"red":0.5,"green":1,"blue":0,"alpha":1},"light_on_duration":"1s","light_off_duration":"2s"}}}"##,
    #""apns":{"headers":{"apns-priority":"10"},"payload":{"aps":{"badge":1}},"fcm_options":{"image":"i"}}"#,
    #""webpush":{"headers":{"TTL":"15"},"data":{"a":"b"},"notification":{"title":"T","actions":[1]},"fcm_options":{"link":"https://x.test"}}"#,
    #""fcm_options":{"analytics_label":"l"},"name":"ignored""#,
  ])
  func `A valid message is accepted`(_ fields: String) async throws {
    try await withFCM { _, fcm in
      let answer = try await fcm.send(FCMRequester.body(fields))
      #expect(answer.status == 200, "\(answer.json)")
      #expect(answer.json.string("name")?.hasPrefix("projects/acme-shop/messages/0:") == true)
    }
  }

  @Test(arguments: [
    (#""datas":{}"#, "message"), (#""android":{"colapse_key":"k"}"#, "message.android"),
    (#""android":{"Priority":"HIGH"}"#, "message.android"), (#""android":{"collapse_Key":"k"}"#, "message.android"),
    (#""android":{"notification":{"count":1}}"#, "message.android.notification"),
    (#""notification":{"title":"T","click_action":"c"}"#, "message.notification"), (#""to":"x""#, "message"),
    (#""android":{"ttl":"1s"},"android":{}"#, "message"),
    (#""android":{"collapse_key":"a","collapseKey":"b"}"#, "message.android"),
  ])
  func `Unknown and repeated names are refused`(_ fields: String, _ field: String) async throws {
    try await withFCM { _, fcm in try await fcm.expect(fields, refusedAt: .string(field)) }
  }

  @Test func `An unknown name is reported in Google's words`() async throws {
    try await withFCM { _, fcm in
      let inside = try await fcm.send(FCMRequester.body(#""x":1"#))
      #expect(
        inside.message == #"Invalid JSON payload received. Unknown name "x" at 'message': Cannot find field."#)
      let outside = try await fcm.send(#"{"message":{"token":"abc"},"dry_run":true}"#)
      #expect(outside.message == #"Invalid JSON payload received. Unknown name "dry_run": Cannot find field."#)
      #expect(outside.fields == [""])
      let both = try await fcm.send(FCMRequester.body(#""x":1,"android":{"y":2}"#))
      #expect(both.fields == ["message", "message.android"])
    }
  }

  @Test func `A value of a wrong type is refused before FCM sees it`() async throws {
    try await withFCM { _, fcm in
      for (fields, field) in [
        (#""data":{"a":1}"#, "message.data[0].value"), (#""data":{"a":"b","c":{"d":"e"}}"#, "message.data[1].value"),
        (#""data":{"a":null}"#, "message.data[0].value"), (#""data":{"z":true,"a":"b"}"#, "message.data[0].value"),
        (#""data":[]"#, "message.data"), (#""data":{"a":"b","a":"c"}"#, "message.data[1].key"),
        (#""android":{"data":{"a":[]}}"#, "message.android.data[0].value"),
        (#""notification":"T""#, "message.notification"),
        (#""notification":{"title":7}"#, "message.notification.title"),
        (#""android":{"ttl":3600}"#, "message.android.ttl"), (#""android":{"ttl":"3600"}"#, "message.android.ttl"),
        (#""android":{"ttl":"1h"}"#, "message.android.ttl"), (#""android":{"ttl":"s"}"#, "message.android.ttl"),
        (#""android":{"ttl":"1.s"}"#, "message.android.ttl"), (#""android":{"ttl":"1.2.3s"}"#, "message.android.ttl"),
        (#""android":{"ttl":"+1s"}"#, "message.android.ttl"),
        (#""android":{"priority":"5"}"#, "message.android.priority"),
        (#""android":{"priority":"max"}"#, "message.android.priority"),
        (#""android":{"collapse_key":1}"#, "message.android.collapse_key"),
        (#""android":{"direct_boot_ok":"true"}"#, "message.android.direct_boot_ok"),
        (#""android":{"notification":{"color":"red"}}"#, "message.android.notification.color"),
        (#""android":{"notification":{"sticky":1}}"#, "message.android.notification.sticky"),
        (#""android":{"notification":{"event_time":"now"}}"#, "message.android.notification.event_time"),
        (#""android":{"notification":{"notification_count":1.5}}"#, "message.android.notification.notification_count"),
        (#""android":{"notification":{"visibility":"HIDDEN"}}"#, "message.android.notification.visibility"),
        (#""android":{"notification":{"title_loc_args":["a",1]}}"#, "message.android.notification.title_loc_args[1]"),
        (#""android":{"notification":{"vibrate_timings":[1]}}"#, "message.android.notification.vibrate_timings[0]"),
        (#""apns":{"headers":{"apns-priority":10}}"#, "message.apns.headers[0].value"),
        (#""apns":{"payload":"x"}"#, "message.apns.payload"),
        (#""webpush":{"notification":[]}"#, "message.webpush.notification"),
      ] as [(String, String)] {
        try await fcm.expect(fields, refusedAt: .string(field))
      }
    }
  }

  @Test func `Reserved keys and times to live beyond four weeks are refused by FCM itself`() async throws {
    try await withFCM { _, fcm in
      for (fields, field) in [
        (#""data":{"from":"x"}"#, "message.data"), (#""data":{"message_type":"x"}"#, "message.data"),
        (#""data":{"google.x":"x"}"#, "message.data"), (#""data":{"gcm":"x"}"#, "message.data"),
        (#""android":{"data":{"from":"x"}}"#, "message.android.data"),
        (#""android":{"ttl":"2419200.1s"}"#, "message.android.ttl"),
        (#""android":{"ttl":"-1s"}"#, "message.android.ttl"),
      ] as [(String, String)] {
        try await fcm.expect(fields, refusedAt: .string(field), code: "INVALID_ARGUMENT")
      }
    }
  }

  @Test func `What is no registration token is refused`() async throws {
    try await withFCM { _, fcm in
      for token in [
        "", " ", "a b", "tab\\t", "käse", "line\\n", String(repeating: "a", count: 4097),
      ] as [String] {
        let answer = try await fcm.send(FCMRequester.body(token: token))
        #expect(answer.status == 400 && answer.name == "INVALID_ARGUMENT", "\(token)")
        #expect(answer.errorCode == "INVALID_ARGUMENT", "\(token)")
        #expect(answer.message == "The registration token is not a valid FCM registration token", "\(token)")
        #expect(answer.fields.isEmpty, "\(token)")
      }
    }
  }

  @Test func `A message has exactly one target`() async throws {
    try await withFCM { simulator, fcm in
      for target in [
        #""topic":"news""#, #""topic":"/topics/private/a-b.c~d%20""#, #""condition":"'a' in topics""#,
        #""fid":"cVn7xyz""#, #""token":"\#(String(repeating: "a", count: 4096))""#,
      ] {
        try await fcm.expect(200, for: #"{"message":{\#(target)}}"#)
      }
      #expect(simulator.fcm.requests.map(\.token.count) == [0, 0, 0, 7, 4096])
      for body in [#"{"message":{"data":{}}}"#, "{}", #"{"message":null}"#] {
        let answer = try await fcm.send(body)
        #expect(answer.status == 400 && answer.fields == ["message"], "\(body)")
        #expect(answer.message == "Recipient of the message is not set.")
      }
      #expect(try await fcm.send(#"{"message":{"topic":"a b"}}"#).fields == ["message.topic"])
      #expect(try await fcm.send(#"{"message":{"condition":""}}"#).fields == ["message.condition"])
      try await fcm.expect(#""topic":"news""#, refusedAt: "message")
    }
  }

  @Test func `Keys and values of data and notification are 4096 bytes at most`() async throws {
    try await withFCM { _, fcm in
      func fields(_ size: Int) -> String {
        // "title", "alert" and the title "é" take 12 bytes.
        #""notification":{"title":"é"},"data":{"alert":"\#(String(repeating: "x", count: size - 12))"}"#
      }
      try await fcm.expect(200, for: FCMRequester.body(fields(4096)))
      try await fcm.expect(fields(4097), refusedAt: "message", code: "INVALID_ARGUMENT")
      // Android's own data replace the others.
      let own = #","android":{"data":{"a":"b"}}"#
      try await fcm.expect(200, for: FCMRequester.body(fields(4097) + own))
      let topic = #"{"message":{"topic":"news","data":{"a":"\#(String(repeating: "x", count: 2048))"}}}"#
      #expect(try await fcm.send(topic).fields == ["message"])
    }
  }

  @Test(arguments: ["", "{", "[]", "\"x\"", "nothing", #"{"message":{"token":"a"}} {}"#, #"{"message":[]}"#])
  func `What is no JSON object is refused`(_ body: String) async throws {
    try await withFCM { _, fcm in
      let answer = try await fcm.send(body)
      #expect(answer.status == 400 && answer.name == "INVALID_ARGUMENT" && answer.errorCode == nil)
    }
  }

  @Test func `The content type must be JSON, and the address must exist`() async throws {
    try await withFCM { _, fcm in
      #expect(try await fcm.send(contentType: "Application/JSON; charset=utf-8").status == 200)
      for type in [nil, "text/plain", "application/x-www-form-urlencoded"] as [String?] {
        #expect(try await fcm.send(contentType: type).status == 400)
      }
      #expect(try await fcm.send(method: .GET).status == 404)
      for path in [
        "/", "/v1/projects/acme-shop/messages", "/v1/projects//messages:send", "/fcm/send", "/batch",
        "/v1/projects/acme-shop/x/messages:send",
      ] {
        let answer = try await fcm.send(to: path)
        #expect(answer.status == 404, "\(path)")
        #expect(answer.header("content-type")?.hasPrefix("text/html") == true)
      }
    }
  }
}
