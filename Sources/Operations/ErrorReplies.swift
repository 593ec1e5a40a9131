import Content
import DataInOut
import Delivery
import HTTPTypes
import Hybrid
import Registry
import Sendouts
import Subscriptions
import Wire

/// Gives the errors of every room a status and a sentence. The command line takes its sentences from here, too.
public enum ErrorReplies {
  /// - Returns: `nil` for an error that nobody expected: the caller answers 500 and logs it.
  public static func response(for error: any Error) -> HTTPErrorResponse? {
    switch error {
    case let response as HTTPErrorResponse: response
    case let error as RegistryError: registry(error)
    case let error as ContentError: content(error)
    case let error as SendoutError: sendouts(error)
    case let error as HybridError: hybrid(error)
    case let error as SubscriptionsError: subscriptions(error)
    case let error as DataInOutError: dataInOut(error)
    case let error as FilterError: response(for: JSONProblem(error.description, at: "filter"))
    case is DeliveryError, is CancellationError: .busy
    case let problem as JSONProblem: .badRequest(problem.sentence + (problem.sentence.hasSuffix("?") ? "" : "."))
    default: DatabaseUnavailable(error).map(unavailable)
    }
  }

  private static func unavailable(_ error: DatabaseUnavailable) -> HTTPErrorResponse {
    switch error {
    case .nothingDone: .unavailable
    case .tooSlow: .busy
    case .timedOut: .timedOut
    case .locked: .locked
    case .outcomeUnknown: .outcomeUnknown
    }
  }

  private static func registry(_ error: RegistryError) -> HTTPErrorResponse {
    switch error {
    case .customerUnknown: .notFound("There is no such customer.")
    case .numberUnknown(let noun): .notFound("There is no \(noun) of this number.")
    case .nameTaken(let noun): .conflict("There is a \(noun) of this name already.")
    case .numberTaken(let noun): .conflict("There is a \(noun) of this number already.")
    case .inUse(let noun, let user): .conflict("The \(noun) is used by \(user). Change or remove that first.")
    case .accessKeyRefused: .unauthorized
    case .roleRefused: .roleRefused
    case .userTaken: .conflict("There is a user of this email already.")
    case .userShared:
      .conflict(
        "The user works for another customer, too. Ask the hub's operator to do this by pushcart user, at the command line."
      )
    case .signInRefused: HTTPErrorResponse(.forbidden, "The e-mail address or the password is wrong.")
    case .passwordRefused: HTTPErrorResponse(.forbidden, "The current password is wrong.")
    case .codeRefused:
      HTTPErrorResponse(.forbidden, "The code is wrong, or was used before. Wait for the next one, and enter that.")
    case .linkRefused:
      HTTPErrorResponse(
        .gone, "This link was used, or is older than 24 hours. Ask one of the customer's owners for a new one.")
    case .openID(let refusal): openID(refusal)
    case .tooManySignIns(let seconds): .tooManySignIns(seconds: seconds)
    case .tooManyPasswords: .busy
    case .tooManyUnknownTokens: .busy
    case .appUnknown: .notFound("appId names no push app of this customer.")
    case .appAmbiguous: .badRequest("appType is needed: this appId stands for apps on several platforms.")
    case .appTaken: .conflict("There is a push app of this appId and appType already.")
    case .contactUnknown: .notFound("originalId names no contact of this customer.")
    case .deviceUnknown(let field): .notFound("\(field) is not registered for this originalId.")
    case .identityRefused: .identityRefused
    case .invalid(let field, let problem): .badRequest(field: field, problem: problem)
    case .filterTooSlow(let instead):
      HTTPErrorResponse(
        .unprocessableContent, "filter took the database longer than it may, so nothing was done. \(instead)")
    case .credential(let field, let sentence): .badRequest("\(field): \(sentence)")
    case .idempotencyKeyReused:
      HTTPErrorResponse(
        .unprocessableContent, "This Idempotency-Key was used for another request within the last 24 hours.")
    case .idempotentReplyLost:
      .conflict("This request was done before, but its reply can no longer be read: its master key is gone.")
    case .sealed(let what):
      .conflict(
        "\(what) cannot be decrypted: its master key is missing. "
          + "Add that key to PUSHCART_OLD_MASTER_KEYS, or store the value again.")
    }
  }

