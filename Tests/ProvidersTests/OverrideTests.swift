import Foundation
import Testing
import Wire

@testable import Providers

/// What overrides may hold.
@Suite struct OverrideTests {
  private func problem(_ json: String) throws -> OverrideProblem? {
    PushServices.problem(in: try JSONCoding.decode(MessageOverrides.self, from: json.utf8))
  }

  @Test(
    arguments: [
      (#"{"apns":{"headers":{"authorization":"x"}}}"#, "apns.headers.authorization"),
      (#"{"apns":{"headers":{":path":"x"}}}"#, "apns.headers.:path"),
      (#"{"apns":{"headers":{"apns-id":"x"}}}"#, "apns.headers.apns-id"),
      (#"{"apns":{"headers":{"apns-priority":5}}}"#, "apns.headers.apns-priority"),
      (#"{"apns":{"headers":{"apns-priority":"7"}}}"#, "apns.headers.apns-priority"),
      (#"{"apns":{"headers":{"apns-push-type":"toast"}}}"#, "apns.headers.apns-push-type"),
      (#"{"apns":{"headers":{"apns-expiration":"soon"}}}"#, "apns.headers.apns-expiration"),
      (#"{"apns":{"headers":{"apns-topic":null}}}"#, "apns.headers.apns-topic"),
      (#"{"apns":{"headers":{"apns-topic":"a\r\nb"}}}"#, "apns.headers.apns-topic"),
      (
        #"{"apns":{"headers":{"apns-collapse-id":"0123456789012345678901234567890123456789012345678901234567890123456"}}}"#,
        "apns.headers.apns-collapse-id"
      ),
      (#"{"fcm":{"token":"t"}}"#, "fcm.token"), (#"{"fcm":{"topic":"t"}}"#, "fcm.topic"),
      (#"{"fcm":{"condition":null}}"#, "fcm.condition"), (#"{"fcm":{"data":{"a":1}}}"#, "fcm.data.a"),
      (#"{"fcm":{"data":{"google.x":"1"}}}"#, "fcm.data.google.x"),
      (#"{"fcm":{"android":{"collapseKey":"x"}}}"#, "fcm.android.collapseKey"),
      (#"{"fcm":{"android":{"notification":{"sticky":"yes"}}}}"#, "fcm.android.notification.sticky"),
      (#"{"fcm":{"android":"x"}}"#, "fcm.android"), (#"{"hms":{"token":["t"]}}"#, "hms.token"),
      (#"{"hms":{"data":{}}}"#, "hms.data"),
      (#"{"hms":{"android":{"notification":{"badge":{"add":1}}}}}"#, "hms.android.notification.badge.add"),
      (#"{"wns":{"headers":{"Authorization":"x"}}}"#, "wns.headers.Authorization"),
      (#"{"wns":{"type":"wns/phone"}}"#, "wns.type"),
      (#"{"webpush":{"headers":{"Content-Encoding":"gzip"}}}"#, "webpush.headers.Content-Encoding"),
      (#"{"webpush":{"headers":{"TTL":null}}}"#, "webpush.headers.TTL"),
    ])
  func `What a service does not have, and what is the hub's own, is refused by its path`(
    _ overrides: String, _ field: String
  ) throws {
    #expect(try problem(overrides)?.field == field)
  }

  @Test(arguments: [
    #"{"apns":{"headers":{"apns-priority":"{{p}}","apns-collapse-id":null,"apns-expiration":"0"},"payload":{"x":[1,null]}}}"#,
    #"{"fcm":{"data":{"a":"{{b}}","c":null},"android":{"ttl":"60s","notification":{"vibrate_timings":["1s"]}}}}"#,
    #"{"fcm":{"apns":{"headers":{"apns-priority":"5"}},"webpush":{"fcm_options":{"link":"https://a"}}}}"#,
    #"{"hms":{"android":{"urgency":"HIGH","notification":{"badge":{"add_num":1,"class":"a.B"}}}}}"#,
    #"{"wns":{"headers":{"X-WNS-Tag":"{{t}}"},"type":"wns/raw"},"webpush":{"headers":{"Urgency":"low","Topic":null}}}"#,
  ])
  func `What a service has is taken, null and templates too`(_ overrides: String) throws {
    #expect(try problem(overrides) == nil)
  }

  @Test func `The example of the API is taken`() {
    #expect(PushServices.problem(in: .example) == nil)
  }

  /// The examples of RFC 7396, appendix A.
  @Test(
    arguments: [
      [#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#], [#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#],
      [#"{"a":"b"}"#, #"{"a":null}"#, "{}"], [#"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#],
      [#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#], [#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#],
      [#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#],
      [#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#], [#"["a","b"]"#, #"["c","d"]"#, #"["c","d"]"#],
      [#"{"a":"b"}"#, #"["c"]"#, #"["c"]"#], [#"{"a":"foo"}"#, "null", "null"],
      [#"{"a":"foo"}"#, #""bar""#, #""bar""#],
      [#"{"e":null}"#, #"{"a":1}"#, #"{"a":1,"e":null}"#], ["[1,2]", #"{"a":"b","c":null}"#, #"{"a":"b"}"#],
      ["{}", #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#],
    ])
  func `A merge patch does what RFC 7396 says`(_ example: [String]) throws {
    let values = try example.map { try JSONValue(json: Array($0.utf8)) }
    #expect(String(decoding: values[0].merging(values[1]).json, as: UTF8.self) == example[2])
  }
}
