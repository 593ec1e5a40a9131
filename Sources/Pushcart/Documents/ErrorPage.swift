import Providers
import Web
import Wire

/// `docs/errors.md`: what replies of the API and reasons in the ledger mean.
enum ErrorPage {
  static var text: String {
    """
    # Errors

    \(Document.note)

    An error of the API is `{"error": "…"}` with one sentence that names the field or says what to do. The gateway of Hybrid \
    Messaging and the gateway for softphones have forms of their own. Every reply carries an `X-Request-Id`; the log names it for \
    each 5xx reply. 429 and 503 carry `Retry-After`. [`/openapi.json`](api.md) says which operation answers what.

    What became of a push is no error of the API. It is in the ledger, as a state and a `reason`: see \
    [Reasons of push services](#reasons-of-push-services) and [Reasons of the hub](#reasons-of-the-hub). `pushcart why` says it in words.

    ## Replies of the API

    Names and numbers in the sentences are examples.

    \(replies)

    ## Codes of the Hybrid gateway

    `messageErrorCode` of a message that [the gateway](dialects/cm-hybrid.md) refuses. The codes of whole requests stand with the \
    gateway.

    \(Markdown.table(["Code", "What the reply says"], GatewayCode.all.map { ["\($0.code)", Markdown.escaped($0.details)] }))

    ## Reasons of push services

    The first column is the `reason` in the ledger. A status without a word of its service is `HTTP` and the number.

    | What the hub makes of it | What it does |
    |---|---|
    \(meanings)

    \(services)

    ## Reasons of the hub

    \(Markdown.table(["Reason", "What it means"], HubReason.allCases.map { ["`\($0.rawValue)`", Markdown.escaped($0.meaning)] }))

    """
  }

  private static var replies: String {
    let errors = DescribedError.all
    var statuses: [Int] = []
    for error in errors where statuses.last != error.status { statuses.append(error.status) }
    return statuses.map { status in
      let rows = errors.filter { $0.status == status }
      return "### \(status) \(rows[0].phrase)\n\n"
        + Markdown.table(
          ["When", "What the reply says", "Where"],
          rows.map { error in
            [
              Markdown.escaped(error.meaning),
              error.sentences.isEmpty ? "–" : error.sentences.map(Markdown.escaped).joined(separator: "<br>"),
              groups(of: error),
            ]
          })
    }.joined(separator: "\n\n")
  }

  private static func groups(of error: DescribedError) -> String {
    error.groups.count * 2 > DescribedError.groupCount ? "most groups" : error.groups.joined(separator: ", ")
  }

  private static var meanings: String {
    Meaning.allCases.map { "| \($0.rawValue) | \($0.consequence) |" }.joined(separator: "\n")
  }

  private static var services: String {
    ServiceReasons.all.map { table in
      "### \(table.service)\n\n"
        + Markdown.table(
          ["Reason", "What the hub makes of it", "What to do"],
          table.reasons.map { reason in
            [
              "`\(reason.name)`" + (reason.meaning.map { " \($0)" } ?? ""), words(reason.verdict),
              Markdown.escaped(reason.advice ?? "–"),
            ]
          })
    }.joined(separator: "\n\n")
  }

  private static func words(_ verdict: Verdict) -> String {
    let meaning = Meaning(verdict).rawValue
    guard case .retry(let after?, _, _) = verdict else { return meaning }
    let seconds = after.components.seconds
    let (count, unit) = seconds < 60 ? (seconds, "second") : (seconds / 60, "minute")
    return "\(meaning), after \(count) \(unit)\(count == 1 ? "" : "s") at least"
  }

  /// A verdict in words.
  private enum Meaning: String, CaseIterable {
    case accepted
    case later = "tried again"
    case tokenDead = "token invalid"
    case otherEnvironment = "token of the other environment"
    case otherApp = "token of another app"
    case optedOut = "number opted out"
    case payload = "message refused"
    case credentials = "credentials refused"
    case correction = "waits for a correction"
    case unsent = "not sent"
    case uncertain

    init(_ verdict: Verdict) {
      self =
        switch verdict {
        case .accepted: .accepted
        case .retry: .later
        case .tokenInvalid(.unregistered, _, _): .tokenDead
        case .tokenInvalid(.wrongEnvironment, _, _): .otherEnvironment
        case .tokenInvalid(.wrongApp, _, _): .otherApp
        case .tokenInvalid(.optedOut, _, _): .optedOut
        case .payloadRefused: .payload
        case .credentialsRefused: .credentials
        case .waitsForCorrection: .correction
        case .unsent: .unsent
        case .uncertain: .uncertain
        }
    }

    var consequence: String {
      switch self {
      case .accepted: "The push is accepted."
      case .later:
        "The push waits, and is tried again after a random share of 1, 2, 4 … seconds, up to 15 minutes. If the service asks for more, that is waited at least. It fails two hours after its first delay."
      case .tokenDead:
        "The push fails, and the device is invalidated, unless it registered again meanwhile."
      case .otherEnvironment:
        "The same: the token is malformed, or belongs to Apple's other environment."
      case .otherApp: "The same: the token belongs to another app, project or key."
      case .optedOut: "The push fails. The number gets no SMS until `pushcart sms allow`."
      case .payload: "The push fails. Other pushes go on, and the device stays."
      case .credentials:
        "The app gets an alarm, and its pushes wait. A push with a fallback fails instead. A sendout that has nothing else to send pauses."
      case .correction:
        "The push waits until somebody corrects the app, and is tried again after 1, 2, 4 … 15 minutes. The app's other pushes go on."
      case .unsent: "The push has not left. It waits, and no attempt is counted."
      case .uncertain:
        "Nobody knows whether it arrived. `onUncertain` decides whether a push without an answer is sent again."
      }
    }
  }
}
