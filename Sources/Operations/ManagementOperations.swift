import Wire

/// What can be done to one kind of thing: a file each.
package protocol ManagedOperations: Sendable {
  static var all: [AnyOperation] { get }
}

/// Every operation of the management API.
package enum ManagementOperations {
  package static let all = kinds.flatMap { $0.all }

  /// The stores of what is numbered and named. Tests prepare their statements.
  package static let stores = all.compactMap(\.store)

  /// Operations and commands come in this order.
  package static let kinds = groups.flatMap(\.kinds)

  /// Each tag with its operations, in the order of documents. Those of the other APIs are described in Web.
  fileprivate static let groups: [(tag: APIOperation.Tag, kinds: [any ManagedOperations.Type])] = [
    (.pushDevices, []),
    (.keys, [KeyOperations.self, CustomerOperations.self]),
    (.users, [UserOperations.self]),
    (.apps, [AppOperations.self]),
    (.contacts, [ContactOperations.self]),
    (.suppressions, [SuppressionOperations.self]),
    (.lists, [ListOperations.self]),
    (.segments, [SegmentOperations.self]),
    (.imports, [ImportOperations.self]),
    (.templates, [TemplateOperations.self]),
    (.sendouts, [SendoutOperations.self, CampaignOperations.self]),
    (.messages, [MessageOperations.self, MessageHistoryOperations.self]),
    (.triggers, [TriggerOperations.self]),
    (.webhooks, [EventWebhookOperations.self]),
    (.gateway, []),
    (.hybrid, [HybridAppOperations.self]),
    (.softphones, []),
    (.dataTrees, [DataTreeAppOperations.self]),
    (.sms, [SMSOperations.self]),
    (.reports, [ReportOperations.self]),
    (.pages, []),
    (.operations, []),
  ]
}

extension APIOperation.Tag {
  /// Every tag, in the order of documents.
  package static let all = ManagementOperations.groups.map(\.tag)

  package static let pushDevices = Self(
    "Push devices",
    """
    Carma's REST API, for apps and their back ends. Unknown fields are ignored. Dates are milliseconds since 1970.
    """)
  package static let gateway = Self(
    "Hybrid gateway",
    """
    Messages to telephone numbers, by push or SMS, as clients of CM's gateway send them. The product token is an access key of \
    scope `gateway`.
    """)
  package static let softphones = Self(
    "Softphones",
    """
    Cloud Softphone's gateway for pushes, for PBXs. It answers 200 with a code of its own: 200, 400 for what the client has to \
    correct, 404 for a token that is dead and nothing else, 500 for what may pass.
    """)
  package static let pages = Self(
    "Pages",
    "What a phone fetches. It sends no credentials: the link itself is the secret.")
  package static let operations = Self("Operations", "For the hub's operators, and this description.")
}
