import Operations
import Sendouts
import Wire

/// Triggers: the list, one of them, and what can be done to it.
enum TriggerPages {
  static let pages = [triggers, new, trigger]
  static let actions = [add, change, pause, enable, remove]

  private static let triggers = ConsolePage(
    path: "/console/triggers", title: "Triggers", section: .triggers, reads: [AnyOperation(TriggerOperations.list)],
    query: ["after"]
  ) { call in
    let after: TriggerID? = try call.query.page().after
    let page = try await call.read(TriggerOperations.list, PageRequest(after: after, limit: 50))
    return ConsoleView(
      title: "Triggers", template: "triggers",
      values: [
        "rows": page.items.map { trigger -> [String: Any] in
          [
            "href": "/console/triggers/\(trigger.triggerId)", "name": trigger.name,
            "description": trigger.description ?? "", "apps": trigger.appIds.joined(separator: ", "),
            "state": state(trigger), "alert": trigger.message.alert ?? "", "changed": call.zone.time(trigger.updatedAt),
          ]
        },
        "hasRows": !page.items.isEmpty, "mayAdd": call.allows(TriggerOperations.add),
        "pager": ConsolePath.pager("/console/triggers", after: after?.description, page.next?.description),
        "first": page.items.isEmpty && after == nil
          ? [
            [
              "title": "There are no triggers yet",
              "text": "A trigger is a message that people write once. Back ends send it to one contact at a time.",
              "command": """
              pushcart trigger add --customer \(call.customer) --name "Order shipped" --app com.acme.app \
              --alert "{{firstName}}, your order {{orderNo}} is on its way"
              """,
              "link": call.allows(TriggerOperations.add)
                ? [["href": "/console/triggers/new", "label": "Add a trigger"]] : [],
            ]
          ] : [],
      ], sql: "SELECT * FROM trigger WHERE customer_id = \(call.customer) ORDER BY trigger_id LIMIT 50;")
  }

  private static func state(_ trigger: TriggerReply) -> [String: Any] {
    trigger.active ? ["tone": "ok", "text": "Active"] : ["tone": "idle", "text": "Paused"]
  }

  // MARK: One trigger

  private static let trigger = ConsolePage(
    path: "/console/triggers/{id}", title: "Trigger", section: .triggers,
    reads: [AnyOperation(TriggerOperations.show), AnyOperation(TriggerOperations.figures)]
  ) { call in
    let trigger = try await call.read(TriggerOperations.show, try call.number())
    let days = try await call.read(TriggerOperations.figures, (trigger.triggerId, days)).days
    let mayChange = call.allows(TriggerOperations.change)
    let send = """
      curl \(call.parts.publicURL)/rest/\(call.customer)/triggers/\(trigger.triggerId)/messages \\
        -H "X-Carma-Authentication-Token: $KEY" -H "Content-Type: application/json" \\
        -d '{"originalId":"lars@example.com","properties":{"orderNo":"A-17"}}'
      """
    return ConsoleView(
      title: trigger.name, template: "trigger",
      values: [
        "id": trigger.triggerId, "name": trigger.name, "description": trigger.description ?? "",
        "state": state(trigger), "isActive": trigger.active, "apps": trigger.appIds,
        "alert": trigger.message.alert ?? "", "info": trigger.message.info ?? "", "json": trigger.message.json,
        "page": trigger.template ?? "", "since": call.zone.time(trigger.createdAt),
        "changed": call.zone.time(trigger.updatedAt), "send": send, "mayChange": mayChange,
        "charts": charts(days).map { ["chart": $0.markup] as [String: Any] }, "figures": figures(days),
        "form": mayChange ? [call.formView(try await TriggerForm.fields(call), all: TriggerForm.initial(trigger))] : [],
      ],
      sql: """
        SELECT * FROM trigger WHERE customer_id = \(call.customer) AND trigger_id = \(trigger.triggerId);
        SELECT left(s.stream, 10) AS day, sum(m.messages) AS messages, sum(c.audience) AS pushes, sum(c.accepted) AS accepted,
               sum(c.failed) AS failed, sum(c.opened) AS opened
          FROM sendout s LEFT JOIN sendout_counts c USING (customer_id, sendout_id)
         CROSS JOIN LATERAL (SELECT count(*) AS messages FROM message
                              WHERE customer_id = s.customer_id AND sendout_id = s.sendout_id) AS m
         WHERE s.customer_id = \(call.customer) AND s.stream LIKE '% trigger/\(trigger.triggerId)'
         GROUP BY day ORDER BY day DESC LIMIT \(Self.days);
        """)
  }

