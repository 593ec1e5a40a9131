import Delivery
import HTTPTypes
import Registry
import Sendouts
package import Wire

/// What is done with a sendout before it goes, and after: `/api/v1/sendouts/{id}/preflight` and the like.
package enum CampaignOperations: ManagedOperations {
  package static let all = [
    AnyOperation(preflight), AnyOperation(preflightUnsaved), AnyOperation(test), AnyOperation(copy),
    AnyOperation(winner), AnyOperation(figures), AnyOperation(calendar),
  ]

  private static let preflightDescription = """
    From everybody of the audience to those who would get a push now, with those left out between, by the SQL of the freeze. Warnings say \
    what is worth a look: empty variables, what would be cut, credentials, contacts whom another sendout is still to reach. Nothing is \
    stored or sent. A customer has one preflight at a time; its others wait.
    """

  package static let preflight = Operation(
    showing: "/api/v1/sendouts/{id}/preflight", id: "preflightSendout", .sendouts, "Tell what a sendout would do now",
    preflightDescription + " A start that names its `digest` is refused once the sendout would do anything else.",
    at: SendoutOperations.id, replies: .ok("What it would do.", PreflightReply.form),
    errors: [SendoutOperations.unknown]
  ) { call, id, _ in
    try await call.parts.preflights.preflight(
      call.customer, id, with: try call.parts.messages(), suppressions: try await call.suppressionKey,
      seesPersonal: call.seesPersonal)
  }

  package static let preflightUnsaved = Operation(
    showing: "/api/v1/sendouts/preflight", id: "preflightSendoutBody", .sendouts,
    "Tell what a sendout would do that is not stored",
    preflightDescription + " The body is that of a sendout to make; `start` and `draft` change nothing here.",
    body: .json(SendoutRequest.form, upTo: SendoutOperations.longestRequest),
    replies: .ok("What it would do.", PreflightReply.form),
    errors: [SendoutOperations.appUnknown, SendoutOperations.noCredentials]
  ) { call, request in
    try await call.parts.preflights.preflight(
      call.customer, request, with: try call.parts.messages(), suppressions: try await call.suppressionKey,
      seesPersonal: call.seesPersonal)
  }

  package static let test = Operation(
    sending: "/api/v1/sendouts/{id}/test", id: "testSendout", .sendouts, "Send a test of a sendout",
    """
    The pushes are real, and marked as a test: no figures, caps, quiet hours or opens count them, and `why` shows them. Whoever is \
    suppressed gets none. If a reply was lost, repeat the request with the same `Idempotency-Key`: the test is sent once.

    The audit log has it as `\(AuditAction.other(.testSendout).rawValue)`, if somebody gets one.
    """, showsPersonal: true, at: SendoutOperations.id, body: .json(SendoutTestRequest.form),
    replies: .ok("What came of it.", SendoutTestReply.form),
    errors: [SendoutOperations.unknown, SendoutOperations.noCredentials]
  ) { call, id, request in
    let reply = try await call.parts.messages().test(
      call.customer, id, request, suppressions: try await call.suppressionKey)
    if !reply.messageIds.isEmpty {
      // Original ids can be names of people, and the messages lead to them.
      try await call.note(
        .other(.testSendout), "sendout \(id)", after: ["messageIds": reply.messageIds.map(\.description)])
    }
    return reply
  }

  package static let copy = Operation(
    .post, "/api/v1/sendouts/{id}/copy", id: "copySendout", .sendouts, "Copy a sendout",
    """
    Makes a draft that says the same, without times. With `audience` it is for those contacts of the sendout of whom that is true when the \
    draft is started: a filter such as `outcome of sendout 7 = 'failed'`.
    """, at: SendoutOperations.id, body: .optional(SendoutCopyRequest.form, absent: SendoutCopyRequest()),
    replies: .created("The draft.", SendoutOperations.copied),
    errors: [
      SendoutOperations.unknown,
      .error("The sendout has no pushes in the ledger.", SendoutError.withoutPushes(SendoutID(7))),
    ], audit: "sendout.copy"
  ) { call, id, request in
    let draft = try await call.sendouts.copy(call.customer, id, for: request.audience)
    return Changed(draft, .init("sendout \(draft.sendoutId)", after: draft.forAudit))
  }
}

