import FoundationEssentials
import Wire

extension SimulatedAPNs {
  static let phone = PhoneKind(
    id: "iphone", name: "iPhone", label: nil, ignoresCase: true)
}

extension PhonePush {
  init(_ request: SimulatedAPNs.ReceivedRequest, number: Int? = nil) {
    let type = request.header("apns-push-type") ?? "alert"
    let (topic, suffix) = (request.header("apns-topic") ?? "", RequestChecks.topicSuffixes[type] ?? "")
    let root = Self.json(request.payload)
    let alert = root?["aps"]?["alert"]
    let lines = [alert?["subtitle"], alert?["body"] ?? root?["info"]].compactMap { $0?.shownText }
    self.init(
      number ?? request.number, SimulatedAPNs.phone, token: request.token, at: request.at,
      app: Self.appName(topic: String(topic.dropLast(topic.hasSuffix(suffix) ? suffix.count : 0))),
      notes: [request.environment.rawValue] + (type == "alert" ? [] : [type]),
      first: alert?["title"]?.shownText ?? alert?.shownText ?? root?["alert"]?.shownText,
      second: lines.isEmpty ? nil : lines.joined(separator: "\n"), badge: root?["aps"]?["badge"]?.shownCount,
      data: root, payload: Self.formatted(root, or: request.payload))
  }
}
