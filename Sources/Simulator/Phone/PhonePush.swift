import FoundationEssentials
import Wire

/// The phone that a push is shown on.
enum PhoneKind: String, Codable, CaseIterable {
  case iPhone = "iphone"
  case android
  case huawei
  case browser = "web"
  case windows
  /// What gets SMS and calls.
  case number = "sms"

  var name: String {
    switch self {
    case .iPhone: "iPhone"
    case .android: "Android phone"
    case .huawei: "Huawei phone"
    case .browser: "Browser"
    case .windows: "Windows device"
    case .number: "Telephone number"
    }
  }
}

/// A push that a phone got, numbered over all services.
struct PhoneEntry: Sendable {
  enum Request: Sendable {
    case apns(SimulatedAPNs.ReceivedRequest)
    case fcm(SimulatedFCM.ReceivedRequest)
    case hms(SimulatedHMS.ReceivedRequest, token: String)
    case webPush(SimulatedWebPush.ReceivedRequest)
    case wns(SimulatedWNS.ReceivedRequest)
    case sms(SimulatedSMS.Message)
  }

  let number: Int
  let request: Request

  var phone: PhoneKind {
    switch request {
    case .apns: .iPhone
    case .fcm: .android
    case .hms: .huawei
    case .wns: .windows
    case .webPush: .browser
    case .sms: .number
    }
  }

  var token: String {
    switch request {
    case .apns(let request): request.token
    case .fcm(let request): request.token
    case .hms(_, let token): token
    case .webPush(let request): request.token
    case .wns(let request): request.channel
    case .sms(let message): "+\(message.to)"
    }
  }

  /// The push as it is shown.
  var push: PhonePush {
    switch request {
    case .apns(let request): PhonePush(request, number: number)
    case .fcm(let request): PhonePush(request, number: number)
    case .hms(let request, let token): PhonePush(request, to: token, number: number)
    case .webPush(let request): PhonePush(request, number: number)
    case .wns(let request): PhonePush(request, number: number)
    case .sms(let message): PhonePush(message, number: number)
    }
  }

  /// Whether it went to that device. Tokens of APNs are compared without regard to case, those of others exactly.
  func isFor(_ token: String?) -> Bool {
    guard let token else { return false }
    if case .apns = request { return self.token == token.lowercased() }
    return self.token == token
  }
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

  init(_ request: SimulatedAPNs.ReceivedRequest, number: Int? = nil) {
    self.number = number ?? request.number
    phone = .iPhone
    token = request.token
    let type = request.header("apns-push-type") ?? "alert"
    notes = [request.environment.rawValue] + (type == "alert" ? [] : [type])
    at = request.at
    let (topic, suffix) = (request.header("apns-topic") ?? "", HeaderChecks.topicSuffixes[type] ?? "")
    app = Self.appName(topic: String(topic.dropLast(topic.hasSuffix(suffix) ? suffix.count : 0)))
    let root = Self.json(request.payload)
    let aps = root?["aps"]
    let alert = aps?["alert"]
    let first = alert?["title"]?.text ?? alert?.text ?? root?["alert"]?.text
    let second = [alert?["subtitle"]?.text, alert?["body"]?.text ?? root?["info"]?.text].compactMap { $0 }
    isSilent = first == nil && second.isEmpty
    title = first ?? (second.isEmpty ? "Silent push" : app)
    text = second.joined(separator: "\n")
    badge = aps?["badge"]?.count
    picture = nil
    url = root?["url"]?.webAddress
    pushReadURL = root?["pushreadurl"]?.webAddress
    payload = Self.formatted(root, or: request.payload)
  }

  /// Android itself shows a notification. Of a data message, this shows what an app would make of `alert` and `info`.
  init(_ request: SimulatedFCM.ReceivedRequest, number: Int? = nil) {
    self.number = number ?? request.number
    phone = .android
    token = request.token
    at = request.at
    let android = request.message["android"]
    let data = android?["data"] ?? request.message["data"]
    let shown = FCMMessage.merged(request.message["notification"], android?["notification"])
    let isData = request.message["notification"] == nil && android?["notification"] == nil
    notes = isData ? ["FCM", "data message"] : ["FCM"]
    app =
      android?["restricted_package_name"]?.text.map { Self.appName(topic: $0) }
      ?? Self.appName(project: request.project)
    let notification = Self.notification(data)
    let first = notification?.title ?? (isData ? data?["alert"]?.text : shown["title"]?.text)
    let second = notification?.text ?? (isData ? data?["info"]?.text : shown["body"]?.text)
    isSilent = first == nil && second == nil
    title = first ?? (second == nil ? "Silent push" : app)
    text = second ?? ""
    badge = shown["notification_count"]?.count ?? data?["badge"]?.text.flatMap { Int($0) }
    picture = shown["image"]?.webAddress
    url = data?["url"]?.webAddress
    pushReadURL = data?["pushreadurl"]?.webAddress
    payload = Self.formatted(Self.json(request.payload), or: request.payload)
  }

