import Foundation
import PushcartClient
import Registry
import Simulator
import Support
import Testing
import Wire

@testable import Subscriptions

/// The forms of an event around the limits of the messaging services, which refuse what is larger: sizes are computed here from what the
/// services count, and compared with what arrived.
@Suite struct NotificationLadderTests {
  /// Texts of one byte a character, of several, and such as JSON escapes, once for each time that it is wrapped.
  private static let units = ["a", "é🙂", "\"", "\\"]

  /// How much longer than the longest that fits. Sealed events grow by four bytes of base64 at a time.
  private static let lengths = isSoak ? -5...5 : -1...1

  @Test(arguments: MessagingService.allCases, [false, true])
  func `At every length around the limit, the largest form that fits arrives`(
    service: MessagingService, isSealed: Bool
  ) async throws {
    let key = isSealed ? Data((0..<32).map { UInt8($0) }) : nil
    try await withDataTree { tree in
      if service == .hms { try await tree.addHuaweiApp() }
      var cases: [LadderCase] = []
      for unit in Self.units {
        for kind in LadderCase.Kind.allCases {
          let fitting = LadderCase.largest(kind, unit, service, isSealed)
          cases += Self.lengths.map { LadderCase(kind: kind, unit: unit, padding: fitting + $0) }
        }
      }
      for (number, one) in cases.enumerated() {
        let path = LadderCase.path(number)
        if one.isOfChildren { try await tree.put(path, #"{"old":1,"gone":1}"#) }
        try await tree.subscribe(
          "phone\(number)", path, one.isOfChildren ? .child : .value, service: service,
          key: key?.base64EncodedString())
        try await tree.put(path, one.value)
      }
      try await tree.withRunner { try await tree.untilIdle() }
      let arrived = try tree.arrived(by: service)
      for (number, one) in cases.enumerated() {
        let name: Comment = "\(one.kind) of \(one.unit), padding \(one.padding)"
        let push = try #require(arrived["phone\(number)"], name)
        let form = try #require(one.forms.first { LadderCase.size($0, service, isSealed) <= 4096 }, name)
        #expect(push.size == LadderCase.size(form, service, isSealed), name)
        let event = try #require(
          DataTreeEvent(name: form.event, data: try form.data.map { try .init(parsing: Array($0.utf8)) }))
        let plain = DataTreePayload.map(event, app: SendingBench.appID, path: LadderCase.path(number))
        #expect(
          try PushNotificationEvent(push.data, key: key).event == PushNotificationEvent(plain).event, name)
      }
      // Both forms have arrived on both sides of each limit, and an unsealed one of each size.
      let sizes = Set(arrived.values.map(\.size))
      #expect(isSealed || Set(4096 + Self.lengths.lowerBound...4096).isSubset(of: sizes))
      #expect(sizes.allSatisfy { $0 <= 4096 } && arrived.count == cases.count)
      #expect(try await tree.outcomes() == Array(repeating: "accepted", count: cases.count))
    }
  }
}

/// A change whose event is about as large as a messaging service takes.
private struct LadderCase: Sendable {
  enum Kind: CaseIterable {
    /// A value that fits, or does not.
    case value
    /// The same of many leaves below long names: each leaf's path has them all, the notification has them once.
    case deepValue
    /// Children that fit with their values, or without.
    case children
    /// Children whose names fit, or do not.
    case names
  }

  /// An event's name, and its data as JSON.
  typealias Form = (event: String, data: String?)

  let kind: Kind
  let unit: String
  /// Bytes of the letter a that make it as large as it is.
  let padding: Int

  /// All paths are equally long.
  static func path(_ number: Int) -> String { "/\(1000 + number)" }

  /// The children that are new, with their values as JSON.
  private var added: [(name: String, value: String)] {
    switch kind {
    case .value, .deepValue: []
    case .children: [("new", Self.quoted(String(repeating: unit, count: 100) + String(repeating: "a", count: padding)))]
    case .names:
      // A name has 768 bytes at most, so the padding is spread over several.
      (0..<7).map { index in
        let share = padding / 7 + (index < padding % 7 ? 1 : 0)
        return (
          "\(index)\(unit)" + String(repeating: "a", count: share), Self.quoted(String(repeating: "v", count: 700))
        )
      }
    }
  }

