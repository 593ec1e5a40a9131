/// A `reason` that the hub itself writes into the ledger. What a push service says is kept as the service says it.
public enum HubReason: String, CaseIterable, Sendable {
  // MARK: Devices
  case deviceInvalidated = "device_invalidated"
  case deviceReassigned = "device_reassigned"
  case deviceGone = "device_gone"
  case erased
  case suppressed
  case badToken = "BadToken"
  case noChannelURI = "NoChannelURI"
  case noNumber = "NoNumber"

  // MARK: Limits
  case heldOut = "held_out"
  case capped
  case quiet
  case missed
  case noWinner = "no_winner"

  // MARK: Messages
  case expired
  case withdrawn
  case messageGone = "message_gone"
  case pushFailed = "push_failed"
  case pushAccepted = "push_accepted"
  case confirmedInTime = "confirmed_in_time"
  case messageTooBig = "MessageTooBig"
  case badOverride = "BadOverride"
  case noText = "NoText"
  case noPIN = "NoPIN"
  case tooManyMarks = "TooManyMarks"
  case characterTooLarge = "CharacterTooLarge"

  // MARK: Credentials
  case signingKeyUnusable = "SigningKeyUnusable"
  case privateKeyUnusable = "PrivateKeyUnusable"
  case projectIDUnusable = "ProjectIDUnusable"
  case noCertificateForEnvironment = "NoCertificateForEnvironment"
  case pushTypeNeedsSigningKey = "PushTypeNeedsSigningKey"
  case topicNotInCertificate = "TopicNotInCertificate"
  case providerTokenUnknown = "ProviderTokenUnknown"
  case noAccessToken = "NoAccessToken"
  case noAuthorization = "NoAuthorization"

  // MARK: Addresses
  case hostNotAllowed = "HostNotAllowed"
  case addressNotAllowed = "AddressNotAllowed"
  case noPlace = "NoPlace"
  case noAnswer = "NoAnswer"
  case tooManyOrigins = "TooManyOrigins"
  case notAccepted = "NotAccepted"
  case noWordOfMessage = "NoWordOfMessage"
  case tokenRefused = "TokenRefused"

  // MARK: Connections
  case nameUnknown = "NameUnknown"
  case connectionRefused = "ConnectionRefused"
  case connectionReset = "ConnectionReset"
  case connectTimeout = "ConnectTimeout"
  case certificateUntrusted = "CertificateUntrusted"
  case handshakeFailed = "HandshakeFailed"
  case connectionFailed = "ConnectionFailed"
  case connectionClosed = "ConnectionClosed"
  case connectionDead = "ConnectionDead"
  case noHTTP2 = "NoHTTP2"
  case noSettings = "NoSettings"
  case noConnection = "NoConnection"
  case goAway = "GOAWAY"
  case refusedStream = "REFUSED_STREAM"
  case queueTimeout = "QueueTimeout"
  case requestTimeout = "RequestTimeout"

  // MARK: The hub
  case hubStopped = "hub_stopped"
  case shuttingDown = "ShuttingDown"
  case cancelled = "Cancelled"
  case laneClosed = "LaneClosed"
  case noOutcome = "NoOutcome"

