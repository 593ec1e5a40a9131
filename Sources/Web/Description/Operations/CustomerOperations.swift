import HTTPTypes
import Operations
import Registry
import Wire

/// `/api/v1/audit` and `/api/v1/customer`.
enum CustomerOperations {
  static let all: [APIOperation] = [audit, showCustomer, changeCustomer]

  private static let audit = APIOperation(
    method: .get, path: "/api/v1/audit", id: "listAudit", tag: .keys, security: .key(.admin),
    summary: "List the management changes",
    description: """
      Lists who changed what, the newest first: keys, apps, lists, templates, sendouts and settings, by API and by command \
      line. A line is committed together with its change. `before` and `after` never hold a secret.
      """,
    parameters: [.after("line"), .limit],
    responses: [.ok("A page of changes.", Page<AuditEntryReply, AuditEntryID>.example)])

  private static let showCustomer = APIOperation(
    method: .get, path: "/api/v1/customer", id: "showCustomer", tag: .keys, security: .key(.admin),
    summary: "Show the customer", description: "Returns the customer of the access key, with the settings of all apps.",
    responses: [.ok("The customer.", CustomerReply.example)])

  private static let changeCustomer = APIOperation(
    method: .patch, path: "/api/v1/customer", id: "changeCustomer", tag: .keys, security: .key(.admin),
    summary: "Change the customer's settings", description: "A field that is absent or null stays as it is.",
    requestBody: APIContent(CustomerChangeRequest.example),
    responses: [.ok("The customer.", CustomerReply.example)])
}