  /// What is written.
  var value: String {
    if isOfChildren { return Self.object(added + [("old", "2")]) }
    let text = Self.quoted(String(repeating: unit, count: 100) + String(repeating: "a", count: padding))
    guard kind == .deepValue else { return text }
    let leaves = (0..<60).map { ("\($0)", "1") } + [("text", text)]
    return ["p", "q"].reduce(Self.object(leaves)) { Self.object([(String(repeating: $1, count: 600), $0)]) }
  }

  var isOfChildren: Bool { kind == .children || kind == .names }

  /// The forms of its event, the largest first.
  var forms: [Form] {
    if !isOfChildren { return [("Value.Changed", value), ("Value.TooBig", nil)] }
    func update(_ added: [(name: String, value: String)], _ changed: String) -> Form {
      (
        "Children.Updated",
        #"{"added":\#(Self.object(added)),"changed":{"old":\#(changed)},"removed":["gone"]}"#
      )
    }
    return [update(added, "2"), update(added.map { ($0.name, "null") }, "null"), ("Children.TooBig", nil)]
  }

  /// The largest padding with which its first form fits, or of names the second.
  static func largest(_ kind: Kind, _ unit: String, _ service: MessagingService, _ isSealed: Bool) -> Int {
    var (fits, not) = (0, 4096)
    while not - fits > 1 {
      let middle = (fits + not) / 2
      let form = LadderCase(kind: kind, unit: unit, padding: middle).forms[kind == .names ? 1 : 0]
      if size(form, service, isSealed) <= 4096 { fits = middle } else { not = middle }
    }
    return fits
  }

  /// What the service counts: FCM the bytes of names and values, Push Kit those of the body without the token.
  static func size(_ form: Form, _ service: MessagingService, _ isSealed: Bool) -> Int {
    var map = [("webcom.app", SendingBench.appID), ("webcom.path", path(0))]
    if isSealed {
      let data = form.data.map { #""data":\#($0),"# } ?? ""
      // Nonce and tag have 28 bytes. Base64 is as long for any bytes.
      let bytes = #"{\#(data)"event":\#(quoted(form.event))}"#.utf8.count + 28
      map.append(("webcom.sealed", Data(count: bytes).base64EncodedString()))
    } else {
      map.append(("webcom.event", form.event))
      if let data = form.data { map.append(("webcom.data", data)) }
    }
    switch service {
    case .fcm: return map.reduce(0) { $0 + $1.0.utf8.count + $1.1.utf8.count }
    case .hms:
      let data = quoted(object(map.map { ($0, quoted($1)) }))
      return #"{"validate_only":false,"message":{"data":\#(data),"android":{"urgency":"NORMAL"},"token":[]}}"#.utf8
        .count
    default: preconditionFailure("the size of \(service.rawValue) is not known")
    }
  }

  private static func object(_ members: [(name: String, value: String)]) -> String {
    "{\(members.map { "\(quoted($0.name)):\($0.value)" }.joined(separator: ","))}"
  }

  private static func quoted(_ text: String) -> String {
    "\"\(text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
  }
}

extension DataTreeBench {
  fileprivate func addHuaweiApp() async throws {
    bench.simulator.hms.register(clientID: "104567891", secret: "acme-secret")
    _ = try await PushApps(bench.pool, vault: bench.vault).add(
      bench.customer,
      NewPushApp(
        appID: SendingBench.appID, type: .huawei, name: "Acme",
        service: PushServiceFields([.clientID: Secret("104567891"), .clientSecret: Secret("acme-secret")])))
  }

  /// The flat maps that phones got, by token, and how large the service found each.
  fileprivate func arrived(
    by service: MessagingService
  ) throws -> [String: (data: [String: String], size: Int)] {
    var arrived: [String: (data: [String: String], size: Int)] = [:]
    switch service {
    case .fcm:
      for request in fcm.requests {
        guard request.isAccepted, let data = request.message["data"]?.texts else { continue }
        arrived[request.token] = (data, data.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count })
      }
    case .hms:
      for request in bench.simulator.hms.requests where request.isAccepted && request.tokens.count == 1 {
        let text = try #require(request.message["data"]?.text)
        guard let data = try JSONValue(parsing: Array(text.utf8)).texts else { continue }
        let size = request.payload.count - request.tokens[0].utf8.count - 2
        arrived[request.tokens[0]] = (data, size)
      }
    default: preconditionFailure("what \(service.rawValue) got is not known")
    }
    return arrived
  }
}
