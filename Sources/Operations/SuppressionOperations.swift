import FoundationEssentials
import HTTPTypes
import Registry
package import Wire

extension APIOperation.Tag {
  package static let suppressions = Self(
    "Suppressions",
    """
    Who gets no marketing, or nothing at all: contacts, telephone numbers and devices. The hub keeps keyed hashes of them, so a suppression \
    outlives its contact. Each push that it stops is in the ledger, `skipped` for the reason `suppressed`.
    """, readers: [.marketer, .analyst], editors: [.marketer])
}

/// `/api/v1/suppressions`.
package enum SuppressionOperations: ManagedOperations {
  package static let all = [AnyOperation(list), AnyOperation(add), AnyOperation(remove), AnyOperation(lift)]

  package static let list = Operation(
    get: "/api/v1/suppressions", id: "listSuppressions", .suppressions, "List the suppressions",
    """
    Those in force, by number. Whom they name is not stored. To ask for one person, give `originalId`, `number`, or `deviceToken` with \
    `appId`: then there is one page, of all that concern it.
    """,
    at: whose.and(.page(of: "suppression", by: SuppressionID.self)),
    replies: .ok("A page of suppressions.", Page<SuppressionReply, SuppressionID>.form),
    errors: [unknownApp]
  ) { call, target, _ in
    let (whose, page) = target
    let suppressions = try await call.suppressions
    guard whose != SuppressionRequest() else { return try await suppressions.list(call.customer, page) }
    let suppressed = try await suppressions.suppressed(call.customer, whose)
    return Page(items: try await suppressions.find(call.customer, suppressed.concerning))
  }

  package static let add = Operation(
    .post, "/api/v1/suppressions", id: "addSuppression", .suppressions, "Suppress a contact, a number or a device",
    """
    Nothing of the scope is sent from then on, whether or not there is such a contact or device yet. A push whose recipient was read before \
    may still leave. What is suppressed already ends no earlier than it did: lift it first to shorten it. A suppression is never lifted by an \
    import, nor by a registration.
    """,
    at: .none, body: .json(SuppressionRequest.form), replies: .created("The suppression.", SuppressionReply.form),
    errors: [unknownApp], audit: .addSuppression
  ) { call, _, request in
    let suppressions = try await call.suppressions
    let suppressed = try await suppressions.suppressed(call.customer, request)
    let reason = try request.reason.map {
      try TextRule("reason", maximum: SuppressionRequest.fieldTable.maximum(of: "reason")).require($0)
    }
    if let until = request.until?.date, until <= Date() {
      throw RegistryError.invalid(field: "until", problem: "is past: give a moment to come, or leave it out for never")
    }
    let (before, after) = try await suppressions.add(
      call.customer, suppressed, request.scope ?? .marketing, reason: reason, until: request.until?.date)
    return Changed(after, after.line(before: before, after: after))
  }

  package static let lift = Operation(
    .delete, "/api/v1/suppressions", id: "liftSuppressions", .suppressions, "Lift suppressions by what they name",
    """
    Takes the members of a POST. Only what names the same is lifted: a number's suppression stays when its contact's is lifted. Do this only \
    when the person asks for it.
    """,
    at: .none, body: .json(SuppressionRequest.lifting),
    replies: .ok("What was lifted.", SuppressionsLifted.form), errors: [unknownApp], audit: "suppression.lift"
  ) { call, _, request in
    let suppressions = try await call.suppressions
    let suppressed = try await suppressions.suppressed(call.customer, request)
    let lifted = try await suppressions.lift(call.customer, suppressed, request.scope)
    let ids = lifted.map(\.suppressionId)
    return Changed(
      SuppressionsLifted(lifted: lifted),
      .init("suppressions", before: ["suppressionIds": ids], after: ["suppressionIds": [SuppressionID]()]))
  }

  package static let remove = Operation(
    .delete, "/api/v1/suppressions/{id}", id: "removeSuppression", .suppressions, "Lift a suppression",
    "Do this only when the person asks for it.",
    at: .id(SuppressionID.self, "The suppression's `suppressionId`.", example: 1), body: .none,
    replies: .ok("The suppression as it was.", SuppressionReply.form),
    errors: [.error("The customer has no suppression of this number.", RegistryError.numberUnknown("suppression"))],
    audit: "suppression.remove"
  ) { call, id, _ in
    let lifted = try await call.suppressions.remove(call.customer, id)
    return Changed(lifted, lifted.line(before: lifted, after: nil))
  }

  /// Whose suppressions to list; of none of the members for all.
  private static let whose: Parameters<SuppressionRequest> = Parameters.text(
    "originalId", "Only those that concern this contact.", example: "lars@example.com"
  )
  .and(.text("number", "Only those that concern this telephone number.", example: "0031612345678"))
  .and(.text("deviceToken", "Only those that name this device of the app `appId`.", example: "740f4707bebcf74f"))
  .and(.text("appId", "The device's app.", example: "com.acme.app"))
  .and(.integer("appType", in: Int16(1)...100, "The device's platform, if the app exists on several.", example: 1))
  .map { values in
    let ((((originalID, number), token), appID), type) = values
    let platform = type.flatMap { AppType(rawValue: $0) }
    guard (platform == nil) == (type == nil) else {
      throw HTTPErrorResponse.badRequest("appType must be the number of a platform, such as 1 for iOS.")
    }
    return SuppressionRequest(
      originalId: originalID, number: number, deviceToken: token, appId: appID, appType: platform)
  } back: { whose in
    ((((whose.originalId, whose.number), whose.deviceToken?.text), whose.appId), whose.appType?.rawValue)
  }

  private static let unknownApp = APIResponse.error(
    "The customer has no app of this `appId`.", RegistryError.appUnknown(appID: "com.acme.app"))
}

extension OperationCall {
  /// What hashes whom suppressions name.
  var suppressionKey: SuppressionKey { get async throws { try await parts.suppressionKey(database) } }

  fileprivate var suppressions: Suppressions {
    get async throws { Suppressions(database, key: try await suppressionKey) }
  }
}

extension SuppressionReply {
  /// In the audit log, which is for ever: without the reason, in which a person may be named.
  fileprivate func line<Reply>(before: SuppressionReply?, after: SuppressionReply?) -> Changed<Reply>.Line {
    func logged(_ suppression: SuppressionReply?) -> SuppressionReply? {
      var logged = suppression
      logged?.reason = nil
      return logged
    }
    return Changed<Reply>.Line("suppression \(suppressionId)", before: logged(before), after: logged(after))
  }
}