  /// The phone itself shows a notification. Of a data message, this shows what an app would make of `alert` and `info`.
  init(_ request: SimulatedHMS.ReceivedRequest, to token: String, number: Int? = nil) {
    self.number = number ?? request.number
    phone = .huawei
    self.token = token
    at = request.at
    app = request.app
    let android = request.message["android"]
    let data = (android?["data"] ?? request.message["data"])?.text.flatMap { Self.json(Array($0.utf8)) }
    let shown = FCMMessage.merged(request.message["notification"], android?["notification"])
    let isData = request.message["notification"] == nil && android?["notification"] == nil
    notes = isData ? ["HMS", "data message"] : ["HMS"]
    let notification = Self.notification(data)
    let first = notification?.title ?? (isData ? data?["alert"]?.text : shown["title"]?.text)
    let second = notification?.text ?? (isData ? data?["info"]?.text : shown["body"]?.text)
    isSilent = first == nil && second == nil
    title = first ?? (second == nil ? "Silent push" : app)
    text = second == first ? "" : second ?? ""
    badge = shown["badge"]?["set_num"]?.count ?? data?["badge"]?.count
    picture = shown["image"]?.webAddress
    url = data?["url"]?.webAddress
    pushReadURL = data?["pushreadurl"]?.webAddress
    payload = Self.formatted(Self.json(request.payload), or: request.payload)
  }

  /// A browser shows what its site's service worker makes of the text. This shows `alert` and `info`, as the sample page does.
  init(_ request: SimulatedWebPush.ReceivedRequest, number: Int? = nil) {
    self.number = number ?? request.number
    phone = .browser
    token = request.token
    at = request.at
    let root = request.text.flatMap { Self.json($0) }
    notes = request.text == nil ? ["Web Push", "encrypted"] : ["Web Push"]
    app = root?["app"]?.text ?? "Website"
    let first = root?["alert"]?.text ?? root?["title"]?.text
    let second = root?["info"]?.text ?? root?["body"]?.text
    isSilent = first == nil && second == nil
    title = first ?? (second != nil ? app : request.text == nil ? "Only the browser can read it" : "Silent push")
    text = second ?? ""
    badge = root?["badge"]?.count
    picture = root?["image"]?.webAddress
    url = root?["url"]?.webAddress
    pushReadURL = root?["pushreadurl"]?.webAddress
    payload = request.text.map { Self.formatted(root, or: $0) } ?? "\(request.payload.count) encrypted bytes"
  }

  /// Windows shows a toast, and a badge or a tile of the app. Of a raw notification, this shows what an app would make of `alert` and
  /// `info`.
  init(_ request: SimulatedWNS.ReceivedRequest, number: Int? = nil) {
    self.number = number ?? request.number
    phone = .windows
    token = request.channel
    at = request.at
    app = request.app
    let isRaw = request.type == "wns/raw"
    let data = Self.json(isRaw ? request.payload : Array((request.attribute("launch") ?? "").utf8))
    let texts = isRaw ? [data?["alert"]?.text, data?["info"]?.text].compactMap(\.self) : request.texts
    let count = request.type == "wns/badge" ? request.attribute("value").flatMap { Int($0) } : data?["badge"]?.count
    notes = ["WNS"] + (request.type == "wns/toast" ? [] : [String(request.type.dropFirst(4))])
    isSilent = texts.isEmpty
    title = texts.first ?? (count == nil ? "Silent push" : app)
    text = texts.dropFirst().joined(separator: "\n")
    badge = count
    picture = request.picture.flatMap { JSONValue.string($0).webAddress }
    url = data?["url"]?.webAddress
    pushReadURL = data?["pushreadurl"]?.webAddress
    payload = isRaw ? Self.formatted(data, or: request.payload) : String(decoding: request.payload, as: UTF8.self)
  }

  /// What an app would make of a notification of a data tree; nil if it is none.
  private static func notification(_ data: JSONValue?) -> (title: String, text: String)? {
    guard let path = data?[DatasyncPayload.path]?.text, case .object(let members) = data else { return nil }
    guard
      let event = DatasyncPayload.event(
        in: Dictionary(members.compactMap { name, value in value.text.map { (name.text, $0) } }) { $1 })
    else {
      return data?[DatasyncPayload.sealed]?.text.map { _ in ("Encrypted: \(path)", "Only the app can read it") }
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

  /// A message, or what a call says.
  init(_ message: SimulatedSMS.Message, number: Int) {
    self.number = number
    phone = .number
    token = "+\(message.to)"
    at = message.at
    app = message.from.isEmpty ? "Unknown" : message.from
    notes =
      message.isCall
      ? ["call"] + [message.language].compactMap(\.self)
      : ["SMS", message.isUnicode ? "UCS-2" : "GSM-7", "\(message.parts) part\(message.parts == 1 ? "" : "s")"]
    title = message.isCall ? "Call: \(message.text)" : message.text
    text = ""
    isSilent = false
    badge = nil
    picture = nil
    url = nil
    pushReadURL = nil
    payload = message.text
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

  private static func json(_ payload: [UInt8]) -> JSONValue? {
    let json = try? JSONValue(json: Array(payload))
    return if case .object = json { json } else { nil }
  }

  private static func formatted(_ root: JSONValue?, or payload: [UInt8]) -> String {
    root?.indented ?? String(decoding: payload, as: UTF8.self)
  }
}

extension JSONValue {
  fileprivate var text: String? { if case .string(let text) = self, !text.isEmpty { text } else { nil } }
  fileprivate var count: Int? { integer.map { Int($0) } }
  /// Only what a browser may safely open.
  fileprivate var webAddress: String? {
    text.flatMap { $0.hasPrefix("http://") || $0.hasPrefix("https://") ? $0 : nil }
  }
}
