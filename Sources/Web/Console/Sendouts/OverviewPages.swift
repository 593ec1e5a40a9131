import Operations
import Wire

/// The first page: what needs attention, what runs now, and the last 30 days.
enum OverviewPages {
  static let pages = [overview]
  static let actions: [ConsoleAction] = []

  /// How many days the charts have.
  private static let days: Int32 = 30

  private static let overview = ConsolePage(
    path: "/console", title: "Overview", section: .overview,
    reads: [
      AnyOperation(ReportOperations.alarms), AnyOperation(SendoutOperations.list),
      AnyOperation(ReportOperations.activity),
    ]
  ) { call in
    let alarms = try await call.read(ReportOperations.alarms, ()).alarms
    var running: [SendoutReply] = []
    for state in [SendoutState.freezing, .running, .paused] {
      running += try await call.read(
        SendoutOperations.list, ((((state, .broadcast), nil), true), PageRequest(limit: 10))
      ).items
    }
    let latest = try await call.read(
      SendoutOperations.list, ((((nil, .broadcast), nil), true), PageRequest(limit: 5))
    ).items
    let days = try await call.read(ReportOperations.activity, Self.days).days
    return ConsoleView(
      title: "Overview", template: "overview",
      values: [
        "alarms": alarms.map { call.alarm($0) }, "isWell": alarms.isEmpty,
        "running": running.map { call.row($0) }, "latest": latest.map { call.row($0) },
        "isFirst": latest.isEmpty, "maySend": call.allows(SendoutOperations.add),
        "compose": SendoutPages.composer, "customer": call.customer.description,
        "charts": charts(days).map { ["chart": $0.markup] as [String: Any] },
      ],
      sql: """
        SELECT day, sent, opened, registered
          FROM day_count WHERE customer_id = \(call.customer) ORDER BY day DESC LIMIT \(Self.days);
        """,
      isLive: running.contains { $0.state.isActive })
  }

  /// Pushes, opens and registrations.
  static func charts(_ days: [DayActivity]) -> [Chart] {
    func points(_ value: (DayActivity) -> Int) -> [Chart.Point] {
      days.map { Chart.Point(short: String($0.day.suffix(5)), label: $0.day, value: value($0)) }
    }
    func chart(
      _ id: String, _ title: String, _ series: String, _ sentence: String, _ value: (DayActivity) -> Int
    ) -> Chart {
      var chart = Chart(
        id: id, title: title, description: "\(sentence) by day, in UTC, of the last \(days.count) days.",
        form: .bars, unit: "Day (UTC)", points: points(value))
      chart.series = series
      return chart
    }
    return [
      chart("sent", "Pushes", "s1", "Pushes sent for the first time", \.sent),
      chart("opened", "Opens", "s2", "Pushes opened by a person for the first time", \.opened),
      chart("registered", "New devices", "s3", "Devices registered for the first time", \.registered),
    ]
  }
}

extension ConsoleCall {
  /// An alarm with the page where it can be mended, if the user may go there.
  fileprivate func alarm(_ alarm: AlarmReply) -> [String: Any] {
    let place: (href: String, label: String)? =
      switch alarm.kind {
      case .app where allows(AppOperations.show):
        alarm.pushAppId.map { ("/console/apps/\($0)", "Open the app") }
      case .hybrid where allows(HybridAppOperations.show):
        alarm.appId.map { ("/console/hybrid/\(PercentEncoding.encode($0))", "Open the app") }
      case .webhook where alarm.webhookId != nil && allows(EventWebhookOperations.show):
        alarm.webhookId.map { (EventWebhookPages.path($0), "Open the webhook") }
      case .webhook where alarm.webhookId == nil && allows(DataTreeAppOperations.list):
        ("/console/data-trees", "Open data trees")
      case .sendout: alarm.sendoutId.map { ("/console/sendouts/\($0)", "Open the sendout") }
      default: nil
      }
    var values: [String: Any] = [
      "title": alarm.title, "reason": alarm.reason, "fix": alarm.fix, "command": alarm.command ?? "",
      "since": zone.time(alarm.since),
    ]
    if let place { values["link"] = ["href": place.href, "label": place.label] }
    return values
  }
}
