import Testing
import Wire

@Suite struct FilterErrorTests {
  @Test(arguments: wrongLines)
  func `An error says where the wrong word begins, and what to write`(_ marked: String, _ problem: String) throws {
    let scalars = Array(marked.unicodeScalars)
    let place = try #require(scalars.firstIndex(of: "▸"))
    let line = String(String.UnicodeScalarView(scalars.filter { $0 != "▸" }))
    let error = #expect(throws: FilterError.self) { try Filter(text: line) }
    #expect(error == FilterError(.character(place + 1), problem))
  }

  @Test func `A place counts Unicode scalars`() {
    let error = #expect(throws: FilterError.self) { try Filter(text: "city = 'e\u{301}👩‍🦰' and x = 1") }
    #expect(error?.description == "at 20: no field is called x; a property is written properties.x")
  }

  @Test(arguments: wrongTrees)
  func `An error in a tree has the way to it`(_ json: String, _ path: String, _ problem: String) throws {
    let tree = try JSONValue(json: Array(json.utf8))
    let error = #expect(throws: FilterError.self) { try Filter(tree: tree) }
    #expect(error == FilterError(.path(path), problem))
  }

  @Test func `A body's error names its field, and the place in the filter`() throws {
    struct Body: Codable { var filter: Filter }
    func sentence(_ json: String) -> String? {
      let problem = #expect(throws: JSONProblem.self) { try JSONCoding.decode(Body.self, from: json.utf8) }
      return problem?.sentence
    }
    #expect(
      sentence(#"{"filter":"sex is set and contry = 'SE'"}"#)
        == "filter at 16: no field is called contry; did you mean country?")
    #expect(
      sentence(#"{"filter":{"and":[{"list":0}]}}"#) == "filter at and[0].list: a list's number or name is expected here"
    )
    #expect(sentence(#"{"filter":7}"#) == "filter at the top: a filter is a line of text or an object")
  }
}

