import Content
import Operations
import Registry
import Wire

/// Templates of rich pages: the list, one of them with its versions and what differs between two, and its page.
enum ContentPages {
  static let pages = [list, template, page] + ContentForm.pages
  static let actions = ContentForm.actions + [remove]

  private static let list = ConsolePage(
    path: "/console/content", title: "Content", section: .content, reads: [AnyOperation(TemplateOperations.list)],
    query: ["after"]
  ) { call in
    let after = call.query.value("after")
    let page = try await call.read(TemplateOperations.list, PageRequest(after: after, limit: 50))
    let mayChange = call.allows(TemplateOperations.save)
    return ConsoleView(
      title: "Content", template: "content",
      values: [
        "rows": page.items.map { template -> [String: Any] in
          [
            "href": path(template.name), "name": template.name, "version": template.version,
            "format": format(template), "at": call.zone.time(template.createdAt),
          ]
        },
        "hasRows": !page.items.isEmpty, "mayChange": mayChange, "audit": audit(call),
        "pager": ConsolePath.pager("/console/content", after: after, page.next),
        "first": page.items.isEmpty && after == nil
          ? [
            [
              "title": "There are no templates yet",
              "text": "A template is the rich page behind a push, in HTML with names such as {{firstName}}.",
              "command": "pushcart template put --customer \(call.customer) --name offer --file offer.html",
              "link": mayChange ? [["href": ContentForm.new, "label": "Write a template"]] : [],
            ]
          ] : [],
      ],
      sql: """
        SELECT DISTINCT ON (name) name, version, content_type, created_at
          FROM template WHERE customer_id = \(call.customer) ORDER BY name, version DESC LIMIT 50;
        """)
  }

  static func path(_ name: String) -> String { "/console/content/\(PercentEncoding.encode(name))" }

  /// As people call it.
  private static func format(_ template: TemplateReply) -> String {
    (try? TemplateFormat(contentType: template.contentType))?.label ?? template.contentType
  }

  /// Where it stands who has changed templates, for those who may see it.
  private static func audit(_ call: ConsoleCall) -> String {
    call.allows(CustomerOperations.audit) ? "/console/audit?action=template." : ""
  }

  // MARK: One template

  private static let template = ConsolePage(
    path: "/console/content/{name}", title: "Template", section: .content,
    reads: [
      AnyOperation(TemplateOperations.show), AnyOperation(TemplateOperations.versions),
      AnyOperation(TemplateOperations.uses),
    ], query: ["version", "with", "after", "contact"]
  ) { call in
    let name = call.path["name"] ?? ""
    let version = try call.query.integer("version", in: 1...Int32.max)
    let shown = try await call.read(TemplateOperations.show, (name, version))
    let after = call.query.value("after")
    let versions = try await call.read(TemplateOperations.versions, (name, PageRequest(after: after, limit: 20)))
    let body = shown.body ?? ""
    let contact = call.query.value("contact")
    let uses = try await call.read(TemplateOperations.uses, name)
    var values: [String: Any] = [
      "name": name, "version": shown.version, "format": format(shown), "at": call.zone.time(shown.createdAt),
      "isOld": version != nil, "href": path(name), "mayChange": call.allows(TemplateOperations.save),
      "edit": ConsolePath.path("\(path(name))/edit", ["version": version.map { "\($0)" }]), "audit": audit(call),
      "body": start(of: body), "isCut": body.utf8.count > mostShown,
      "warnings": warnings(shown).map { ["text": $0] }, "hasWarnings": !warnings(shown).isEmpty,
      "source": ConsolePath.path("\(path(name))/page", ["version": "\(shown.version)", "contact": contact]),
      "seesPersonal": call.user.seesPersonal, "contact": contact ?? "",
      "versions": versions.items.map { row($0, name, shown.version, call) },
      "pager": ConsolePath.pager(path(name), after: after, versions.next),
      "uses": users(uses), "isUsed": !uses.triggers.isEmpty || !uses.sendouts.isEmpty, "errors": call.refusals,
      "mayRemove": call.allows(TemplateOperations.remove), "difference": [[String: Any]](),
      "command": "pushcart template show \(name) --customer \(call.customer) --version \(shown.version)",
    ]
    if let other = try call.query.integer("with", in: 1...Int32.max) {
      let old = try await call.read(TemplateOperations.show, (name, other))
      values["difference"] = [difference(from: old, to: shown)]
    }
    return ConsoleView(
      title: name, template: "content-template", values: values,
      sql: """
        SELECT version, content_type, created_at, body
          FROM template WHERE customer_id = \(call.customer) AND name = '\(shown.name)' ORDER BY version DESC LIMIT 20;
        """)
  }

