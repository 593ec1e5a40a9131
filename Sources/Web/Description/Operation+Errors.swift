import HTTPTypes
import Wire

extension Operation {
  /// Every reply it may give, in the order of their status.
  var allReplies: [Reply] {
    (replies + errors + commonErrors).sorted { $0.status.code < $1.status.code }
  }

  /// What all routes of this kind may answer besides what they are for.
  var commonErrors: [Reply] {
    var found: [Reply] = []
    func add(_ reply: Reply) {
      if !errors.contains(where: { $0.status == reply.status }) { found.append(reply) }
    }
    if topic != .pages, body != nil || parameters.contains(where: { $0.place != .header }) {
      add(
        .error(
          .badRequest, "A field, a parameter or the path is not as it must be; the sentence names it.",
          "name is missing."))
    }
    if case .key(let scope) = door {
      add(
        .error(
          .unauthorized, "The access key is missing, unknown, revoked, or of another customer.",
          "The access key is missing or not good for this customer."))
      if scope > .device {
        add(
          .error(
            .forbidden, "The access key's scope is too low.",
            "This needs an access key of scope \(scope.rawValue)."))
      }
    }
    if body != nil {
      add(.error(.contentTooLarge, "The body is larger than it may be.", "The body is larger than 65536 bytes."))
      add(
        .error(
          .unsupportedMediaType, "The body is not sent as JSON.",
          "The body must be JSON, sent as Content-Type: application/json."))
    }
    if path.contains("/api/v1/"), method == .post {
      add(
        .error(
          .unprocessableContent, "The Idempotency-Key was used for another request within 24 hours.",
          "Idempotency-Key was used for another request within the last 24 hours; give this one a key of its own."))
    }
    if path != "/healthz", path != "/metrics", !path.hasPrefix("/openapi"), !path.hasPrefix("/swagger") {
      add(
        .error(
          .serviceUnavailable, "The database is away; nothing was done. `Retry-After` says when to try again.",
          "The hub cannot reach its database. Try again in a moment."))
    }
    return found
  }
}

extension AccessScope {
  fileprivate static func > (left: Self, right: Self) -> Bool {
    let order = AccessScope.allCases
    return (order.firstIndex(of: left) ?? 0) > (order.firstIndex(of: right) ?? 0)
  }
}