/// Lines with a mark where the wrong word begins, and what is said of it.
private let wrongLines: [(String, String)] = [
  ("▸", "the filter is empty; everyone stands for all contacts"),
  ("   ▸", "the filter is empty; everyone stands for all contacts"),
  ("sex is set and ▸contry = 'SE'", "no field is called contry; did you mean country?"),
  ("▸Country = 'SE'", "no field is called Country; did you mean country?"),
  ("▸fod = 'meat'", "no field is called fod; a property is written properties.fod"),
  ("▸platform = 'ios'", "platform is a device's, as in device(platform is set)"),
  ("device(▸firstName = 'x')", "firstName is a contact's, and stands outside of device(…)"),
  ("device(▸properties.x = 1)", "properties are a contact's, and stand outside of device(…)"),
  ("device(▸modell = 'x')", "no device field is called modell; did you mean model?"),
  (
    "device(▸colour = 'x')",
    "no device field is called colour; known are app, platform, manufacturer, model, osVersion, country, sandbox, registeredAt"
  ),
  ("device(▸in list 7)", "in is about a contact, and stands outside of device(…)"),
  ("device(▸device(app = 'x'))", "device is about a contact, and stands outside of device(…)"),
  ("device(▸received >= 1)", "received is about a contact, and stands outside of device(…)"),
  ("▸properties = 1", "properties needs a name, as in properties.food"),
  ("▸properties. = 1", "properties. needs a name, as in properties.food"),
  ("▸properties.\"\" = 1", "properties. needs a name, as in properties.food"),
  ("properties.▸\"x = 1", "the \" that opens here is never closed"),
  ("properties.first▸-name = 1", "- cannot stand here"),
  ("▸everone", "no field is called everone; did you mean everyone?"),
  ("▸EVERYONE", "no field is called EVERYONE; did you mean everyone?"),
  (
    "country ▸like 'S%'",
    "\(like), within"
  ),
  ("country ▸contain 'S'", "no operator is called contain; did you mean contains?"),
  ("country ▸not in ('SE')", "not stands before the condition, as in not country in (…)"),
  ("country ▸== 'SE'", "== is written ="),
  ("country ▸<> 'SE'", "<> is written !="),
  ("everyone ▸&& everyone", "&& is written and"),
  ("▸! everyone", "! is written not"),
  ("country ▸'SE'", "an operator is expected after country, not 'SE'"),
  ("country▸", "an operator is expected after country, not the line's end"),
  ("country =▸", "a value is expected here, not the line's end"),
  ("country = ▸SE", "SE is no value; texts stand between quotes, as in 'SE'"),
  ("country = ▸\"SE\"", "texts stand between straight quotes, as in 'SE'"),
  ("country = ▸’SE’", "texts stand between straight quotes, as in 'SE'"),
  ("country = ▸'SE", "the ' that opens here is never closed"),
  ("country = ▸3", "country is a text; write it between quotes, as in 'SE'"),
  ("country in ('SE', ▸true)", "country is a text; write it between quotes, as in 'SE'"),
  ("country in ▸'SE'", "( is expected here, as in country in (…), not 'SE'"),
  ("country in (▸)", "a value is expected here, not )"),
  ("country in ('SE' ▸'NO')", ", or ) is expected here, not 'NO'"),
  ("country in ('SE', ▸)", "a value is expected here, not )"),
  ("country contains ▸3", "a text between quotes is expected after contains, not 3"),
  ("city starts ▸'x'", "with is expected here, not 'x'"),
  ("city is ▸unset", "set or not set is expected here, not unset"),
  ("city is not ▸st", "set is expected here, not st; did you mean set?"),
  ("createdAt ▸contains '2026'", "createdAt is a date; contains is for texts"),
  ("createdAt > ▸'2026-12-01'", "createdAt is a date; write date '2026-12-01'"),
  ("createdAt > ▸yesterday", "no word is a date; write date '2026-12-01'"),
  ("createdAt > date ▸'2026-02-30'", "the date must be a day such as 2026-12-01"),
  ("createdAt > date ▸2026", "a text between quotes is expected here, as in date '2026-12-01', not 2026"),
  ("createdAt within ▸30 days", "last or next is expected here, not 30"),
  ("createdAt within last ▸0 days", "the days must be a whole number from 1 to 3650"),
  ("createdAt within last ▸87601 hours", "the hours must be a whole number from 1 to 87600"),
  ("createdAt within last 1 ▸day", "days or hours is expected here, not day; did you mean days?"),
  ("country ▸within last 3 days", "country is a text; within is for dates"),
  ("device(osVersion > ▸17)", "osVersion is a version; write version '17.2'"),
  ("device(osVersion > version ▸'17.x')", "the version must be digits and dots, such as 17.2"),
  ("device(sandbox = ▸'true')", "sandbox is true or false, without quotes"),
  ("device(sandbox ▸> true)", "sandbox is true or false, which has no order; compare it with =, != or in"),
  ("device(platform = ▸'iso')", "no platform is called iso; did you mean ios?"),
  (
    "device(platform ▸> 'ios')",
    "platform is one of ios, android, windows, firebase, huawei, web, sms, which has no order; compare it with =, != or in"
  ),
  ("properties.x < ▸true", "true has no order; compare it with =, != or in"),
  ("properties.x in ('a', ▸date '2026-12-01')", "dates and versions stand in lists of their own"),
  ("properties.x > ▸.5", "a number is written like 0.5 or -3"),
  ("properties.x > ▸1.", "a number is written like 0.5 or -3"),
  ("properties.x > ▸1x", "a number is written like 0.5 or -3"),
  ("properties.x > ▸1e12345", "the number has an exponent of more than 4 digits"),
  ("properties.x > ▸$5", "$ cannot stand here"),
  ("everyone▸\u{200B}", "U+200B cannot stand here"),
  ("birthday(▸country) within next 7 days", "country is a text; a birthday is a date"),
  (
    "birthday(dateOfBirth) ▸in 7 days",
    "within, as in birthday(dateOfBirth) within next 7 days is expected here, not in"
  ),
  ("birthday(dateOfBirth) within next ▸366 days", "a whole number from 1 to 365 is expected here, not 366"),
  ("birthday(dateOfBirth) within next 7 ▸hours", "birthdays are counted in days, not in hours"),
  ("outcome ▸sendout 7", "of, as in outcome of sendout 7 = 'failed' is expected here, not sendout"),
  ("outcome of sendout ▸0 = 'failed'", "a sendout's number is expected here, not 0"),
  ("outcome of sendout 7 ▸!= 'failed'", "= is expected here, as in outcome of sendout 7 = 'failed', not !="),
  (
    "outcome of sendout 7 = ▸failed",
    "a text between quotes is expected here, as in outcome of sendout 7 = 'failed', not failed"
  ),
  ("outcome of sendout 7 = ▸'faild'", "no outcome is called faild; did you mean failed?"),
  ("device(▸outcome of sendout 7 = 'failed')", "outcome is about a contact, and stands outside of device(…)"),
  ("bucket(▸100, 100)", "a whole number from 0 to 99 is expected here, not 100"),
  ("bucket(10, ▸10)", "a whole number from 11 to 100 is expected here, not 10"),
  ("bucket ▸0, 10", "( is expected here, as in bucket(0, 10), not 0"),
  ("in ▸lists 7", "list or segment is expected here, not lists; did you mean list?"),
  ("in list ▸0", "a list's number is a whole number from 1"),
  ("in segment ▸VIP", "a segment's number, or its name between quotes, is expected here, not VIP"),
  ("in list ▸''", "a list's number, or its name between quotes, is expected here, not ''"),
  ("has ▸devices", "device, as in has device is expected here, not devices; did you mean device?"),
  ("opened sendout ▸'x'", "a sendout's number is expected here, not 'x'"),
  ("opened >= ▸1001", "a whole number from 0 to 1000 is expected here, not 1001"),
  ("opened >= ▸1.5", "a whole number from 0 to 1000 is expected here, not 1.5"),
  ("opened >= 1 within ▸last 30 days", "within looks back by itself here; leave out last"),
  ("opened < 1 within 30 days ▸of last 5", "of last does not go with within"),
  ("opened < 1 of last 5 ▸within 30 days", "of last does not go with within"),
  ("opened < 1 of last ▸101", "a whole number from 1 to 100 is expected here, not 101"),
  ("everyone ▸adn everyone", "and, or or the line's end is expected here, not adn; did you mean and?"),
  ("everyone ▸AND everyone", "and, or or the line's end is expected here, not AND; did you mean and?"),
  ("everyone ▸country = 'SE'", "and, or or the line's end is expected here, not country"),
  ("everyone and▸", "the line ends where a condition is expected"),
  ("everyone and ▸or everyone", "no field is called or; a property is written properties.or"),
  ("▸) everyone", "a condition is expected here, not )"),
  ("everyone▸)", "nothing is open that ) could close"),
  ("▸((everyone)", "the ( that opens here is never closed"),
  ("device ▸= 1", "( is expected here, as in device(platform = 'ios'), not ="),
  ("(▸)", "a condition is expected here, not )"),
  ("▸7 = country", "a field stands before a value, as in country = 'SE'"),
  ("country in ▸['SE']", "a list stands between parentheses, as in ('SE', 'NO')"),
]

