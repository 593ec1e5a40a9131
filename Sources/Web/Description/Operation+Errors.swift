import HTTPTypes
import Registry
import Wire

extension Operation {
  /// Every reply it may give, one a status, in their order.
  var allReplies: [Reply] {
    var all: [Reply] = []
    for reply in replies + errors + commonErrors {
      if let index = all.firstIndex(where: { $0.status == reply.status }) {
        all[index] = all[index].or(reply)
      } else {
        all.append(reply)
      }
    }
    return all.sorted { $0.status.code < $1.status.code }
  }

  /// What all routes of this kind may answer besides what they are for.
  private var commonErrors: [Reply] {
    switch topic {
    case .pages, .operation: []
    default: ofItsForm + ofItsDoor + ofItsBody + ofRepetition + ofOutage
    }
  }

  private var ofItsForm: [Reply] {
    guard body != nil || parameters.contains(where: { $0.place != .header }) else { return [] }
    return [
      .refusal(
        "A field, a parameter or the path is not as it must be; the sentence names it.",
        RegistryError.invalid(field: "name", problem: "is empty"))
    ]
  }

  private var ofItsDoor: [Reply] {
    guard case .key(let scope) = door else { return [] }
    let unauthorized = Reply.refusal(
      "The access key is missing, unknown, revoked, or of another customer.", HTTPErrorResponse.unauthorized)
    guard scope > .device else { return [unauthorized] }
    return [
      unauthorized, .refusal("The access key's scope is too low.", HTTPErrorResponse.forbidden(needs: scope.rawValue)),
    ]
  }

  /// A POST may have a body though none is wanted.
  private var ofItsBody: [Reply] {
    guard body != nil || method == .post else { return [] }
    let size = [
      Reply.refusal("The body is larger than it may be.", HTTPErrorResponse.tooLarge(limit: bodyLimit)),
      Reply.refusal("The body breaks off, or is not framed as HTTP has it.", HTTPErrorResponse.brokenBody),
    ]
    return body == nil ? size : size + [.refusal("The body is not sent as JSON.", HTTPErrorResponse.notJSON)]
  }

  private var ofRepetition: [Reply] {
    guard path.hasPrefix("/api/v1/"), method == .post else { return [] }
    return [
      .refusal(
        "The reply to the same request, done before under this Idempotency-Key, is lost.",
        RegistryError.idempotentReplyLost),
      .refusal(
        "The Idempotency-Key was used for another request within 24 hours.", RegistryError.idempotencyKeyReused),
    ]
  }

  private var ofOutage: [Reply] {
    let about = "The database is away, or too much is waiting; `Retry-After` says when to try again. "
    guard method != .get else {
      return [.refusal(about + "Nothing was done.", HTTPErrorResponse.unavailable, HTTPErrorResponse.busy)]
    }
    return [
      .refusal(
        about + "Nothing was done, unless the sentence says that this cannot be told.", HTTPErrorResponse.unavailable,
        HTTPErrorResponse.busy, HTTPErrorResponse.outcomeUnknown)
    ]
  }
}

extension AccessScope {
  fileprivate static func > (left: Self, right: Self) -> Bool {
    let order = AccessScope.allCases
    return (order.firstIndex(of: left) ?? 0) > (order.firstIndex(of: right) ?? 0)
  }
}
