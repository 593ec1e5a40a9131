import HTTPTypes
import Wire

/// `/api/v1/reports`.
enum ReportOperations {
  static let all: [Operation] = [
    Operation(
      method: .get, path: "/api/v1/reports/{report}", id: "showReport", topic: .reports, door: .key(.admin),
      summary: "Show a report",
      about: """
        The same numbers that psql shows: `devices`, `registrations` and `invalidations` by day, `sendouts`, `funnel`, \
        `failures`, `opens` by hour, and the `timeline` of one contact. The newest rows come first. Days and hours are UTC.
        """,
      parameters: [
        .path("report", .word(of: Report.allCases.map(\.rawValue), "Which one."), example: "sendouts"),
        .query(
          "sendout", .id("Only this sendout; for `sendouts`, `funnel`, `failures` and `opens`."), example: "7"),
        .query("contact", .text("Whose timeline, by original id; `timeline` needs it."), example: "lars@example.com"),
        .query("limit", .integer("Count of rows; 100 when absent.", 1...1000), example: "100"),
      ],
      replies: [
        .ok(
          "The report.", .named("Report"),
          example: """
            {
              "report": "failures",
              "rows": [{ "sendoutId": 7, "state": "failed", "reason": "Unregistered", "pushes": 12 }]
            }
            """)
      ],
      errors: [.refusal("There is no such report.", ReportRoutes.unknown)])
  ]
}
