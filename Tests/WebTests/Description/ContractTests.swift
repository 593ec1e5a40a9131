import Content
import Delivery
import Foundation
import HTTPTypes
import Operations
import Postgres
import Registry
import Simulator
import Support
import Testing
import Wire

@Suite struct ContractTests {
  @Test func `Every route is described, and everything described is a route`() async throws {
    try await withManagementServer { managed in
      let described = Set(managed.contract.operations.map { "\($0.method) \(trimmed($0.path))" })
      // Pages for people are no API.
      let routes = Set(managed.server.routes.map(trimmed).filter { !$0.contains(" /console") })
      #expect(described.subtracting(routes) == [])
      #expect(routes.subtracting(described) == Self.undescribed)
    }
  }

  /// A contact may be called `invalidation`: to read it is what reading any other is.
  private static let undescribed: Set<String> = [
    "GET /rest/{customerId}/apps/{appId}/pushdevices/invalidation",
    "GET /rest/{customerId}/apps/{appId}/devices/invalidation",
  ]

  @Test func `A tour of every operation is answered as described`() async throws {
    try await withSendingBench { bench in
      let whole = WholeWebServer(bench)
      let key = try await AccessKeys(bench.pool).make(bench.customer, name: "tour", scope: .admin).token
      try await withTestWebServer(try whole.routes) { server in
        let contract = APIContract(document: try await server.send("GET", "/openapi.json").json)
        let tour = Tour(server: server, bench: bench, key: key, contract: contract)
        try await bench.withHubs { try await tour.walk() }

        let seen = Set(contract.replies.filter { ["2", "3"].contains($0.suffix(3).first) }.map { $0.dropLast(4) })
        let missed = contract.operations.map { "\($0.method) \($0.path)" }.filter { !seen.contains($0[...]) }
        // Nothing makes calls yet.
        #expect(missed == ["POST /v1.0/voiceotp/requestcode"])
      }
    }
  }

  private func trimmed(_ path: String) -> String { path.hasSuffix("/") ? String(path.dropLast()) : path }
}

/// Calls every operation once, in an order in which all of them can be done.
private struct Tour: Sendable {
  let server: TestWebServer
  let bench: SendingBench
  let key: String
  let contract: APIContract

