import HTTPTypes
import Registry
package import Wire

/// `/api/v1/audit` and `/api/v1/customer`: the customer of the access key.
package enum CustomerOperations: ManagedOperations {
  package static let all = [AnyOperation(audit), AnyOperation(show), AnyOperation(change)]

  package static let audit = Operation(
    get: "/api/v1/audit", id: "listAudit", .keys, "List the management changes",
    """
    Lists who changed what, the newest first: keys, apps, lists, templates, sendouts and settings, by API and by command \
    line. A line is committed together with its change. `before` and `after` never hold a secret.
    """,
    at: Parameters.page(of: "line", by: AuditEntryID.self)
      .and(.number("key", AccessKeyID.self, "Only changes by this access key.", example: 1))
      .and(.number("user", UserID.self, "Only changes by this user of the console.", example: 3))
      .and(.text("action", "Only actions that begin with this, as in `sendout.` or `key.add`.", example: "sendout."))
      .and(
        .query("since", "Only changes since this moment.", example: "2026-11-20T00:00:00Z") { text in
          guard let moment = Timestamp(text) else {
            throw HTTPErrorResponse.badRequest("since must be a moment such as 2026-11-20T00:00:00Z.")
          }
          return moment
        }),
    replies: .ok("A page of changes.", Page<AuditEntryReply, AuditEntryID>.form)
  ) { call, target, _ in
    let ((((page, key), user), action), since) = target
    return try await AuditLog(call.database).list(
      call.customer, page, where: .init(key: key, user: user, action: action, since: since))
  }

  package static let show = Operation(
    get: "/api/v1/customer", id: "showCustomer", .keys, "Show the customer",
    "Returns the customer of the access key, with the settings of all apps.", roles: Set(Role.allCases), at: .none,
    replies: .ok("The customer.", CustomerReply.form)
  ) { call, _, _ in
    guard let customer = try await Customers(call.database).find(call.customer) else {
      throw RegistryError.customerUnknown(call.customer)
    }
    return CustomerReply(customer)
  }

  package static let change = Operation(
    .patch, "/api/v1/customer", id: "changeCustomer", .keys, "Change the customer's settings",
    "A field that is absent or null stays as it is.", at: .none, body: .json(CustomerChangeRequest.form),
    replies: .ok("The customer.", CustomerReply.form), audit: "customer.change"
  ) { call, _, request in
    let customers = Customers(call.database)
    let before = try await customers.lock(call.customer).map { CustomerReply($0) }
    let after = CustomerReply(
      try await customers.update(
        call.customer,
        CustomerUpdate(
          name: request.name, linkMaximumAgeDays: request.linkMaxAgeDays, devicesPerContact: request.devicesPerContact,
          retentionDays: request.retentionDays, reporterFields: request.reporterFields, timeZone: request.timeZone,
          approval: request.approval, sendThreshold: request.sendThreshold, quietHours: request.quietHours ?? .keep,
          caps: request.caps)))
    return Changed(after, "customer \(call.customer)", before: before)
  }
}
