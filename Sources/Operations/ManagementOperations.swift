/// Every operation of the management API.
package enum ManagementOperations {
  package static let all =
    KeyOperations.all + CustomerOperations.all + AppOperations.all + ListOperations.all + TemplateOperations.all
    + SendoutOperations.all + TriggerOperations.all + HybridAppOperations.all + DataTreeAppOperations.all
    + SMSOperations.all + ReportOperations.all
}

extension APIOperation {
  /// Groups operations in the document, in this order.
  package enum Tag: String, Sendable, CaseIterable {
    case pushDevices = "Push devices"
    case keys = "Keys"
    case apps = "Apps"
    case lists = "Lists"
    case templates = "Templates"
    case sendouts = "Sendouts"
    case messages = "Messages"
    case triggers = "Triggers"
    case gateway = "Hybrid gateway"
    case hybrid = "Hybrid phones"
    case softphones = "Softphones"
    case dataTrees = "Data trees"
    case sms = "SMS"
    case reports = "Reports"
    case pages = "Pages"
    case operations = "Operations"

    /// Sentences for people.
    package var description: String {
      switch self {
      case .pushDevices:
        """
        Carma's REST API, for apps and their back ends. Unknown fields are ignored. Dates are milliseconds since 1970.
        """
      case .keys:
        """
        The customer's access keys. A `device` key ships inside an app. A `send` key sends single messages too. A `backend` key opens \
        all of Carma's API. An \
        `admin` key opens the management API too. A `gateway` key opens the gateway of Hybrid Messaging alone, a `datasync` key the data tree \
        of its app alone. The audit log tells who changed what.
        """
      case .apps: "The apps that receive pushes, and the credentials of their push services."
      case .lists: "Named sets of contacts. A contact joins a list by the `listId` of its registration."
      case .templates: "Rich pages in Mustache. Saving adds a version. A sendout keeps the version it was made with."
      case .sendouts:
        "Messages to an audience of one app or several: make, start, pause, resume, cancel and count them."
      case .messages: "Messages to one contact or one device, such as receipts and codes."
      case .triggers:
        """
        Named messages, such as "Order shipped". People write the message once; back ends send it to one contact at a time, by \
        Carma's routes.
        """
      case .gateway:
        """
        Messages to telephone numbers, by push or SMS, as clients of CM's gateway send them. The product token is an access key of \
        scope `gateway`.
        """
      case .hybrid:
        """
        CM Hybrid Messaging's apps, and the phones that have them. Phones sign their requests under `/v1.0` with their app's secret.
        """
      case .softphones:
        """
        Cloud Softphone's gateway for pushes, for PBXs. It answers 200 with a code of its own: 200, 400 for what the client has to \
        correct, 404 for a token that is dead and nothing else, 500 for what may pass.
        """
      case .dataTrees:
        """
        Small values of an app that its back end writes, and subscriptions of devices and webhooks to what changes in them (Webcom). \
        The app's secret, an access key of scope `datasync`, is sent as `Authorization: Bearer`.
        """
      case .sms: "The provider that sends a customer's SMS, and what it reports of them."
      case .reports: "The views of schema `report`, for those without psql."
      case .pages: "What a phone fetches. It sends no credentials: the link itself is the secret."
      case .operations: "For the hub's operators, and this description."
      }
    }
  }
}