  private static func openID(_ refusal: OpenIDRefusal) -> HTTPErrorResponse {
    switch refusal {
    case .stale:
      .badRequest(
        "This sign-in began in another browser or more than ten minutes ago, or it has ended already. Begin again.")
    case .denied:
      HTTPErrorResponse(
        .forbidden,
        "You did not sign in, or the sign-in provider does not let you use Pushcart. Begin again, or ask who manages it."
      )
    case .unreachable:
      HTTPErrorResponse(
        .serviceUnavailable, "The sign-in provider does not answer as it should. Try again in a minute.",
        headers: HTTPErrorResponse.inAMoment)
    case .untrusted:
      HTTPErrorResponse(
        .forbidden,
        "The sign-in provider's answer cannot be trusted. Begin again. If it fails again, the hub's log has the reason."
      )
    case .unverified:
      HTTPErrorResponse(
        .forbidden,
        "The sign-in provider does not say that your e-mail address is verified, so no account here can be yours. "
          + "Ask who manages it.")
    case .hasPassword:
      HTTPErrorResponse(
        .forbidden,
        "The account of your e-mail address has a password. Sign in with that. Or ask an owner to reset it, "
          + "leave the new link unused, and begin again.")
    case .otherSubject:
      HTTPErrorResponse(
        .forbidden,
        "The account of your e-mail address is somebody else's at the sign-in provider. Ask an owner to reset it.")
    case .noRole:
      HTTPErrorResponse(
        .forbidden,
        "You have no role here, or an owner has disabled you. Ask an owner, or who manages the sign-in provider.")
    }
  }

  private static func content(_ error: ContentError) -> HTTPErrorResponse {
    switch error {
    case .templateUnknown(_, nil): .notFound("There is no template of this name.")
    case .templateUnknown(_, .some): .notFound("There is no such version of a template of this name.")
    case .customerUnknown: .notFound("There is no such customer.")
    case .unparsable(let field, let line, let reason): .badRequest("\(field) does not parse: line \(line): \(reason).")
    case .invalid(let field, let problem): .badRequest(field: field, problem: problem)
    }
  }

  private static func sendouts(_ error: SendoutError) -> HTTPErrorResponse {
    switch error {
    case .invalid(let field, let problem): .badRequest(field: field, problem: problem)
    case .recipientUnknown: .notFound("There is no such contact, or no such device.")
    case .messageUnknown: .notFound("There is no such message.")
    case .triggerInactive: .conflict("The trigger is inactive and takes no messages. Set its active to true first.")
    case .appWithoutCredentials(let customer, let id, let appID, let type, let field):
      .noCredentials(customer, id, appID: appID, type, field: field)
    case .streamEnded: .conflict("The stream of these messages is paused or cancelled.")
    case .wrongState(let sendout, let state, let verb):
      .conflict(
        """
        Sendout \(sendout) is \(state.rawValue), and \(verb.rawValue) needs one that is \
        \(verb.starts.map(\.rawValue).asList("or")).
        """)
    case .notDraft(let sendout, let state):
      .conflict(
        "Sendout \(sendout) is \(state.rawValue). Only what has not started can be changed: make a new sendout.")
    case .changeNeedsApproval(let sendout):
      HTTPErrorResponse(
        .forbidden,
        """
        Sendout \(sendout) is scheduled, and this customer wants approval. Unschedule it, change the draft, and ask another user to \
        schedule it.
        """)
    case .withoutPushes(let sendout):
      .conflict(
        "There are no pushes of sendout \(sendout) in the ledger, or not any more. Leave out audience for the sendout's own."
      )
    case .seriesUnknown: .notFound("There is no such series.")
    case .templateInUse(let users):
      .conflict("The template is used by \(users.joined(separator: ", ")). Give these another one, or none, first.")
    case .winnerDecided(let sendout): .conflict("Sendout \(sendout) has its winner already.")
    case .winnerNotOpen(let sendout, let state):
      .conflict("Sendout \(sendout) is \(state.rawValue). A winner is chosen while it runs, or is paused.")
    case .changed(let sendout):
      HTTPErrorResponse(
        .conflict, "Sendout \(sendout) has changed since you looked at it. It is not started: look at it again.",
        code: "changed")
    case .needsApproval(let sendout):
      HTTPErrorResponse(
        .forbidden, "You wrote sendout \(sendout), and this customer wants approval. Ask another user to start it.")
    }
  }