  /// How many days the figures have.
  private static let days: Int32 = 30

  private static func charts(_ days: [TriggerDay]) -> [Chart] {
    func chart(_ id: String, _ title: String, _ series: String, _ value: (TriggerDay) -> Int) -> Chart {
      var chart = Chart(
        id: id, title: title, description: "\(title) by day, in UTC, of the last \(days.count) days.", form: .bars,
        unit: "Day (UTC)",
        points: days.map { Chart.Point(short: String($0.day.suffix(5)), label: $0.day, value: value($0)) })
      chart.series = series
      return chart
    }
    return [
      chart("caused", "Messages", "s1") { $0.messages ?? 0 }, chart("accepted", "Accepted pushes", "s3", \.accepted),
      chart("failed", "Failed pushes", "s4", \.failed), chart("opened", "Opened pushes", "s2", \.opened),
    ]
  }

  /// The days on which it caused something, the newest first, for `{{>_table}}`; empty for none.
  private static func figures(_ days: [TriggerDay]) -> [[String: Any]] {
    let names = ["Day (UTC)", "Messages", "Pushes", "Accepted", "Failed", "Opened"]
    let rows = days.reversed().filter { $0.pushes > 0 || $0.messages ?? 0 > 0 }.map { day in
      let counts = [day.messages, day.pushes, day.accepted, day.failed, day.opened]
      let texts = [day.day] + counts.map { $0.map { ChartText.grouped($0) } ?? "–" }
      return [
        "cells": zip(names, texts).enumerated().map { index, cell in
          ["label": cell.0, "text": cell.1, "isNumber": index > 0, "href": ""] as [String: Any]
        }
      ] as [String: Any]
    }
    guard !rows.isEmpty else { return [] }
    return [
      [
        "caption": "What it caused by day, the newest first",
        "columns": names.enumerated().map { ["title": $0.element, "isNumber": $0.offset > 0] as [String: Any] },
        "rows": rows,
      ]
    ]
  }

  private static let new = ConsolePage(
    path: "/console/triggers/new", title: "Add a trigger", section: .triggers,
    reads: [AnyOperation(TriggerOperations.add)]
  ) { call in
    ConsoleView(
      title: "Add a trigger", template: "trigger-new",
      values: ["form": call.formView(try await TriggerForm.fields(call))])
  }

  // MARK: Changes

  private static let add = ConsoleAction(
    path: "/console/triggers/new", operation: AnyOperation(TriggerOperations.add), fields: TriggerForm.plainFields,
    form: "/console/triggers/new"
  ) { call in
    let trigger = try await call.change(TriggerOperations.add, (), TriggerForm.request(call.form, MessageBody()))
    return .see("/console/triggers/\(trigger.triggerId)", notice: "The trigger is added, and takes messages.")
  }

  private static let change = ConsoleAction(
    path: "/console/triggers/{id}", operation: AnyOperation(TriggerOperations.change), fields: TriggerForm.plainFields,
    form: "/console/triggers/{id}"
  ) { call in
    let id: TriggerID = try call.number()
    let known = try await call.read(TriggerOperations.show, id)
    var request = TriggerForm.request(call.form, known.message)
    request.description = request.description ?? ""
    request.template = request.template ?? ""
    _ = try await call.change(TriggerOperations.change, id, request)
    return .see("/console/triggers/\(id)", notice: "The trigger is changed, for every message from now on.")
  }

  private static let pause = activation("pause", false, "The trigger refuses messages now.")
  private static let enable = activation("enable", true, "The trigger takes messages again.")