  /// What it means, as sentences in Markdown.
  public var meaning: String {
    switch self {
    case .deviceInvalidated: "The device had been invalidated by then."
    case .deviceReassigned: "Another contact had the device by then."
    case .deviceGone: "The device had been deleted by then."
    case .erased: "The contact had been erased by then."
    case .suppressed: "A suppression of the contact, its number or the device stops messages of this purpose."
    case .badToken: "The token is no subscription to Web Push. The device is invalidated."
    case .noChannelURI: "The token is no channel URI of Windows. The device is invalidated."
    case .noNumber: "The token is no telephone number. The device is invalidated."
    case .heldOut: "The contact was drawn to get nothing, for comparison."
    case .capped: "The contact had been reached as often as a cap allows. The cap stands behind it."
    case .quiet: "The contact has quiet hours. A push waits for their end, or is skipped where it cannot."
    case .missed: "The planned moment was over: in the contact's time zone, or because no hub could send at the time."
    case .noWinner: "The push waited for the best variant, and none was chosen."
    case .expired: "The message's `ttl`, or the sendout's `endAt`, was over before the push could leave."
    case .withdrawn: "A later SMS has withdrawn the push."
    case .messageGone: "The message had been deleted by then."
    case .pushFailed: "The push stands in for others, and all of those failed."
    case .pushAccepted: "The push stands in for others, and one of those was accepted."
    case .confirmedInTime: "The push stands in for others, and a device confirmed the message in time."
    case .messageTooBig: "Even the message's smallest form is too large for the service."
    case .badOverride: "An override cannot be sent. A name behind it is the override's."
    case .noText: "An SMS has neither an alert nor an info."
    case .noPIN: "The PIN of an SMS is no longer known."
    case .tooManyMarks: "A text of an SMS has too many combining marks in a row."
    case .characterTooLarge: "A text of an SMS begins with a character that is larger than all parts."
    case .signingKeyUnusable: "The app's signing key cannot sign."
    case .privateKeyUnusable: "The account's private key cannot sign."
    case .projectIDUnusable: "The service account's project cannot stand in an address."
    case .noCertificateForEnvironment: "The app has no push certificate for the device's environment."
    case .pushTypeNeedsSigningKey: "A certificate cannot send pushes of this `pushType`."
    case .topicNotInCertificate: "The app's certificate does not list the push's topic."
    case .providerTokenUnknown: "The token that signs in to APNs cannot be read from the database at the moment."
    case .noAccessToken: "The service's token endpoint gave no access token."
    case .noAuthorization: "No access token came in time."
    case .hostNotAllowed: "The address is at a host that the hub's settings do not allow. The device stays."
    case .addressNotAllowed: "The host's name leads to private addresses alone. The push is tried again."
    case .noPlace: "The customer has as many requests on their way as it may have. Nothing was tried."
    case .noAnswer: "The address leaves too many requests unanswered. Nothing was tried."
    case .tooManyOrigins: "The customer has connections to as many origins as it may have. Nothing was tried."
    case .notAccepted: "The answer of a provider of SMS does not say what its template expects."
    case .noWordOfMessage: "CM's answer does not say what became of this message."
    case .tokenRefused: "Push services of browsers refuse the app's key. A reason of theirs follows."
    case .nameUnknown: "The service's name has no address."
    case .connectionRefused: "The service's machine refuses connections."
    case .connectionReset: "The connection was reset while it was opened."
    case .connectTimeout: "The connection was not opened in time."
    case .certificateUntrusted: "The service's certificate is not trusted. See `PUSHCART_PROVIDER_CA_FILE`."
    case .handshakeFailed: "TLS could not be agreed on."
    case .connectionFailed: "The connection failed."
    case .connectionClosed: "The connection ended before there was an answer."
    case .connectionDead: "The connection did not answer a ping."
    case .noHTTP2: "The service does not speak HTTP/2."
    case .noSettings: "The service's side of HTTP/2 did not begin in time."
    case .noConnection: "No connection was to be had in time."
    case .goAway: "The service closed the connection and has not processed the request."
    case .refusedStream: "The service has not processed the request."
    case .queueTimeout: "The push waited too long for a connection."
    case .requestTimeout: "The push left, and no answer came in time."
    case .hubStopped: "The hub stopped before there was an answer."
    case .shuttingDown: "The hub was stopping."
    case .cancelled: "Nobody wanted the push any more: its sendout was paused or cancelled."
    case .laneClosed: "The app's lane is closed at the moment, so the notification waits."
    case .noOutcome: "The push left, and what became of it was lost."
    }
  }
}

extension HubReason {
  /// What helps, as sentences; `nil` if nothing more is known than the reason.
  public var advice: String? {
    switch self {
    case .deviceInvalidated, .deviceReassigned, .deviceGone, .erased, .badToken, .noChannelURI, .noNumber, .messageGone,
      .withdrawn, .pushAccepted, .confirmedInTime:
      "Nothing: the device or the message is gone."
    case .suppressed:
      "Nothing: the recipient wants no such messages. Lift the suppression only when they ask for it."
    case .heldOut: "Nothing: compare the contacts who got something with those who did not."
    case .capped: "Nothing, or raise the customer's caps. A sendout with ignoreCaps reaches everybody."
    case .quiet: "Nothing where it waits. Send to those skipped again, at another time of their day."
    case .missed: "Send to these recipients again if it still matters. onMissed and lateMinutes say what is too late."
    case .noWinner: "Send to these recipients again with the message that you like best."
    case .expired: "Give the message a longer ttl, or start earlier."
    case .messageTooBig: "Shorten the message, its fields or its override, and send it to these recipients again."
    case .badOverride, .noText, .noPIN, .tooManyMarks, .characterTooLarge, .noWordOfMessage:
      "Correct the message, and send it to these recipients again."
    case .signingKeyUnusable, .privateKeyUnusable, .projectIDUnusable:
      "Make a new key at the push service, add it to the app, and resume the sendout."
    case .noCertificateForEnvironment: "Add a certificate for this environment, or better a signing key for both."
    case .pushTypeNeedsSigningKey, .topicNotInCertificate: "Add a signing key to the app in place of its certificate."
    case .noAccessToken, .noAuthorization, .tokenRefused: "Check the app's credentials."
    case .hostNotAllowed, .addressNotAllowed: "The hub's operator has to allow the address, if it is right."
    case .certificateUntrusted, .handshakeFailed, .noHTTP2:
      "The hub's operator has to look at the network, and at what stands between hub and push service."
    case .hubStopped, .noOutcome, .requestTimeout:
      "Nothing is sent twice unless the sendout says so. Send to these recipients again if it matters."
    case .providerTokenUnknown, .noPlace, .noAnswer, .tooManyOrigins, .notAccepted, .nameUnknown, .connectionRefused,
      .connectionReset, .connectTimeout, .connectionFailed, .connectionClosed, .connectionDead, .noSettings,
      .noConnection, .goAway, .refusedStream, .queueTimeout, .shuttingDown, .cancelled, .laneClosed, .pushFailed:
      "Nothing: the hub tries again by itself, for two hours."
    }
  }
}

extension String {
  /// A reason of the hub's own as the ledger has it, and what it names.
  public static func hub(_ reason: HubReason, _ detail: String? = nil) -> String {
    detail.map { "\(reason.rawValue) \($0)" } ?? reason.rawValue
  }
}
