/// A `reason` that the hub itself writes into the ledger, for documents. A test compares them with the sources that write them.
struct HubReason {
  let word: String
  /// What it means, as sentences.
  let meaning: String

  private init(_ word: String, _ meaning: String) {
    self.word = word
    self.meaning = meaning
  }

  static let all = recipients + messages + credentials + addresses + connections + hub

  private static let recipients = [
    HubReason("device_invalidated", "The device had been invalidated by then."),
    HubReason("device_reassigned", "Another contact had the device by then."),
    HubReason("device_gone", "The device had been deleted by then."),
    HubReason("BadToken", "The token is no subscription to Web Push. The device is invalidated."),
    HubReason("NoChannelURI", "The token is no channel URI of Windows. The device is invalidated."),
    HubReason("NoNumber", "The token is no telephone number. The device is invalidated."),
  ]

  private static let messages = [
    HubReason("expired", "The message's `ttl` was over before the push could leave."),
    HubReason("withdrawn", "A later SMS has withdrawn the push."),
    HubReason("message_gone", "The message had been deleted by then."),
    HubReason("push_failed", "The push stands in for others, and all of those failed."),
    HubReason("push_accepted", "The push stands in for others, and one of those was accepted."),
    HubReason("confirmed_in_time", "The push stands in for others, and a device confirmed the message in time."),
    HubReason("MessageTooBig", "Even the message's smallest form is too large for the service."),
    HubReason("BadOverride", "An override cannot be sent. A name behind it is the override's."),
    HubReason("NoText", "An SMS has neither an alert nor an info."),
    HubReason("NoPIN", "The PIN of an SMS is no longer known."),
    HubReason("TooManyMarks", "A text of an SMS has too many combining marks in a row."),
    HubReason("CharacterTooLarge", "A text of an SMS begins with a character that is larger than all parts."),
  ]

  private static let credentials = [
    HubReason("SigningKeyUnusable", "The app's signing key cannot sign."),
    HubReason("PrivateKeyUnusable", "The account's private key cannot sign."),
    HubReason("ProjectIDUnusable", "The service account's project cannot stand in an address."),
    HubReason("NoCertificateForEnvironment", "The app has no push certificate for the device's environment."),
    HubReason("PushTypeNeedsSigningKey", "A certificate cannot send pushes of this `pushType`."),
    HubReason("TopicNotInCertificate", "The app's certificate does not list the push's topic."),
    HubReason(
      "ProviderTokenUnknown", "The token that signs in to APNs cannot be read from the database at the moment."),
    HubReason("NoAccessToken", "The service's token endpoint gave no access token."),
    HubReason("NoAuthorization", "No access token came in time."),
  ]

  private static let addresses = [
    HubReason("HostNotAllowed", "The address is at a host that the hub's settings do not allow. The device stays."),
    HubReason("AddressNotAllowed", "The host's name leads to private addresses alone. The push is tried again."),
    HubReason("NoPlace", "The customer has as many requests on their way as it may have. Nothing was tried."),
    HubReason("NoAnswer", "The address leaves too many requests unanswered. Nothing was tried."),
    HubReason("TooManyOrigins", "The customer has connections to as many origins as it may have. Nothing was tried."),
    HubReason("NotAccepted", "The answer of a provider of SMS does not say what its template expects."),
    HubReason("NoWordOfMessage", "CM's answer does not say what became of this message."),
    HubReason("TokenRefused", "Push services of browsers refuse the app's key. A reason of theirs follows."),
  ]

  private static let connections = [
    HubReason("NameUnknown", "The service's name has no address."),
    HubReason("ConnectionRefused", "The service's machine refuses connections."),
    HubReason("ConnectionReset", "The connection was reset while it was opened."),
    HubReason("ConnectTimeout", "The connection was not opened in time."),
    HubReason("CertificateUntrusted", "The service's certificate is not trusted. See `PUSHCART_PROVIDER_CA_FILE`."),
    HubReason("HandshakeFailed", "TLS could not be agreed on."),
    HubReason("ConnectionFailed", "The connection failed."),
    HubReason("ConnectionClosed", "The connection ended before there was an answer."),
    HubReason("ConnectionDead", "The connection did not answer a ping."),
    HubReason("NoHTTP2", "The service does not speak HTTP/2."),
    HubReason("NoSettings", "The service's side of HTTP/2 did not begin in time."),
    HubReason("NoConnection", "No connection was to be had in time."),
    HubReason("GOAWAY", "The service closed the connection and has not processed the request."),
    HubReason("REFUSED_STREAM", "The service has not processed the request."),
    HubReason("QueueTimeout", "The push waited too long for a connection."),
    HubReason("RequestTimeout", "The push left, and no answer came in time."),
  ]

  private static let hub = [
    HubReason("hub_stopped", "The hub stopped before there was an answer."),
    HubReason("ShuttingDown", "The hub was stopping."),
    HubReason("Cancelled", "Nobody wanted the push any more: its sendout was paused or cancelled."),
    HubReason("LaneClosed", "The app's lane is closed at the moment, so the notification waits."),
    HubReason("NoOutcome", "The push left, and what became of it was lost."),
  ]
}