  private static func activation(_ verb: String, _ isActive: Bool, _ notice: String) -> ConsoleAction {
    ConsoleAction(
      path: "/console/triggers/{id}/\(verb)", operation: AnyOperation(TriggerOperations.change),
      form: "/console/triggers/{id}"
    ) { call in
      let id: TriggerID = try call.number()
      _ = try await call.change(TriggerOperations.change, id, TriggerRequest(active: isActive))
      return .see("/console/triggers/\(id)", notice: notice)
    }
  }

  private static let remove = ConsoleAction(
    path: "/console/triggers/{id}/remove", operation: AnyOperation(TriggerOperations.remove),
    confirms: Confirmation(title: "Remove the trigger?", button: "Remove the trigger") { call in
      let trigger = try await call.read(TriggerOperations.show, try call.number())
      return """
        Back ends that send messages of "\(trigger.name)" get a 404 from now on. What it has sent stays in reports. \
        This cannot be undone.
        """
    }, form: "/console/triggers/{id}"
  ) { call in
    let trigger = try await call.change(TriggerOperations.remove, try call.number(), ())
    return .see("/console/triggers", notice: "\(trigger.name.prefix(80)) is removed.")
  }
}

/// The form of a trigger. Members of its message that the form does not have stay as they are.
enum TriggerForm {
  /// Without the apps that there are.
  static let plainFields = [
    TriggerRequest.form.field("name", label: "Name"),
    TriggerRequest.form.field("description", label: "Description", kind: .text),
    FormField("appIds", label: "Apps", kind: .choices([]), hint: "On all their platforms.", isRequired: true),
    FormField(
      "message.alert", label: "Text", kind: .area(rows: 3),
      hint: "It can name the properties that come with each message, and the contact's: {{orderNo}}, {{firstName}}."),
    FormField("message.info", label: "Further text", kind: .area(rows: 2), hint: "Shown below the text."),
    FormField("message.url", label: "Link", hint: "What a tap opens, where the trigger has no page."),
    TriggerRequest.form.field(
      "purpose", label: "Purpose", hint: "Who gets it: some people want no marketing, but transactional messages."),
    FormField("template", label: "Page", hint: "The name of the rich page's template; empty for none."),
  ]

  /// With a box for each app, SMS too: what has no box is lost when the form is saved.
  static func fields(_ call: ConsoleCall) async throws -> [FormField] {
    guard call.allows(AppOperations.list) else { return plainFields }
    var ids: [UTF8String] = []
    let apps = try await AppOperations.list.run(
      OperationCall(reading: call.parts.operations, of: call.customer), PageRequest(limit: 1000), ())
    for app in apps.items where !ids.contains(UTF8String(app.appId)) {
      ids.append(UTF8String(app.appId))
    }
    return plainFields.map { field in
      guard field.name == "appIds" else { return field }
      var field = field
      field.kind = .choices(ids.map { FormField.Choice($0.text) })
      return field
    }
  }

  static func initial(_ trigger: TriggerReply) -> [String: [String]] {
    [
      "name": [trigger.name], "description": trigger.description.map { [$0] } ?? [], "appIds": trigger.appIds,
      "message.alert": trigger.message.alert.map { [$0] } ?? [],
      "message.info": trigger.message.info.map { [$0] } ?? [], "message.url": trigger.message.url.map { [$0] } ?? [],
      "purpose": [trigger.purpose.rawValue], "template": trigger.template.map { [$0] } ?? [],
    ]
  }

  /// - Parameter message: what there is of it.
  static func request(_ form: FormValues, _ message: MessageBody) -> TriggerRequest {
    var message = message
    message.alert = form.text("message.alert")
    message.info = form.text("message.info")
    message.url = form.text("message.url")
    return TriggerRequest(
      name: form.text("name") ?? "", description: form.text("description"), appIds: form.all("appIds"),
      message: message, purpose: form.text("purpose").flatMap { MessagePurpose(rawValue: $0) },
      template: form.text("template"))
  }
}
