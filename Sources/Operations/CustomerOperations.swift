import HTTPTypes
import Registry
package import Wire

/// `/api/v1/audit` and `/api/v1/customer`: the customer of the access key.
package enum CustomerOperations {
  package static let all = [AnyOperation(audit), AnyOperation(show), AnyOperation(change)]

  package static let audit = Operation(
    get: "/api/v1/audit", id: "listAudit", .keys, "List the management changes",
    """
    Lists who changed what, the newest first: keys, apps, lists, templates, sendouts and settings, by API and by command \
    line. A line is committed together with its change. `before` and `after` never hold a secret.
    """,
    at: .page(of: "line", by: AuditEntryID.self),
    replies: .ok("A page of changes.", Page<AuditEntryReply, AuditEntryID>.form)
  ) { call, page, _ in try await AuditLog(call.database).list(call.customer, page) }

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
    replies: .ok("The customer.", CustomerReply.form), audit: .changeCustomer
  ) { call, _, request in
    let customers = Customers(call.database)
    let before = try await customers.lock(call.customer).map { CustomerReply($0) }
    let after = CustomerReply(
      try await customers.update(
        call.customer,
        CustomerUpdate(
          linkMaximumAgeDays: request.linkMaxAgeDays, devicesPerContact: request.devicesPerContact,
          retentionDays: request.retentionDays, reporterFields: request.reporterFields)))
    return Changed(after, "customer \(call.customer)", before: before)
  }
}