extension CampaignOperations {
  package static let winner = Operation(
    .post, "/api/v1/sendouts/{id}/winner", id: "chooseWinner", .sendouts, "Choose a sendout's winner",
    """
    Those who wait for a winner get this variant: where no variant won and `undecided` is `hold`, or before the hub decides. Choosing the same \
    again changes nothing.
    """, at: SendoutOperations.id, body: .json(WinnerChoice.form),
    replies: .ok("The sendout as it is now.", SendoutReply.form),
    errors: [
      SendoutOperations.unknown,
      .error(
        "It has its winner already, or nothing can be decided now.", SendoutError.winnerDecided(SendoutID(7)),
        SendoutError.winnerNotOpen(SendoutID(7), .finished)),
    ], audit: "sendout.winner", statementLimit: Ledger.wholeSendoutLimit
  ) { call, id, choice in
    let (before, sendout) = try await call.sendouts.chooseWinner(call.customer, id, choice)
    return Changed(sendout, .init("sendout \(id)", before: before, after: sendout.decision))
  }
}

extension CampaignOperations {
  package static let figures = Operation(
    get: "/api/v1/sendouts/{id}/campaign", id: "showSendoutCampaign", .sendouts,
    "Show what became of a sendout's variants, zones and limits",
    """
    Variants with their open rates, what the winner was decided on beside what there is by now, local times by zone, who got nothing and why, \
    the times of its series, and its tests. These are contacts; `figures` counts pushes. Of a sendout of more than \
    \(CampaignFigures.counted) devices a part is counted.
    """,
    at: SendoutOperations.id.and(
      .flag(
        "exact",
        """
        Whether all pushes of a large sendout are counted. This takes some seconds for a million. Where it would take more than 30, a part is \
        counted all the same, and `isEstimate` says so.
        """)),
    replies: .ok("The figures.", CampaignFigures.form), errors: [SendoutOperations.unknown]
  ) { call, target, _ in
    let (id, isExact) = target
    return try await call.sendouts.campaignFigures(call.customer, id, isExact: isExact)
  }

  package static let calendar = Operation(
    get: "/api/v1/calendar", id: "showCalendar", .sendouts, "Show what is due",
    """
    What sendouts do by themselves within some time: starts, decisions about variants and ends, and further times of series, whose \
    sendouts are made later. A sendout with a local time stands where the customer's own zone has it. `waiting` has those that go on only once \
    a person has decided, at any time.
    """,
    at: moment(
      "from", "The first moment. Now if absent, or \(CampaignCalendar.usual) days before `to` where that is over.",
      example: "2026-12-01T00:00:00Z"
    ).and(
      moment(
        "to",
        """
        The moment before which it ends, \(CampaignCalendar.longest) days later than `from` at most. \(CampaignCalendar.usual) days later if absent.
        """, example: "2027-01-01T00:00:00Z")),
    replies: .ok("What is due.", CampaignCalendar.form)
  ) { call, target, _ in try await call.sendouts.calendar(call.customer, from: target.0, to: target.1) }

  private static func moment(
    _ name: String, _ description: String, example: JSONValue
  ) -> Parameters<Timestamp?> {
    .query(name, description, example: example) { text in
      guard let moment = Timestamp(text) else {
        throw HTTPErrorResponse.badRequest("\(name) must be \(Timestamp.expectation).")
      }
      return moment
    }
  }
}

extension SendoutOperations {
  /// A draft, without counts.
  fileprivate static let copied: BodyForm<SendoutReply> = {
    var reply = uncounted
    reply.state = .draft
    (reply.startedAt, reply.frozenAt) = (nil, nil)
    return BodyForm(SendoutReply.schemaName, SendoutReply.schemaDescription, example: reply)
  }()
}
