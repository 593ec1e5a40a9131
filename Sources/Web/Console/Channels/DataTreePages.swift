import Operations
import Registry
import Sendouts
import Wire

/// Data trees of apps.
enum DataTreePages {
  static let pages = [list, figures]
  static let actions = [enable]

  private static let fields = [DataTreeRequest.form.field("app", label: "App ID", isRequired: true)]

  private static let list = ConsolePage(
    path: "/console/data-trees", title: "Data trees", section: .channels,
    reads: [AnyOperation(DataTreeAppOperations.list)], query: ["after"]
  ) { call in
    let page = try await call.read(DataTreeAppOperations.list, try call.query.namedPage())
    return ConsoleView(
      title: "Data trees", template: "data-trees",
      values: [
        "tabs": ChannelTabs.tabs(call, "/console/data-trees"),
        "trees": page.items.map { tree in
          [
            "app": tree.app, "created": call.zone.time(tree.createdAt),
            "address": "\(call.parts.publicURL)/datasync/v2/\(PercentEncoding.encode(tree.app))/data/",
            "webhooks": "/console/data-trees/\(PercentEncoding.encode(tree.app))/webhooks",
          ]
        }, "isEmpty": page.items.isEmpty, "hasTrees": !page.items.isEmpty,
        "pager": call.pager("/console/data-trees", page.next),
        "form": call.formView(fields), "mayAdd": call.allows(DataTreeAppOperations.enable),
        "mayRead": call.allows(ReportOperations.show),
        "command": "pushcart datasync enable --customer \(call.customer) --app com.acme.app",
      ],
      sql: "SELECT * FROM report.subscriptions WHERE customer_id = \(call.customer);")
  }

  private static let enable = ConsoleAction(
    path: "/console/data-trees", operation: AnyOperation(DataTreeAppOperations.enable), fields: fields,
    form: "/console/data-trees"
  ) { call in
    let tree = try await call.change(
      DataTreeAppOperations.enable, (), DataTreeRequest(app: call.form.text("app").map { String($0.trimmed) } ?? ""))
    let address = "\(call.parts.publicURL)/datasync/v2/\(PercentEncoding.encode(tree.app))/data/"
    return .show(
      .secret(
        "The data tree of \(tree.app)", label: "Secret", tree.secret,
        use: "curl \(address) -H 'Authorization: Bearer \(tree.secret)'",
        note:
          "It is access key \(tree.keyId), of scope datasync. Secrets made before stay valid until their keys are revoked.",
        back: "/console/data-trees", "Back to the data trees"))
  }

  private static let figures = ConsolePage(
    path: "/console/data-tree-figures", title: "Figures of data trees", reads: [AnyOperation(ReportOperations.show)],
    query: ["report"]
  ) { call in
    let which: Report = call.query.value("report") == Report.notifications.rawValue ? .notifications : .subscriptions
    let report = try await call.read(ReportOperations.show, (((which.rawValue, nil), nil), 100))
    let view = which == .notifications ? "notifications_by_day" : "subscriptions"
    return ConsoleView(
      title: which == .notifications ? "Notifications of data trees" : "Subscriptions to data trees",
      template: "figures",
      values: ReportTable.values(report.rows, which).merging([
        "back": "/console/data-trees", "backText": "Data trees",
        "intro": which == .notifications ? "By day and outcome. Days are UTC." : "As they are now.",
      ]) { $1 },
      sql: "SELECT * FROM report.\(view) WHERE customer_id = \(call.customer) LIMIT 100;")
  }
}

/// A report as a table of a page.
enum ReportTable {
  static func values(_ rows: [ReportReply.Row], _ report: Report) -> [String: Any] {
    let columns = ReportView.of(report).columns.map(\.name)
    return [
      "columns": columns.map { ["title": $0.inWords] },
      "rows": rows.map { row in
        [
          "cells": columns.map { name in
            let value = row[UTF8String(name)]
            let isNumber = if case .number? = value { true } else { false }
            return ["text": value.map { text($0) } ?? "", "isNumber": isNumber] as [String: Any]
          }
        ] as [String: Any]
      }, "isEmpty": rows.isEmpty,
    ]
  }

  private static func text(_ value: JSONValue) -> String {
    if value == .null { return "" }
    return value.text ?? String(decoding: value.json, as: UTF8.self)
  }
}
