public import Wire

/// Everything that room Registry refuses. Operations turns these into a status and a sentence. Each carries what the sentence
/// needs, and never a secret.
public enum RegistryError: Error, Sendable, Hashable {
  /// No customer has that number.
  case customerUnknown(CustomerID)
  /// The customer has nothing of that number among what people call so, as in `trigger`.
  case numberUnknown(_ noun: String)
  /// The customer has something of that name already among what people call so.
  case nameTaken(_ noun: String)
  /// As `nameTaken`; for numbers that customers choose.
  case numberTaken(_ noun: String)
  /// What is to be removed is used by something else, such as `segment VIP`.
  case inUse(_ noun: String, by: String)
  /// The access key that makes a change was revoked, or expired, since the request began.
  case accessKeyRefused
  /// The user who makes a change has no role any more that may make it.
  case roleRefused
  /// The customer has a user of that e-mail address already.
  case userTaken
  /// The user works for other customers, too: only the hub's operator changes what they share.
  case userShared
  /// There is no user of that e-mail address and password who may sign in.
  case signInRefused
  /// The current password is wrong.
  case passwordRefused
  /// The code of the authenticator app, or the recovery code, is wrong or was used before.
  case codeRefused
  /// The link that sets a password was used, replaced, or is too old.
  case linkRefused
  /// The OpenID provider does not sign them in.
  case openID(OpenIDRefusal)
  /// There were so many attempts to sign in of late that one more is not looked at for that long.
  case tooManySignIns(seconds: Int64)
  /// So many passwords are being hashed that one more is not.
  case tooManyPasswords
  /// So many unknown tokens are being looked up that one more is not.
  case tooManyUnknownTokens
  /// The customer has no push app of that appId, or none of it on the platform asked for.
  case appUnknown(appID: String)
  /// The appId stands for apps on several platforms, so `appType` has to say which.
  case appAmbiguous(appID: String)
  /// The customer has a push app of that appId on that platform already.
  case appTaken(appID: String, type: AppType)
  /// No contact of the customer has that originalId.
  case contactUnknown(originalID: String)
  /// The contact has no device of that token in this app. `field` leads to the token in the request.
  case deviceUnknown(field: String)
  /// A request with a device key lacks `X-Pushcart-Identity`, or it is wrong, for an app that requires it.
  case identityRefused
  /// A field does not hold what it may. `problem` ends the sentence that begins with the field's name, as in "is empty".
  case invalid(field: String, problem: String)
  /// The database took longer than it may to find out who meets a filter, and nothing was done. `instead` is a sentence that says what to do.
  case filterTooSlow(instead: String)
  /// The file in a field is not the credential that belongs there. `sentence` says what it is and which one is wanted.
  case credential(field: String, sentence: String)
  /// The Idempotency-Key was used for another request within the last 24 hours.
  case idempotencyKeyReused
  /// The request was done before under this Idempotency-Key, but its reply was sealed under a master key that is gone.
  case idempotentReplyLost
  /// A sealed value opens under none of the hub's master keys. `what` names the value's place.
  case sealed(what: String)
}
