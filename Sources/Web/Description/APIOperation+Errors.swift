import HTTPTypes
import Operations
import Registry
import Wire

extension APIOperation {
  /// Every response, one for each status, in their order.
  var allResponses: [APIResponse] {
    var all: [APIResponse] = []
    for response in responses + describedErrors {
      if let index = all.firstIndex(where: { $0.status == response.status }) {
        all[index] = all[index].merged(with: response)
      } else {
        all.append(response)
      }
    }
    return all.sorted { $0.status.code < $1.status.code }
  }

  /// Its own errors, and those that all operations of its kind share.
  var describedErrors: [APIResponse] { errors + commonErrors }

  /// The errors that all operations of this kind share.
  private var commonErrors: [APIResponse] {
    switch tag {
    case .gateway, .pages, .operations: []
    default: invalidRequest + unauthorized + unreadableBody + idempotencyConflict + locked + unavailable
    }
  }

  private var invalidRequest: [APIResponse] {
    guard requestBody != nil || parameters.contains(where: { $0.location != .header }) else { return [] }
    return [
      .error(
        "A field, a parameter or the path is invalid. The sentence names it.",
        RegistryError.invalid(field: "name", problem: "is empty"))
    ]
  }

  private var unauthorized: [APIResponse] {
    if case .mac = security {
      return [.error("The signature is missing or wrong, or its moment is.", HTTPErrorResponse.badSignature)]
    }
    guard case .key(let scope) = security else { return [] }
    let responses = [
      APIResponse.error(
        "The access key is missing, unknown, revoked, or belongs to another customer.", HTTPErrorResponse.unauthorized),
      .error(
        """
        The key, or the client's address, is used more often than the hub's settings allow. `Retry-After` says when to try \
        again. Nothing was done.
        """, HTTPErrorResponse.tooManyRequests(after: .seconds(1))),
    ]
    guard scope != .device else { return responses }
    return responses + [
      .error("The access key's scope is too low.", HTTPErrorResponse.forbidden(needs: scope.rawValue))
    ]
  }

  /// A POST may have a body even where none is needed.
  private var unreadableBody: [APIResponse] {
    guard requestBody != nil || method == .post else { return [] }
    let errors = [
      APIResponse.error("The body is too large.", HTTPErrorResponse.tooLarge(limit: bodyLimit)),
      APIResponse.error("The body is incomplete or its framing is invalid.", HTTPErrorResponse.brokenBody),
    ]
    // The gateway for softphones answers 400 to what is no JSON.
    return requestBody == nil || tag == .softphones
      ? errors : errors + [.error("The body is not sent as JSON.", HTTPErrorResponse.notJSON)]
  }

  private var idempotencyConflict: [APIResponse] {
    guard parameters.contains(where: { $0.name == APIParameter.idempotencyKey.name }) else { return [] }
    return [
      .error(
        "The request was executed before with this Idempotency-Key, but its reply is lost.",
        RegistryError.idempotentReplyLost),
      .error(
        "The Idempotency-Key was used for another request within 24 hours.", RegistryError.idempotencyKeyReused),
    ]
  }

  /// Changes wait for locks of others for two seconds.
  private var locked: [APIResponse] {
    switch (method, security) {
    case (.get, _): return []
    case (_, .mac), (_, .key(.admin)), (_, .key(.datasync)): break
    default: return []
    }
    return [
      .error("Something else is changing the same. Nothing was done: repeat the request.", HTTPErrorResponse.locked)
    ]
  }

  private var unavailable: [APIResponse] {
    let description = "The database is unreachable, overloaded or slow. `Retry-After` says when to try again. "
    guard method != .get else {
      return [
        .error(
          description + "Nothing was done.", HTTPErrorResponse.unavailable, HTTPErrorResponse.busy,
          HTTPErrorResponse.timedOut)
      ]
    }
    return [
      .error(
        description + "Nothing was done, unless the sentence says that the outcome is unknown.",
        HTTPErrorResponse.unavailable, HTTPErrorResponse.busy, HTTPErrorResponse.timedOut,
        HTTPErrorResponse.outcomeUnknown)
    ]
  }
}