  @discardableResult
  private func send(
    _ method: String, _ path: String, _ json: String? = nil, key: String? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> TestReply {
    let key = key ?? self.key
    let header = path.hasPrefix("/rest/") ? [("X-Carma-Authentication-Token", key)] : []
    let reply = try await server.send(
      method, path, key: header.isEmpty ? key : nil, headers: header, json: json)
    #expect(reply.status < 400, "\(method) \(path): \(reply.text)", sourceLocation: sourceLocation)
    #expect(contract.problems(method, path, reply) == [], sourceLocation: sourceLocation)
    return reply
  }

  func walk() async throws {
    for path in ["/healthz", "/readyz", "/metrics", "/openapi.json", "/swagger/"] { try await send("GET", path) }
    try await registry()
    try await carma()
    try await contacts()
    try await segments()
    try await imports()
    try await sendouts()
    try await hybrid()
    try await gateway()
    try await exports()
    try await erasure()
  }

  private func registry() async throws {
    try await send("POST", "/api/v1/apps", #"{"name":"Acme","appId":"com.acme.bare","appType":2}"#)
    let gone = try await send("POST", "/api/v1/apps", #"{"name":"Acme","appId":"com.acme.gone","appType":2}"#)
    try await send("DELETE", "/api/v1/apps/\(try gone.json.integer("pushAppId") ?? 0)")
    try await send("PUT", "/api/v1/templates/gone", #"{"body":"x"}"#)
    try await send("DELETE", "/api/v1/templates/gone")
    let address = try await sms()
    try await softphones()
    var examples = ExampleRequests()
    // They need devices, phones or a state that others do not.
    let byHand: [APIOperation.Tag] = [.contacts, .segments, .messages, .sendouts, .reports, .hybrid, .dataTrees]
    for operation in ManagementOperations.all.map(\.description)
    where !byHand.contains(operation.tag)
      && !["addApp", "removeApp", "saveSMS", "removeTemplate", "startImport"].contains(operation.id)
    {
      let (path, json) = examples.request(for: operation)
      try examples.note(try await send(operation.method.rawValue, path, json), to: operation)
    }
    let renewed = try #require(try await send("GET", "/api/v1/sms").json.string("statusUrl"))
    #expect(renewed != address)
    let path = "/sms/status/\(renewed.split(separator: "/").last ?? "")"
    try await send("POST", path, #"{"messages":{"msg":{"reference":"10000001","status":{"code":"2"}}}}"#)
    try await send("GET", "\(path)?reference=10000001&status=2")
  }

  private func softphones() async throws {
    let token = bench.token(900).base64OfHex
    let push = #"{"verb":"NotifyReprovision","AppId":"com.acme.app","DeviceToken":"\#(token)","Selector":"a"}"#
    let form = "verb=NotifyReprovision&AppId=com.acme.app&Selector=a&DeviceToken=\(token.replacing("+", with: "%2B"))"
    for base in ["", "/k/\(key)"] {
      try await send("POST", "\(base)/pnm2/send", push)
      try await send("POST", "\(base)/pnm2/multisend", push)
      let reply = try await server.send(
        "POST", "\(base)/pnm2", key: key, headers: [("Content-Type", "application/x-www-form-urlencoded")], body: form)
      #expect(reply.text == "OK", "\(reply.text)")
      #expect(contract.problems("POST", "\(base)/pnm2", reply) == [])
    }
    for (path, fields) in [
      ("report", ["selector": "a", "pushTokenOther": token, "pushappid_other": "com.acme.app"]),
      ("removal", ["selector": "a"]),
    ] {
      let json = String(decoding: try JSONCoding.encode(fields), as: UTF8.self)
      try await send("POST", "/k/\(key)/tokens/\(path)", json)
      let query = fields.map { "\($0)=\($1.replacing("+", with: "%2B"))" }.joined(separator: "&")
      try await send("GET", "/k/\(key)/tokens/\(path)?\(query)")
    }
  }

  /// Sets the provider of SMS. The number of the examples has opted out.
  /// - Returns: the address for status reports.
  private func sms() async throws -> String? {
    bench.simulator.sms.register(productToken: "token")
    let settings = try await send(
      "PUT", "/api/v1/sms",
      #"{"provider":"cm","sender":"Acme","productToken":"token","url":"\#(bench.simulator.cmURL)"}"#)
    let app = try await PushApps(bench.pool).resolve(bench.customer, appID: PushApp.smsAppID)
    let number = PushDevicesBody("0031612345678", token: "+31612345678", type: .sms)
    try await RegistrationBatcher(bench.pool, limits: .patient).register(
      bench.customer, try Registration(number, apps: [app]), returnsContact: false)
    try await bench.database.query(
      "UPDATE device SET invalidated_at = now(), invalidation_type = -1, invalidation_reason = 'x' WHERE push_app_id = $1::bigint",
      app.id.rawValue)
    return try settings.json.string("statusUrl")
  }

  private func carma() async throws {
    let (token, second) = (bench.token(1), bench.token(2))
    for name in ["pushdevices", "devices"] {
      let path = "/rest/\(bench.customer)/apps/com.acme.app/\(name)"
      let body = """
        {"originalId":"lars@example.com","firstName":"Lars","listId":1000000005,"dateOfBirth":"1980-02-29",
        "properties":{"food":"meat","visits":3,"vip":true},
        "deviceInfo":[{"devicetoken":"\(token)","appType":1,"model":"iPhone"},{"devicetoken":"\(second)","appType":"1"}]}
        """
      try await send("PUT", path, body)
      try await send(
        "PUT", "\(path)/invalidation",
        #"{"originalId":"lars@example.com","deviceInfo":[{"devicetoken":"\#(second)","appType":1,"invalidationType":"1"}]}"#
      )
      try await send("GET", "\(path)/lars%40example.com")
    }
    let rest = "/rest/\(bench.customer)"
    let list = "\(rest)/lists/1000000005"
    for path in [
      "\(rest)/lists", list, "\(list)/contacts/all", "\(list)/contacts/unsubscribed", "\(list)/contacts/bounced",
      "\(list)/contacts/lars%40example.com", "\(rest)/properties", "\(rest)/campaigns",
    ] { try await send("GET", path) }
    try await send(
      "PUT", "\(list)/contacts/lars%40example.com/update?force=true", #"{"city":"Lund","unsubscribed":false}"#)
  }

  private func contacts() async throws {
    try await send("GET", "/api/v1/contacts?query=lars&field=originalId&limit=1")
    let contact = try await send("GET", "/api/v1/contacts/lars%40example.com").json
    try await send("PUT", "/api/v1/contacts/mia%40example.com", #"{"city":"Lund","language":"sv","listIds":[]}"#)
    try await send(
      "PATCH", "/api/v1/contacts/lars%40example.com", #"{"city":"Lund","properties":{"visits":4,"vip":null}}"#)
    let devices = try #require(contact.array("devices"))
    #expect(devices.count == 2)
    let invalid = try #require(devices.first { $0["invalidatedAt"] != nil }?.integer("deviceId"))
    try await send("DELETE", "/api/v1/devices/\(invalid)")
  }

  /// What is removed is shown no more: that comes last.
  private func segments() async throws {
    var examples = ExampleRequests()
    let operations = ManagementOperations.all.map(\.description).filter { $0.tag == .segments }
    let removal = operations.filter { $0.id == "removeSegment" }
    for operation in operations.filter({ $0.id != "removeSegment" }) + removal {
      let (path, json) = examples.request(for: operation)
      try examples.note(try await send(operation.method.rawValue, path, json), to: operation)
    }
  }

  /// To a list of their own, so that sendouts reach nobody else.
  private func imports() async throws {
    let list = try #require(try await send("POST", "/api/v1/lists", #"{"name":"imported"}"#).json.integer("listId"))
    let rest = "/rest/\(bench.customer)"
    func file(_ method: String, _ path: String) async throws {
      let reply = try await server.send(
        method, path, key: key, headers: [("Content-Type", "text/csv")], body: "originalId\r\nimported@example.com\r\n")
      #expect(reply.status < 300, "\(method) \(path): \(reply.text)")
      #expect(contract.problems(method, path, reply) == [])
    }
    let new = try await send("POST", "/api/v1/imports", #"{"listId":\#(list)}"#)
    let number = try #require(try new.json.integer("importId"))
    try await file("PUT", "/api/v1/imports/\(number)/file")
    try await send("GET", "/api/v1/imports/\(number)/rejects")
    let reviewed = try await send("POST", "/api/v1/imports", #"{"listId":\#(list),"review":true}"#)
    let second = try #require(try reviewed.json.integer("importId"))
    try await file("PUT", "/api/v1/imports/\(second)/file")
    try await send("POST", "/api/v1/imports/\(second)/start", #"{"dryRun":true}"#)
    let carma = try await send(
      "POST", "\(rest)/lists/\(list)/imports", #"{"delimiter":"59","type":"ADD","identityColumn":"originalId"}"#)
    let batch = try #require(try carma.json.integer("id"))
    try await file("POST", "\(rest)/lists/\(list)/recipients/\(batch)")
    try await send("GET", "\(rest)/batches/\(batch)")
  }

  private func exports() async throws {
    for path in ["contacts?filter=country%20%3D%20'SE'", "devices?format=ndjson", "pushes?sendout=1&exact=true"] {
      try await send("GET", "/api/v1/exports/\(path)")
    }
  }

  /// The last of what is done: the contact is needed by all else.
  private func erasure() async throws {
    try await send("GET", "/api/v1/contacts/lars%40example.com/data")
    try await send("DELETE", "/api/v1/contacts/lars%40example.com")
  }

  private func messages() async throws {
    let sent = try await send(
      "POST", "/api/v1/messages",
      #"{"appId":"com.acme.app","appType":1,"to":{"originalId":"lars@example.com"},"message":{"alert":"Hi"},"wait":30}"#
    )
    try await send(
      "POST", "/api/v1/messages/preview", #"{"to":{"originalId":"lars@example.com"},"message":{"alert":"Hi"}}"#)
    try await send("GET", "/api/v1/messages/\(try sent.json.string("messageId") ?? "")")
    try await send("GET", "/api/v1/messages?state=accepted&limit=1")
    try await send("GET", "/api/v1/messages/\(try sent.json.string("messageId") ?? "")/why")
  }

  private func hybrid() async throws {
    let issued = try await send("POST", "/api/v1/hybrid", #"{"appId":"com.acme.app"}"#).json
    try await send("GET", "/api/v1/hybrid")
    try await send("GET", "/api/v1/hybrid/com.acme.app")
    try await send("PATCH", "/api/v1/hybrid/com.acme.app", #"{"sender":"ACME"}"#)
    try await send("POST", "/api/v1/hybrid/com.acme.app/secret")
    var phone = TestPhone(
      server, appKey: issued.string("appKey") ?? "", secret: issued.string("appSecret") ?? "")
    func hold(_ method: String, _ path: String, _ reply: TestReply) {
      #expect(reply.status == 200, "\(method) \(path): \(reply.text)")
      #expect(contract.problems(method, path, reply) == [])
    }
    let path = "/v1.0/deviceregistrations"
    hold("POST", path, try await phone.register(#"{"Msisdn":"0031612345678"}"#))
    hold("GET", path, try await phone.send("GET", path))
    try await send("GET", "/api/v1/hybrid/com.acme.app/phones?number=0031612345678")
    hold("PUT", path, try await phone.put(#"{"PushToken":"aa"}"#))
    hold("GET", "/v1.0/geoip", try await phone.send("GET", "/v1.0/geoip"))
    hold("GET", "/v1.0/messages", try await phone.send("GET", "/v1.0/messages"))
    let delivered = #"{"UpdateID":"70000000015","Status":"Delivered"}"#
    hold("PUT", "/v1.0/messages", try await phone.send("PUT", "/v1.0/messages", delivered))
  }

  /// What no key in a header opens.
  private func gateway() async throws {
    let token = try #require(
      try await send("POST", "/api/v1/keys", #"{"name":"gateway","scope":"gateway"}"#).json.string("token"))
    let appKey = try await bench.database.query("SELECT app_key::text FROM hybrid_app")[0].decode(String.self)
    try await send(
      "PUT", "/rest/\(bench.customer)/apps/com.acme.app/pushdevices",
      #"{"originalId":"0031600000001","deviceInfo":[{"devicetoken":"\#(bench.token(3))","appType":1}]}"#)
    let message = #"{"from":"A","to":[{"number":"0031600000001"}],"body":{"content":"x"},"appKey":"\#(appKey)"}"#
    let body = #"{"messages":{"authentication":{"producttoken":"\#(token)"},"msg":[\#(message)]}}"#
    for path in ["/gateway.ashx", "/v1.0/message"] { try await send("POST", path, body) }
    try await send("GET", "/gateway.ashx?producttoken=\(token)&from=A&to=0031600000001&body=x")
  }

  private func triggers() async throws {
    let added = try await send(
      "POST", "/api/v1/triggers", #"{"name":"Shipped","appId":"com.acme.app","message":{"alert":"{{orderNo}}"}}"#)
    let id = try #require(try added.json.integer("triggerId"))
    try await send("PATCH", "/api/v1/triggers/\(id)", #"{"active":true,"template":"offer"}"#)
    let path = "/rest/\(bench.customer)/triggers"
    try await send("GET", path)
    try await send("GET", "\(path)/\(id)")
    try await send(
      "POST", "\(path)/\(id)/messages",
      #"{"originalId":"lars@example.com","customerId":\#(bench.customer),"properties":{"orderNo":"A-17"},"saveProps":true}"#
    )
  }

  private func datasync() async throws {
    _ = try await PushApps(bench.pool, vault: bench.vault).add(
      bench.customer, NewPushApp(appID: SendingBench.appID, type: .firebase, name: "Acme"))
    let enabled = try await send("POST", "/api/v1/datasync", #"{"app":"com.acme.app"}"#).json
    try await send("GET", "/api/v1/datasync")
    let secret = try #require(enabled.string("secret"))
    let webhooks = "/api/v1/datasync/com.acme.app/webhooks"
    try await send("PUT", "\(webhooks)/orders", #"{"uris":["https://hooks.example.com/changes?a=b"],"token":"bar"}"#)
    try await send("GET", webhooks)
    try await send("DELETE", "\(webhooks)/orders")
    @discardableResult
    func call(_ method: String, _ path: String, _ json: String? = nil) async throws -> TestReply {
      try await send(method, "/datasync/v2/com.acme.app\(path)", json, key: secret)
    }
    try await call("PUT", "/data/users", #"{"alice":{"age":33}}"#)
    try await call("PATCH", "/data/users", #"{"bob":{"age":40},"carol":null}"#)
    try await call("POST", "/data/users", #"{"age":1}"#)
    let users = try await call("GET", "/data/users").json
    #expect(users["alice"] == ["age": 33] && users["bob"] == ["age": 40])
    try await call("PUT", "/settings/webhooks", #"{"destinations":{}}"#)
    try await call("GET", "/settings")
    let subscription = #"{"path":"/users","event":"value","deviceToken":"SERIAL","service":"fcm"}"#
    let first = try await call("POST", "/subscriptions", subscription.replacing("SERIAL", with: "1"))
    try await call("POST", "/subscriptions", subscription.replacing("SERIAL", with: "2"))
    try await call("GET", "/subscriptions?limit=1")
    try await call("DELETE", "/subscriptions/\(try first.json.integer("subscriptionId") ?? 0)")
    try await call("DELETE", "/data/users")
  }

  private func schedules(_ draft: String) async throws {
    let time = #""startAt":"2090-01-02T10:00:00Z""#
    let timed = draft.dropLast() + #",\#(time),"draft":true}"#
    let once = try await send("POST", "/api/v1/sendouts", String(timed)).json.integer("sendoutId") ?? 0
    try await send("PATCH", "/api/v1/sendouts/\(once)", #"{"localTime":"2090-01-03T08:00","quietHours":null}"#)
    for verb in ["schedule", "unschedule"] { try await send("POST", "/api/v1/sendouts/\(once)/\(verb)") }
    let repeated = draft.dropLast() + #",\#(time),"repeat":{"every":"day"}}"#
    let series = try await send("POST", "/api/v1/sendouts", String(repeated)).json.integer("seriesId") ?? 0
    try await send("POST", "/api/v1/sendouts/series/\(series)/end")
  }

  private func sendouts() async throws {
    // The customer has quiet hours by now, in which this may run. These are not now.
    let hour = Int(Date().timeIntervalSince1970) / 3600
    let (start, end) = (String(format: "%02d:00", (hour + 6) % 24), String(format: "%02d:00", (hour + 7) % 24))
    let draft = """
      {"appId":"com.acme.app","appType":1,"audience":{"listId":1000000005},"message":{"alert":"Hi","badge":"{{x}}"},"template":"offer",\
      "quietHours":{"start":"\(start)","end":"\(end)"}}
      """
    let first = try await send("POST", "/api/v1/sendouts", draft).json.integer("sendoutId") ?? 0
    try await bench.database.query("UPDATE sendout SET state = 'running', frozen_at = now()")
    for verb in ["pause", "resume"] { try await send("POST", "/api/v1/sendouts/\(first)/\(verb)") }
    // Not the one that was resumed: a hub may have finished it by now.
    let unwanted = try await send("POST", "/api/v1/sendouts", draft).json.integer("sendoutId") ?? 0
    try await send("POST", "/api/v1/sendouts/\(unwanted)/cancel")
    let second = try await send("POST", "/api/v1/sendouts", draft).json.integer("sendoutId") ?? 0
    try await send("PUT", "/api/v1/sendouts/\(second)", draft)
    try await send(
      "POST", "/api/v1/sendouts/audience", #"{"appId":"com.acme.app","audience":{"listId":1000000005}}"#)
    try await schedules(draft)
    try await send("POST", "/api/v1/sendouts/preflight", draft)
    try await send("POST", "/api/v1/sendouts/\(second)/preflight")
    let test = try await send(
      "POST", "/api/v1/sendouts/\(second)/test", #"{"originalIds":["lars@example.com","nobody"]}"#
    ).json
    #expect(test.array("messageIds")?.count == 1 && test.array("unknownOriginalIds") == ["nobody"])
    try await send("POST", "/api/v1/sendouts/\(second)/start")
    try await bench.until(SendoutKey(bench.customer, SendoutID(second)), .finished)
    let done = try await send("GET", "/api/v1/sendouts/\(second)")
    #expect(try done.json["counts"]?.integer("accepted") == 1)
    try await send("POST", "/api/v1/sendouts/\(second)/copy", #"{"audience":"notOpened"}"#)
    try await winner()
    try await send("GET", "/api/v1/sendouts?limit=1")
    try await messages()
    try await triggers()
    try await datasync()
    for report in Report.allCases {
      let filter = report == .timeline ? "?contact=lars@example.com" : ""
      let rows = try await send("GET", "/api/v1/reports/\(report.rawValue)\(filter)").json.array("rows")
      let empty: Set<Report> = [.failures, .opens, .notifications, .hybrid, .suppressions, .variants, .leftOut]
      #expect(rows?.isEmpty == empty.contains(report), "\(report)")
    }
    try await send("GET", "/api/v1/activity?days=7")
    try await send("GET", "/api/v1/alarms")
    try await send("GET", "/api/v1/sendouts/\(second)/figures")
    try await send("GET", "/api/v1/sendouts/\(second)/campaign?exact=true")
    try await send("GET", "/api/v1/calendar?from=2090-01-01T00:00:00Z")
    let recipients = try await send("GET", "/api/v1/sendouts/\(second)/recipients?query=lars&state=accepted").json
    #expect(recipients.array("items")?.first?.string("originalId") == "lars@example.com")
    let pushes = try await send("GET", "/api/v1/sendouts/\(second)/pushes?state=accepted").json
    try await send("GET", "/api/v1/sendouts/\(second)/why?originalId=lars@example.com")
    let push = try #require(pushes.array("items")?.first)
    let link = PushLink(
      customer: bench.customer, sendout: SendoutID(second), push: PushNumber(try #require(push.integer("pushNo"))),
      device: DeviceID(try #require(push.integer("deviceId"))))
    for method in ["HEAD", "GET"] {
      try await send(method, "/c/\(bench.signer.token(for: link, .page))")
      try await send(method, "/r/\(bench.signer.token(for: link, .read))")
    }
    let contact = try await bench.database.query(
      "SELECT contact_id FROM contact WHERE original_id = 'lars@example.com'")
    let page = bench.signer.token(
      for: ContactLink(customer: bench.customer, contact: ContactID(try contact[0].decode(Int64.self))))
    try await send("GET", "/u/\(page)")
    for choice in ["List-Unsubscribe=One-Click", "subscribe=again"] {
      let reply = try await server.send(
        "POST", "/u/\(page)", headers: [("Content-Type", "application/x-www-form-urlencoded")], body: choice)
      #expect(reply.status == 200 && contract.problems("POST", "/u/\(page)", reply) == [], "\(reply.text)")
    }
  }
}

extension Tour {
  /// Chooses one for those who wait.
  private func winner() async throws {
    let varied = """
      {"appId":"com.acme.app","audience":{"listId":1000000005},"message":{"alert":"x"},"winner":{"afterMinutes":60},
       "variants":[{"name":"A","share":10,"message":{}},{"name":"B","share":10,"message":{"alert":"y"}}]}
      """
    let id = try await send("POST", "/api/v1/sendouts", varied).json.integer("sendoutId") ?? 0
    try await bench.database.query(
      "UPDATE sendout SET state = 'paused', frozen_at = now(), started_at = now() WHERE sendout_id = $1::bigint", id)
    try await send("POST", "/api/v1/sendouts/\(id)/winner", #"{"variant":"B"}"#)
    try await send("POST", "/api/v1/sendouts/\(id)/cancel")
  }
}

extension String {
  /// The bytes of hexadecimal digits, in base64.
  fileprivate var base64OfHex: String {
    let digits = Array(utf8).map { String(UnicodeScalar($0)) }
    let bytes = stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(digits[$0] + digits[$0 + 1], radix: 16) }
    return Data(bytes).base64EncodedString()
  }
}
