import Embedded
import Foundation
import Operations
import Wire

/// What pages of sendouts show of one.
extension ConsoleCall {
  /// A row of a list.
  func row(_ sendout: SendoutReply) -> [String: Any] {
    var row: [String: Any] = [
      "id": sendout.sendoutId.description, "name": sendout.name, "href": "/console/sendouts/\(sendout.sendoutId)",
      "state": sendout.state.badge, "apps": sendout.appNames,
      "isStream": sendout.kind == .stream, "haltReason": sendout.haltReason ?? "",
    ]
    // A stream begins with its first message.
    if let started = sendout.startedAt ?? (sendout.kind == .stream ? sendout.createdAt : nil) {
      row["started"] = zone.time(started)
    }
    if sendout.state == .scheduled {
      row["starts"] =
        sendout.campaign.localTime.map { "\($0.words), local time" }
        ?? sendout.campaign.startAt.map { zone.text($0.date) } ?? ""
    }
    if let counts = sendout.counts {
      row["audience"] = ChartText.grouped(counts.audience)
      row["progress"] = counts.progress
      row["done"] = ChartText.percent(counts.done, of: counts.audience)
      row["openRate"] = ChartText.percent(counts.opened, of: counts.accepted)
      let opens = sendout.firstOpens ?? []
      row["spark"] = Figures.sparkline(
        opens,
        label: "First opens in each of the first \(opens.count) hours, \(ChartText.grouped(opens.reduce(0, +))) in all")
    }
    return row
  }
}

extension SendoutReply {
  /// The app ids, each with its platforms.
  fileprivate var appNames: String {
    var names: [(id: String, platforms: [String])] = []
    for app in apps {
      if let place = names.firstIndex(where: { $0.id.utf8.elementsEqual(app.appId.utf8) }) {
        names[place].platforms.append(app.appType.platform)
      } else {
        names.append((app.appId, [app.appType.platform]))
      }
    }
    return names.map { "\($0.id) (\($0.platforms.joined(separator: ", ")))" }.joined(separator: ", ")
  }
}

extension SendoutCounts {
  /// Pushes that have their outcome.
  var done: Int { audience - left }
  /// Pushes that have yet to be sent, now or again.
  var left: Int { queued + sending + waiting }

  /// How far it is.
  var progress: Markup {
    Figures.progress(
      done, failed: failed + uncertain, leftOut: skipped + cancelled, of: audience,
      label: "\(ChartText.percent(done, of: audience)) of \(ChartText.grouped(audience)) pushes have their outcome")
  }
}

extension SendoutState {
  /// For `{{>_state}}`.
  var badge: [String: Any] {
    let tone =
      switch self {
      case .draft, .scheduled, .finished: "idle"
      case .freezing, .running: "ok"
      case .paused: "warn"
      case .cancelled: "bad"
      }
    return ["tone": tone, "text": word]
  }

  /// For people.
  var word: String {
    switch self {
    case .freezing: "Starting"
    default: rawValue.inWords
    }
  }

  /// Whether it changes by itself.
  var isActive: Bool { self == .freezing || self == .running }
}

extension PushState {
  /// For `{{>_state}}`.
  var badge: [String: Any] {
    let tone =
      switch self {
      case .accepted: "ok"
      case .queued, .cancelled, .skipped: "idle"
      case .waiting, .uncertain: "warn"
      case .failed: "bad"
      }
    return ["tone": tone, "text": rawValue.inWords]
  }
}