  private static func hybrid(_ error: HybridError) -> HTTPErrorResponse {
    switch error {
    case .appUnknown: .notFound("Hybrid Messaging is not enabled for this appId.")
    case .appTaken: .conflict("Hybrid Messaging is enabled for this appId already.")
    case .invalid(let field, let problem): .badRequest(field: field, problem: problem)
    case .deviceUnknown: .badRequest(HTTPErrorResponse.noRegistration)
    case .signatureReused: .signedTwice
    case .tooManyPINs(let wait), .tooManyRegistrations(let wait): .tooManyRequests(after: wait)
    case .noPIN: .badRequest("No PIN was sent to this number, or it is no longer good. PUT its Msisdn first.")
    case .noSMS: .conflict("No SMS can be sent: the customer has no provider of SMS, or the number takes none.")
    case .noCalls: .conflict("No call can be made: the customer's provider makes none.")
    case .callFailed: .conflict("The provider did not make the call. Try again, or ask for an SMS.")
    }
  }

  private static func dataInOut(_ error: DataInOutError) -> HTTPErrorResponse {
    switch error {
    case .invalid(let field, let problem): .badRequest(field: field, problem: problem)
    case .importUnknown: .notFound("There is no import of this number.")
    case .wrongState(let number, let state, let wanted):
      .conflict("Import \(number) is \(state.rawValue), and cannot be \(wanted).")
    case .tooManyUploads(let limit):
      .conflict("\(limit) files of this customer are on their way already. Send this one when one of them has arrived.")
    case .tooManyExports(let limit):
      HTTPErrorResponse(
        .tooManyRequests,
        "\(limit) exports of this customer are on their way already. Try again when one of them has ended.",
        headers: [.retryAfter: "10"])
    case .tooManyExportsOfAll:
      HTTPErrorResponse(
        .serviceUnavailable,
        "This hub makes as many exports as it can at a time, for all customers. Nothing was done. Try again when some have ended.",
        headers: [.retryAfter: "10"])
    case .tooMuchStaged(let limit):
      .conflict(
        """
        The rows of this customer's imports that are not done have more than \(limit >> 30) GiB. Wait until others are merged, or cancel those in \
        review. Then send this file again.
        """)
    case .brokenOff: .badRequest("The file broke off. The import waits for it again.")
    case .overtaken:
      .conflict(
        "Another request sends the file of this import, or the import was cancelled. Nothing more is read here.")
    }
  }

  private static func subscriptions(_ error: SubscriptionsError) -> HTTPErrorResponse {
    switch error {
    case .notEnabled:
      .notFound("The app has no data tree. Enable it by POST /api/v1/datasync, or by pushcart datasync enable.")
    case .subscriptionUnknown: .notFound("The app has no subscription of this number.")
    case .webhookUnknown: .notFound("The app has no webhook of this name.")
    case .invalid(let field, let problem): .badRequest(field: field, problem: problem)
    case .conditionFailed:
      HTTPErrorResponse(
        .preconditionFailed, "The value is not what If-Match or If-None-Match wants it to be. Nothing was done.")
    case .valueTooLarge(let leaves, let bytes):
      HTTPErrorResponse(
        .contentTooLarge,
        "path: the value has more than \(leaves) leaves, or twice as many with its objects, or more than \(bytes) bytes of them and their paths. Read what is below it."
      )
    }
  }
}
