import Wire

/// Bodies of sendouts and their pushes.
enum SendoutSchemas {
  static let all: [APIDescription.NamedSchema] = [
    .init(name: "SendoutRequest", schema: request),
    .init(name: "Audience", schema: audience),
    .init(name: "Message", schema: message),
    .init(name: "Sendout", schema: sendout),
    .init(name: "SendoutCounts", schema: counts),
    .init(name: "Push", schema: push),
    .init(name: "Report", schema: report),
  ]

  private static let policy = Schema.word(
    of: UncertainPolicy.allCases.map(\.rawValue),
    "What to do with a push that may or may not have left before a crash: `resend` (nobody is missed) or `skip` (nobody gets it twice)."
  )

  private static let request = Schema.object(
    [
      .maybe("name", .text("For people; the beginning of the alert when absent.").orNull),
      .always("appId", .text("Bundle id of the app it goes to.")),
      .maybe(
        "appType", Schema.appType("Needed only when the appId exists on several platforms.").orNull),
      .always("audience", .named("Audience")), .always("message", .named("Message")),
      .maybe("template", .text("Name of the rich page's template; no page and no `url` when absent.").orNull),
      .maybe("onUncertain", policy.orNull),
      .maybe("start", .boolean("Whether to start it at once; a draft when absent or false.").orNull),
    ], "A sendout to be made.")

  private static let audience = Schema.either(
    [
      .object([.always("all", .boolean("True: every contact of the customer."))]),
      .object([.always("listId", .id("The contacts on this list."))]),
      .object([
        .always(
          "originalIds",
          .array(
            of: .text(), count: 1...Audience.originalIdLimit,
            "The contacts with these ids; those that nobody has are counted and passed over."))
      ]),
    ], "Who a sendout goes to: every valid device of its app that belongs to one of these contacts.")

  private static let message = Schema.object(
    [
      .maybe("alert", .text("The line next to the icon.").orNull),
      .maybe("info", .text("The line under it.").orNull),
      .maybe(
        "badge",
        Schema.either(
          [.integer("", 0...Int64.max), .text()],
          "Number on the app's icon, or a template that gives one; 0 removes it."
        ).orNull),
      .maybe("sound", .text("Name of the sound.").orNull),
      .maybe("category", .text("Which actions the notification offers.").orNull),
      .maybe(
        "fields",
        Schema.openObject([], "Any further fields for the app, beside those the hub itself writes.").orNull),
    ], "What a push says. Every text is a Mustache template.")

  private static let sendout = Schema.object(
    [
      .always("sendoutId", .id("Number of the sendout.")), .always("name", .text("For people.")),
      .always("pushAppId", .id("The app it goes to.")), .always("appId", .text("Its bundle id.")),
      .always("appType", ManagementSchemas.appType),
      .always(
        "state",
        .word(
          of: SendoutState.allCases.map(\.rawValue),
          "draft → freezing → running ⇄ paused; any of them → cancelled; running → finished.")),
      .maybe("haltReason", .text("Why the hub itself paused it, such as refused credentials.")),
      .maybe("audience", .named("Audience")),
      .maybe("unknownOriginalIds", .count("How many of the audience's original ids nobody has.")),
      .maybe("message", .named("Message")), .maybe("template", .text("The rich page's template.")),
      .maybe("templateVersion", .id("The version it keeps.")), .always("onUncertain", policy),
      .always("createdAt", .moment("When it was written.")),
      .maybe("startedAt", .moment("When somebody started it.")),
      .maybe("frozenAt", .moment("When its audience was written into the ledger.")),
      .maybe("finishedAt", .moment("When the last push had its outcome, or when it was cancelled.")),
      .maybe("counts", .named("SendoutCounts")),
    ], "A sendout, and how far it is. Audience, message and counts are absent in lists.")

  private static let report = Schema.object(
    [
      .always("report", .word(of: Report.allCases.map(\.rawValue))),
      .always("rows", .array(of: .openObject([], "A row of the view, a member a column."))),
    ], "A report's rows, the newest first.")

  private static let counts = Schema.object(
    [
      .always("audience", .count("Devices that the audience was frozen to; 0 before that.")),
      .always("queued", .count("Not claimed by any hub yet.")),
      .always("sending", .count("In the hands of a hub.")),
      .always("waiting", .count("To be tried again later.")),
      .always("sent", .count("Left the hub, or may have left it, at least once.")),
      .always("accepted", .count("Taken over by the push service.")),
      .always("failed", .count("Refused by the push service for good.")),
      .always("uncertain", .count("Left, perhaps, and never answered for; not sent again by the sendout's policy.")),
      .always(
        "skipped", .count("Not sent: the device was invalidated or changed hands after the audience was frozen.")),
      .always("cancelled", .count("Not sent: the sendout was cancelled.")),
      .always("opened", .count("Opened by a person at least once.")),
    ],
    "How many of a sendout's pushes stand where; the same numbers as in the view `report.sendout_totals`.")

  private static let push = Schema.object(
    [
      .always("deviceId", .id("The device.")),
      .always("contactId", .id("Whose device it was when the audience was frozen.")),
      .always("state", .word(of: PushState.allCases.map(\.rawValue), "Where it stands.")),
      .always("attempts", .count("How often its bytes left, or may have left.")),
      .maybe(
        "reason", .text("The push service's own word for the last outcome, or the hub's; absent when accepted at once.")
      ),
      .maybe("resentBecause", .text("Why it was sent more than once.")),
      .maybe("sentAt", .moment("When its bytes last left.")),
      .maybe("settledAt", .moment("When its outcome was written.")),
      .maybe("notBefore", .moment("Earliest moment of the next attempt.")),
      .maybe("openedAt", .moment("First open by a person.")),
    ], "One push of a sendout: a row of the ledger.")
}