/// Trees with the way to what is wrong, and what is said of it.
private let wrongTrees: [(String, String, String)] = [
  ("7", "", "a filter is a line of text or an object"), ("[]", "", "a filter is a line of text or an object"),
  (
    "{}", "",
    "the filter needs one of and, or, not, field, birthday, list, segment, device, received, opened, outcome, bucket, everyone"
  ),
  (#"{"feild":"country","op":"=","value":"SE"}"#, "feild", "no member is called feild; did you mean field?"),
  (#"{"and":[{"everyone":true},{"field":"country","op":"like","value":"x"}]}"#, "and[1].op", like),
  (
    #"{"not":{"or":[{"field":"contry","op":"is set"}]}}"#, "not.or[0].field",
    "no field is called contry; did you mean country?"
  ),
  (#"{"and":[]}"#, "and", "a list of filters is expected here"),
  (#"{"or":{"everyone":true}}"#, "or", "a list of filters is expected here"),
  (#"{"and":[7]}"#, "and[0]", "a filter is a line of text or an object"),
  (#"{"and":[{"everyone":true}],"or":[{"everyone":true}]}"#, "or", "no member is called or; known are and"),
  (#"{"everyone":false}"#, "everyone", "everyone must be true"),
  (#"{"field":"country"}"#, "", "a field needs op or within"),
  (#"{"field":7,"op":"is set"}"#, "field", "a field's name is expected here"),
  (#"{"field":"country","op":"="}"#, "", "= needs value, date or version"),
  (#"{"field":"country","op":"=","value":null}"#, "", "= needs value, date or version"),
  (#"{"field":"country","op":"=","value":3}"#, "value", "country is a text; write it between quotation marks"),
  (#"{"field":"country","op":"=","value":["SE"]}"#, "value", "a text, a number, true or false is expected here"),
  (#"{"field":"country","op":"in","value":"SE"}"#, "value", "a list is expected here"),
  (#"{"field":"country","op":"in","value":[]}"#, "value", "a list is expected here"),
  (
    #"{"field":"country","op":"in","value":["SE",3]}"#, "value[1]",
    "country is a text; write it between quotation marks"
  ),
  (#"{"field":"country","op":"is set","value":"SE"}"#, "value", "value does not go with is set"),
  (#"{"field":"country","op":"within","value":"SE"}"#, "op", within),
  (#"{"field":"country","op":"contains","value":3}"#, "value", "contains needs a text as value"),
  (
    #"{"field":"createdAt","op":"=","value":"2026-12-01"}"#, "value",
    #"createdAt is a date; write "date":"2026-12-01""#
  ),
  (
    #"{"field":"createdAt","op":"=","date":"2026-12-01T00:00:00Z"}"#, "date",
    "the date must be a day such as 2026-12-01"
  ),
  (#"{"field":"createdAt","op":"=","date":"2026-12-01","value":"x"}"#, "date", "date does not go with value"),
  (#"{"field":"createdAt","op":"=","within":{"last":"30d"}}"#, "op", "op does not go with within"),
  (#"{"field":"createdAt","within":"30d"}"#, "within", #"within is an object, such as {"last":"30d"}"#),
  (#"{"field":"createdAt","within":{}}"#, "within", "either last or next is needed"),
  (#"{"field":"createdAt","within":{"last":"30d","next":"1d"}}"#, "within", "either last or next is needed"),
  (
    #"{"field":"createdAt","within":{"last":"30 days"}}"#, "within.last", "a span such as 30d or 12h is expected here"
  ),
  (
    #"{"field":"createdAt","within":{"last":"99999999999999999999d"}}"#, "within.last",
    "the days must be a whole number from 1 to 3650"
  ),
  (#"{"field":"country","within":{"last":"30d"}}"#, "within", "country is a text; within is for dates"),
  (
    #"{"device":{"field":"osVersion","op":">","value":"17"}}"#, "device.value",
    #"osVersion is a version; write "version":"17.2""#
  ),
  (#"{"device":{"not":{"list":7}}}"#, "device.not.list", "list is about a contact, and stands outside of device"),
  (#"{"device":{"device":{"everyone":true}}}"#, "device.device", "device does not stand in device"),
  (
    #"{"device":{"field":"properties.x","op":"is set"}}"#, "device.field",
    "properties are a contact's, and stand outside of device"
  ),
  (#"{"field":"properties.","op":"is set"}"#, "field", "a property has a name of 1 to 100 characters without U+0000"),
  (#"{"birthday":"country","next":"7d"}"#, "birthday", "country is a text; a birthday is a date"),
  (#"{"birthday":"dateOfBirth","next":"7h"}"#, "next", "birthdays are counted in days, as in 7d"),
  (#"{"birthday":"dateOfBirth","next":"366d"}"#, "next", "the days must be a whole number from 1 to 365"),
  (#"{"list":0}"#, "list", "a list's number or name is expected here"),
  (#"{"list":""}"#, "list", "a list's number or name is expected here"),
  (#"{"segment":1.5}"#, "segment", "a segment's number or name is expected here"),
  (#"{"received":7}"#, "received", "received is an object, such as {}"),
  (#"{"opened":{"counts":1}}"#, "opened.counts", "no member is called counts; did you mean count?"),
  (#"{"opened":{"count":1}}"#, "opened", "count needs op"), (#"{"opened":{"op":">"}}"#, "opened", "op needs count"),
  (#"{"opened":{"op":"in","count":1}}"#, "opened.op", "one of =, !=, <, <=, >, >= is expected here"),
  (#"{"opened":{"op":">","count":1001}}"#, "opened.count", "a whole number from 0 to 1000 is expected here"),
  (#"{"opened":{"within":"30d","ofLast":5}}"#, "opened.ofLast", "ofLast does not go with within"),
  (#"{"opened":{"sendout":0}}"#, "opened.sendout", "a sendout's number is expected here"),
  (#"{"outcome":"failed"}"#, "outcome", #"outcome is an object, such as {"sendout":7,"is":"failed"}"#),
  (#"{"outcome":{"is":"failed"}}"#, "outcome.sendout", "a sendout's number is expected here"),
  (
    #"{"outcome":{"sendout":7,"is":"late"}}"#, "outcome.is",
    "one of any, opened, notOpened, uncertain, failed, skipped, suppressed, heldOut, capped, quiet, missed, expired, noWinner is expected here"
  ),
  (
    #"{"bucket":[10,10]}"#, "bucket",
    "two whole numbers from 0 to 100 are expected here, the larger one last, as in [0,10]"
  ),
]

private let like = "no operator is called like; known are \(operators)"
private let within = "no operator is called within; known are \(operators)"
private let operators = "=, !=, <, <=, >, >=, in, contains, starts with, ends with, is set, is not set"
