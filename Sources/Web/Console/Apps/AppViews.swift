import Embedded
import FoundationEssentials
import Operations
import Wire

/// What pages show of an app.
extension PushAppReply {
  var path: String { "/console/apps/\(pushAppId)" }

  /// For a row of a table and for the head of its page.
  func summary(_ zone: ConsoleZone, _ count: DeviceCountReply?) -> [String: Any] {
    var values: [String: Any] = [
      "id": "\(pushAppId)", "href": path, "name": name, "appId": appId, "platform": appType.platform,
      "state": state, "changed": zone.time(updatedAt),
    ]
    if kind != .app { values["kind"] = kind.label }
    if let count { values["devices"] = count.text }
    return values
  }

  /// For `{{>_state}}`.
  var state: [String: Any] {
    if alarm != nil { return ["text": "Needs attention", "tone": "bad"] }
    if !hasCredentials { return ["text": "No credentials", "tone": "warn"] }
    if sandboxAlarm != nil { return ["text": "Sandbox needs attention", "tone": "warn"] }
    guard let checks = lastCheck?.checks else { return ["text": "Not checked", "tone": "idle"] }
    if checks.contains(where: { $0.verdict == .accepted }) { return ["text": "Accepted", "tone": "ok"] }
    if checks.contains(where: { $0.verdict == .refused }) { return ["text": "Refused", "tone": "bad"] }
    if checks.contains(where: { $0.verdict == .unasked }) { return ["text": "Ready", "tone": "ok"] }
    return ["text": "Unreachable", "tone": "warn"]
  }

  /// What the push service refused of the stored credentials when it was last asked, at the field that it concerns; `nil` if it accepts
  /// them in an environment.
  var refusal: HTTPErrorResponse? {
    guard let checks = lastCheck?.checks, !checks.contains(where: { $0.verdict == .accepted }),
      let check = checks.first(where: { $0.verdict == .refused }), let field = check.field(of: self)
    else { return nil }
    let advice = check.advice.map { " \($0)" } ?? ""
    return .badRequest("\(field.name) is refused by \(appType.service.title): \(check.reason ?? "no reason").\(advice)")
  }

  /// Whether something signs in to its push service.
  var hasCredentials: Bool { credentials.contains { !$0.kind.isIdentity } }

  /// What is wrong in each environment, and what helps.
  func alarms(_ zone: ConsoleZone) -> [[String: Any]] {
    [("Production", alarm), ("Sandbox", sandboxAlarm)].compactMap { environment, alarm in
      alarm.map { ["environment": environment, "reason": $0.reason, "since": zone.time($0.since)] }
    }
  }

  func credentials(_ zone: ConsoleZone) -> [[String: Any]] {
    credentials.map { credential in
      var values: [String: Any] = [
        "kind": credential.kind.label, "fingerprint": credential.fingerprint, "stored": zone.time(credential.updatedAt),
      ]
      let signer = [teamId, keyId].compactMap(\.self).joined(separator: " / ")
      if let account = credential.account {
        values["account"] = account
      } else if credential.kind == .apnsSigningKey, !signer.isEmpty {
        values["account"] = signer
      }
      if let end = credential.notAfter {
        let days = Int((end.date.timeIntervalSinceNow / 86_400).rounded(.down))
        values["expires"] = zone.time(end)
        values["expiry"] =
          days < 0
          ? ["text": "Expired", "tone": "bad"]
          : ["text": days == 1 ? "1 day left" : "\(days) days left", "tone": days < 30 ? "warn" : "ok"]
      }
      return values
    }
  }
}

extension PushAppReply.LastCheck {
  func view(_ zone: ConsoleZone) -> [String: Any] { ["at": zone.time(at), "rows": checks.map(\.view)] }
}

extension PushAppCheckReply.Check {
  fileprivate var view: [String: Any] {
    var values: [String: Any] = ["environment": environment.rawValue, "verdict": verdict.badge]
    if let reason { values["reason"] = reason }
    if let advice { values["advice"] = advice }
    return values
  }

  /// The field of the app that a refusal concerns: the last one of the stored sign-in.
  func field(of app: PushAppReply) -> CredentialField? {
    let stored = app.appType.service.signIns.filter { way in app.credentials.contains { $0.kind == way.kind } }
    let ofEnvironment = stored.first { way in
      if case .certificate(let isForDevelopment) = way.form {
        isForDevelopment == (environment == .sandbox)
      } else {
        false
      }
    }
    let first = stored.first { if case .certificate = $0.form { false } else { true } }
    return (first ?? ofEnvironment)?.fields.last
  }
}

extension PushAppCheckReply.Check.Verdict {
  fileprivate var badge: [String: Any] {
    switch self {
    case .accepted: ["text": "Accepted", "tone": "ok"]
    case .refused: ["text": "Refused", "tone": "bad"]
    case .unasked: ["text": "Not asked", "tone": "idle"]
    case .unreachable: ["text": "Unreachable", "tone": "warn"]
    }
  }
}

extension PushAppCheckReply {
  /// What is said after a check, in one sentence.
  func notice(_ service: PushService) -> String {
    let parts = checks.map { check in
      let reason = check.reason.map { " (\($0))" } ?? ""
      return switch check.verdict {
      case .accepted: "accepted in \(check.environment.rawValue)"
      case .refused: "refused in \(check.environment.rawValue)\(reason)"
      case .unasked: "not asked\(reason)"
      case .unreachable: "not checked, as \(check.environment.rawValue) could not be reached\(reason)"
      }
    }
    return "\(service.title): the credentials are \(parts.joined(separator: ", ")). Nothing was sent to a phone."
  }
}

extension PushCredentialKind {
  fileprivate static let identities: Set = [identitySecret, previousIdentitySecret]
  var isIdentity: Bool { Self.identities.contains(self) }

  /// As in `APNs signing key`.
  var label: String {
    let words = rawValue.split(separator: "_").map { word in
      switch word {
      case "apns": "APNs"
      case "fcm", "hms", "wns", "vapid", "sms": word.uppercased()
      default: String(word)
      }
    }
    let text = words.joined(separator: " ")
    return text.prefix(1).uppercased() + text.dropFirst()
  }
}

extension DeviceCountReply {
  /// As in `12`, or by the last day `5,012,345`.
  var text: String {
    guard areMore, let last = days.last else { return ChartText.grouped(devices) + (areMore ? "+" : "") }
    return ChartText.grouped(last.devices + last.sandboxDevices)
  }
}

extension DeviceCountReply {
  /// A chart of the last days, and one of the sandbox if it has devices; none before the first day is counted.
  func charts() -> [String: Any] {
    var charts: [String: Any] = [:]
    if !days.isEmpty {
      charts["chart"] = chart(
        "devices", "Devices", "Valid devices of each of the last days, at their beginning in UTC.", \.devices)
    }
    if days.contains(where: { $0.sandboxDevices > 0 }) {
      charts["sandboxChart"] = chart(
        "sandbox", "Devices of the sandbox", "Valid devices of the push service's sandbox of each of the last days.",
        \.sandboxDevices)
    }
    return charts
  }

  private func chart(_ id: String, _ title: String, _ description: String, _ value: (Day) -> Int) -> Markup {
    Chart(
      id: id, title: title, description: description, form: .line, unit: "Day (UTC)",
      points: days.map { Chart.Point(short: String($0.day.suffix(5)), label: $0.day, value: value($0)) }
    ).markup
  }
}