  /// Most bytes of a text that its page shows.
  private static let mostShown = 16_000

  private static func start(of body: String) -> String {
    guard body.utf8.count > mostShown else { return body }
    // What is left of a character at the end is dropped.
    var bytes = body.utf8.prefix(mostShown + 1)
    while let last = bytes.popLast(), last & 0xC0 == 0x80 {}
    return String(decoding: Array(bytes), as: UTF8.self)
  }

  private static func warnings(_ template: TemplateReply) -> [String] {
    guard let format = try? TemplateFormat(contentType: template.contentType) else { return [] }
    return PageTemplate.warnings(template.body ?? "", format: format)
  }

  private static func row(
    _ version: TemplateReply, _ name: String, _ shown: Int32, _ call: ConsoleCall
  ) -> [String: Any] {
    [
      "version": version.version, "href": "\(path(name))?version=\(version.version)",
      "at": call.zone.time(version.createdAt), "format": format(version), "isShown": version.version == shown,
      "changes": version.version > 1
        ? "\(path(name))?version=\(version.version)&with=\(version.version - 1)#difference" : "",
    ]
  }

  /// What has its page, for a list: triggers, then sendouts.
  private static func users(_ uses: TemplateUses) -> [[String: Any]] {
    uses.triggers.map { trigger in
      [
        "kind": "Trigger", "href": "/console/triggers/\(trigger.triggerId)", "name": trigger.name,
        "says": "sends the current version.",
      ]
    }
      + uses.sendouts.map { sendout in
        [
          "kind": "Sendout", "href": "/console/sendouts/\(sendout.sendoutId)", "name": sendout.name,
          "says": "has version \(sendout.version), and is \(sendout.state.rawValue).",
        ]
      }
  }

  private static let remove = ConsoleAction(
    path: "/console/content/{name}/remove", operation: AnyOperation(TemplateOperations.remove),
    confirms: Confirmation(title: "Remove the template?", button: "Remove the template") { call in
      let name = call.path["name"] ?? ""
      let versions = try await call.read(TemplateOperations.versions, (name, PageRequest(limit: 1)))
      return """
        \(name) is removed with all of its versions, \(versions.items.first?.version ?? 0) so far. Pages of pushes that were sent stay. \
        This cannot be undone.
        """
    }, form: "/console/content/{name}"
  ) { call in
    let removed = try await call.change(TemplateOperations.remove, call.path["name"] ?? "", ())
    return .see("/console/content", notice: "Template \(removed.name) is removed.")
  }

  private static func difference(from old: TemplateReply, to new: TemplateReply) -> [String: Any] {
    let difference = LineDifference(from: old.body ?? "", to: new.body ?? "")
    return [
      "from": old.version, "to": new.version, "isSame": difference.parts.isEmpty && !difference.isCut,
      "isCut": difference.isCut, "hasParts": !difference.parts.isEmpty,
      "formats": old.contentType == new.contentType ? "" : "\(format(old)) became \(format(new)).",
      "parts": difference.parts.map { part in
        [
          "lines": part.map { line -> [String: Any] in
            [
              "old": line.old.map { "\($0)" } ?? "", "new": line.new.map { "\($0)" } ?? "", "text": line.text,
              "isRemoved": line.change == .removed, "isAdded": line.change == .added,
              "isSame": line.change == .none,
            ]
          }
        ]
      },
    ]
  }

  // MARK: Its page

  /// For the frame of the template's page.
  private static let page = ConsolePage(
    path: "/console/content/{name}/page", title: "Page",
    reads: [AnyOperation(TemplateOperations.show), AnyOperation(TemplateOperations.preview)],
    query: ["version", "contact"]
  ) { call in
    let version = try call.query.integer("version", in: 1...Int32.max)
    let template = try await call.read(TemplateOperations.show, (call.path["name"] ?? "", version))
    let preview = try await ContentPreview(
      call,
      PagePreviewRequest(
        contentType: template.contentType, body: template.body ?? "", message: MessageBody(alert: ContentForm.alert)),
      contact: call.query.value("contact"))
    return ConsoleView(document: preview.document)
  }
}

extension TemplateFormat {
  /// As people call it.
  var label: String {
    switch self {
    case .html: "HTML"
    case .xml: "XML"
    case .textXML: "XML as text/xml"
    case .json: "JSON"
    case .text: "Plain text"
    }
  }
}
