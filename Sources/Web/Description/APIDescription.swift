import Operations
import Wire

/// Everything the server answers, described once. `/openapi.json`, the reference page and the tests are drawn from it.
struct APIDescription: Sendable {
  struct TagDescription: Sendable {
    var tag: APIOperation.Tag
    var description: String
  }

  var title = "Pushcart"
  var version = "1"
  var description: String
  var tags: [TagDescription]
  var operations: [APIOperation]

  /// Every schema that has a name, in the order in which operations use them.
  var schemas: [Schema] {
    var found: [Schema] = []
    for operation in operations {
      operation.requestBody?.schema.collectNamed(into: &found)
      for response in operation.allResponses {
        switch response.content {
        case .json(let content), .jsonOrText(let content, _, _): content.schema.collectNamed(into: &found)
        case .none, .text: break
        }
      }
    }
    return found
  }
}

extension Schema {
  /// Adds this schema, if it has a name, and those below it that are not there yet.
  fileprivate func collectNamed(into found: inout [Schema]) {
    if let name {
      guard !found.contains(where: { $0.name == name }) else { return }
      var definition = self
      definition.allowsNull = false
      found.append(definition)
    }
    switch shape {
    case .object(let fields, let others, _):
      for field in fields { field.schema.collectNamed(into: &found) }
      others?.collectNamed(into: &found)
    case .array(let item, _): item.collectNamed(into: &found)
    case .either(let choices): for choice in choices { choice.collectNamed(into: &found) }
    default: break
    }
  }
}

extension APIDescription {
  static let pushcart = APIDescription(
    description: """
      A self-hosted marketing push hub. Mobile back ends register devices through Carma's REST API under `/rest`. Marketers \
      send through the management API under `/api/v1`. Phones open the rich pages.

      Names and texts are compared byte for byte. A name in JSON, XML or a form has at most \(UTF8String.longestName) bytes, and \
      \(DatasyncPath.longestName) in a data tree. A text has at most \(CombiningMarks.most) combining marks in a row. A number has at most \
      \(JSONNumber.longest) characters and stays as it was written. JSON may begin with a byte order mark.

      Every body is JSON, and at the gateway XML too. Every error but the gateway's own is `{"error": "…"}` with one sentence that names the field. A 2xx reply means that the \
      change is committed. Moments are those of RFC 3339, with `Z` or an offset; a day or time that does not exist is refused, a leap second \
      too. Every reply carries an `X-Request-Id`; the hub's log names it for each 5xx reply.
      """,
    tags: [
      TagDescription(
        tag: .pushDevices,
        description: """
          Carma's REST API, for apps and their back ends. Unknown fields are ignored. Dates are milliseconds since 1970.
          """),
      TagDescription(
        tag: .keys,
        description: """
          The customer's access keys. A `device` key ships inside an app. A `send` key sends single messages too. A `backend` key opens \
          all of Carma's API. An \
          `admin` key opens the management API too. A `gateway` key opens the gateway of Hybrid Messaging alone, a `datasync` key the data tree \
          of its app alone. The audit log tells who changed what.
          """),
      TagDescription(
        tag: .apps, description: "The apps that receive pushes, and the credentials of their push services."),
      TagDescription(
        tag: .lists, description: "Named sets of contacts. A contact joins a list by the `listId` of its registration."),
      TagDescription(
        tag: .templates,
        description: "Rich pages in Mustache. Saving adds a version. A sendout keeps the version it was made with."),
      TagDescription(
        tag: .sendouts,
        description: "Messages to an audience of one app or several: make, start, pause, resume, cancel and count them."
      ),
      TagDescription(
        tag: .messages, description: "Messages to one contact or one device, such as receipts and codes."),
      TagDescription(
        tag: .triggers,
        description: """
          Named messages, such as "Order shipped". People write the message once; back ends send it to one contact at a time, by \
          Carma's routes.
          """),
      TagDescription(
        tag: .hybrid,
        description: """
          CM Hybrid Messaging's apps, and the phones that have them. Phones sign their requests under `/v1.0` with their app's secret.
          """),
      TagDescription(
        tag: .gateway,
        description: """
          Messages to telephone numbers, by push or SMS, as clients of CM's gateway send them. The product token is an access key of \
          scope `gateway`.
          """),
      TagDescription(
        tag: .softphones,
        description: """
          Cloud Softphone's gateway for pushes, for PBXs. It answers 200 with a code of its own: 200, 400 for what the client has to \
          correct, 404 for a token that is dead and nothing else, 500 for what may pass.
          """),
      TagDescription(
        tag: .datasync,
        description: """
          Small values of an app that its back end writes, and subscriptions of devices and webhooks to what changes in them (Webcom). \
          The app's secret, an access key of scope `datasync`, is sent as `Authorization: Bearer`.
          """),
      TagDescription(
        tag: .sms, description: "The provider that sends a customer's SMS, and what it reports of them."),
      TagDescription(tag: .reports, description: "The views of schema `report`, for those without psql."),
      TagDescription(
        tag: .pages, description: "What a phone fetches. It sends no credentials: the link itself is the secret."),
      TagDescription(tag: .operations, description: "For the hub's operators, and this description."),
    ],
    operations: [
      PushDeviceOperations.all, ManagementOperations.descriptions(of: .keys), AppOperations.all,
      ManagementOperations.descriptions(of: .lists, .templates, .sendouts), MessageOperations.all,
      ManagementOperations.descriptions(of: .triggers), CarmaTriggerOperations.all, GatewayOperations.all,
      ManagementOperations.descriptions(of: .hybrid), HybridOperations.all,
      GeoIPOperations.all, SoftphoneOperations.all, ManagementOperations.descriptions(of: .datasync),
      DataTreeOperations.all, SMSOperations.all,
      ManagementOperations.descriptions(of: .reports),
      PageOperations.all,
      HealthOperations.all,
    ].flatMap { $0 })
}
