import FoundationEssentials
import Wire

/// The phone that a service's pushes are shown on.
struct PhoneKind: Sendable {
  /// Names it in the page, and is a class of its style.
  let id: String
  let name: String
  /// What tells its devices from those of an iPhone, in the list of devices; nil for nothing.
  let label: String?
  /// Another phone whose style it has, too; empty for none.
  var look = ""
  /// Whether its tokens are compared without regard to case.
  var ignoresCase = false
  /// Its style, which comes after that of the services before it.
  var style = ""

  static let all = PushSimulator.kinds.map { $0.phone }
}

extension PhoneKind: Hashable, Encodable {
  static func == (one: Self, other: Self) -> Bool { one.id == other.id }
  func hash(into hasher: inout Hasher) { hasher.combine(id) }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(id)
  }
}

/// A push that a phone got, numbered over all services.
struct PhoneEntry: Sendable {
  let number: Int
  let phone: PhoneKind
  /// The device's, as it is shown.
  let token: String
  /// What is shown, given the number.
  let makePush: @Sendable (Int) -> PhonePush

  var push: PhonePush { makePush(number) }

  /// Whether it went to that device.
  func isFor(_ token: String?) -> Bool { token.map { phone.isSame(self.token, $0) } ?? false }
}

extension PhoneKind {
  /// Whether a device's token is the one that somebody named.
  func isSame(_ token: String, _ named: String) -> Bool { token == (ignoresCase ? named.lowercased() : named) }
}

/// A received push as a phone shows it: its texts, and where a tap leads.
struct PhonePush {
  let number: Int
  let phone: PhoneKind
  let token: String
  /// Where the token belongs and what kind of push it is, in a word or two each.
  let notes: [String]
  let at: Date
  /// The app's name, derived from its topic, package or project.
  let app: String
  let title: String
  let text: String
  let badge: Int?
  let picture: String?
  let isSilent: Bool
  let url: String?
  let pushReadURL: String?
  /// The payload, formatted for reading.
  let payload: String

  /// - Parameters:
  ///   - first: what is shown in the first line; nil for nothing.
  ///   - silent: what the page shows in place of both.
  ///   - data: what the app gets, which says where a tap leads.
  init(
    _ number: Int, _ phone: PhoneKind, token: String, at: Date, app: String, notes: [String], first: String?,
    second: String?, silent: String = "Silent push", badge: Int?, picture: JSONValue? = nil, data: JSONValue?,
    payload: String
  ) {
    (self.number, self.phone, self.token, self.at, self.app) = (number, phone, token, at, app)
    (self.notes, self.badge, self.payload) = (notes, badge, payload)
    isSilent = first == nil && second == nil
    title = first ?? (second == nil ? silent : app)
    text = second ?? ""
    self.picture = picture?.webAddress
    url = data?["url"]?.webAddress
    pushReadURL = data?["pushreadurl"]?.webAddress
  }
}

extension PhonePush {
  /// What an app would make of a notification of a data tree; nil if it is none.
  static func notification(_ data: JSONValue?) -> (title: String, text: String)? {
    guard let path = data?[DataTreePayload.path]?.shownText, case .object(let members) = data else { return nil }
    guard
      let event = DataTreePayload.event(
        in: Dictionary(members.compactMap { name, value in value.shownText.map { (name.text, $0) } }) { $1 })
    else {
      return data?[DataTreePayload.sealed]?.shownText.map { _ in ("Encrypted: \(path)", "Only the app can read it") }
    }
    let text =
      switch event {
      case .valueChanged(let value): String(decoding: value.json, as: UTF8.self)
      case .childrenUpdated(let update):
        "\(update.added.count) added, \(update.changed.count) changed, \(update.removed.count) removed"
      case .valueTooBig, .childrenTooBig: "It is too large for a notification"
      case .valueChangedHidingData: "The app has to read it"
      case .revoked(let reason): reason
      }
    return ("\(event.name): \(path)", text)
  }

  /// The last telling part of the bundle id: `Acme` of `com.acme.app`.
  static func appName(topic: String) -> String {
    let parts = topic.split(separator: ".")
    let name =
      parts.last { !["app", "ios", "android", "mobile", "voip"].contains($0.lowercased()) } ?? parts.last ?? "App"
    return name.prefix(1).uppercased() + name.dropFirst()
  }

  /// `Acme Shop` of the project `acme-shop`.
  static func appName(project: String) -> String {
    let words = project.split(separator: "-").map { $0.prefix(1).uppercased() + $0.dropFirst() }
    return words.isEmpty ? "App" : words.joined(separator: " ")
  }

  static func json(_ payload: [UInt8]) -> JSONValue? {
    let json = try? JSONValue(json: payload)
    return if case .object = json { json } else { nil }
  }

  static func formatted(_ root: JSONValue?, or payload: [UInt8]) -> String {
    root?.indented ?? String(decoding: payload, as: UTF8.self)
  }
}

extension JSONValue {
  var shownText: String? { if case .string(let text) = self, !text.isEmpty { text } else { nil } }
  var shownCount: Int? { integer.map { Int($0) } }
  /// Only what a browser may safely open.
  var webAddress: String? {
    shownText.flatMap { $0.hasPrefix("http://") || $0.hasPrefix("https://") ? $0 : nil }
  }
}
