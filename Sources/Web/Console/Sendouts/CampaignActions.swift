import Operations
import Wire

/// What is done to one campaign besides starting and stopping it.
enum CampaignActions {
  static let all = [winner, copy, endSeries]

  private static let path = "/console/sendouts/{id}"

  private static let winner = ConsoleAction(
    path: "\(path)/winner", operation: AnyOperation(CampaignOperations.winner),
    confirms: Confirmation(title: "Choose this variant?", button: "Send it to the rest", isDestructive: false) { call in
      let id: SendoutID = try call.number()
      let sendout = try await call.read(SendoutOperations.show, id)
      let figures = try await call.read(CampaignOperations.figures, (id, false))
      let name = call.form.text("variant") ?? ""
      guard let variant = figures.variants.first(where: { $0.name.hasSameBytes(as: name) }) else {
        throw HTTPErrorResponse.badRequest("variant names no variant of this sendout: choose one on its page.")
      }
      let counts = (variant.counts ?? variant.atDecision).map { counts in
        """
         Of \(ChartText.grouped(counts.accepted)) contacts who got it, \(ChartText.grouped(counts.opened)) have opened \
        (\(ChartText.percent(counts.opened, of: counts.accepted))).
        """
      }
      return """
        \(ChartText.grouped(figures.waiting ?? 0)) contacts of “\(sendout.name)” wait for a winner. They get the variant \
        \(variant.name).\(counts ?? "") This cannot be undone.
        """
    }, fields: [FormField("variant", label: "Variant", kind: .hidden)], form: path
  ) { call in
    let id: SendoutID = try call.number()
    let choice = WinnerChoice(variant: call.form.text("variant") ?? "")
    _ = try await call.change(CampaignOperations.winner, id, choice)
    return .see("/console/sendouts/\(id)", notice: "The rest gets the variant \(choice.variant).")
  }

  private static let copy = ConsoleAction(
    path: "\(path)/copy", operation: AnyOperation(CampaignOperations.copy),
    fields: [FormField("audience", label: "Whom the copy is for", kind: .choice([]))], form: path
  ) { call in
    let id: SendoutID = try call.number()
    let request = SendoutCopyRequest(audience: try call.form.choice("audience"))
    let draft = try await call.change(CampaignOperations.copy, id, request)
    return .see(
      "/console/sendouts/\(draft.sendoutId)/edit",
      notice: "This is a copy of sendout \(id), without its times. Nothing is sent until it is started.")
  }

  private static let endSeries = ConsoleAction(
    path: "\(path)/end-series", operation: AnyOperation(SendoutOperations.endSeries),
    confirms: Confirmation(title: "End the series?", button: "End the series") { call in
      let (sendout, _) = try await inSeries(call)
      return """
        No further sendout of the series of “\(sendout.name)” is made, and the one that is scheduled is cancelled. Those that have started \
        go on. This cannot be undone.
        """
    }, form: path
  ) { call in
    let (sendout, series) = try await inSeries(call)
    let end = try await call.change(SendoutOperations.endSeries, series, ())
    let cancelled = end.cancelledSendoutIds.map { "\($0)" }.joined(separator: ", ")
    return .see(
      "/console/sendouts/\(sendout.sendoutId)",
      notice: "The series has ended." + (cancelled.isEmpty ? "" : " Cancelled: sendout \(cancelled)."))
  }

  private static func inSeries(_ call: ConsoleCall) async throws -> (SendoutReply, SeriesID) {
    let sendout = try await call.read(SendoutOperations.show, try call.number("id", SendoutID.self))
    guard let series = sendout.seriesId else {
      throw HTTPErrorResponse.notFound("The sendout is no time of a series.")
    }
    return (sendout, series)
  }

  /// For the form that copies a sendout: whom the copy can be for.
  static func audiences(_ sendout: SendoutReply) -> [[String: Any]] {
    let sets: [(CopiedAudience, String)] =
      sendout.frozenAt == nil || sendout.expiredAt != nil
      ? []
      : [
        (.same, "The same people"), (.failed, "Those whose push failed"),
        (.notOpened, "Those who got it and have not opened"), (.opened, "Those who opened"),
        (.uncertain, "Those who may have got it"),
      ]
    return [["value": "", "label": "Its audience, as it is now"]]
      + sets.map { ["value": $0.0.rawValue, "label": $0.1] }
  }
}
