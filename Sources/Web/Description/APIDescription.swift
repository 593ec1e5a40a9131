import Operations
import Wire

/// Everything the server answers, described once. `/openapi.json`, the reference page and the tests are drawn from it.
struct APIDescription: Sendable {
  var title = "Pushcart"
  var version = "1"
  var description: String
  var operations: [APIOperation]
  /// What the hub posts to addresses that customers name.
  var webhooks: [WebhookEvent]

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
    for event in webhooks { event.body.collectNamed(into: &found) }
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
      \(DataTreePath.longestName) in a data tree. A text has at most \(CombiningMarks.most) combining marks in a row. A number has at most \
      \(JSONNumber.longest) characters and stays as it was written. JSON may begin with a byte order mark.

      Every body is JSON, and at the gateway XML too. Every error but the gateway's own is `{"error": "…"}` with one sentence that names the field. A 2xx reply means that the \
      change is committed. Moments are those of RFC 3339, with `Z` or an offset; a day or time that does not exist is refused, a leap second \
      too. Every reply carries an `X-Request-Id`; the hub's log names it for each 5xx reply.
      """,
    operations: [
      [MessageOperations.send.description], ManagementOperations.all.map(\.description), ImportFileOperations.all,
      ExportOperations.all,
      PushDeviceOperations.all, CarmaListOperations.all, CarmaTriggerOperations.all, GatewayOperations.all,
      HybridOperations.all, GeoIPOperations.all,
      SoftphoneOperations.all, DataTreeOperations.all, SMSStatusOperations.all, PageOperations.all,
      HealthOperations.all,
    ].flatMap(\.self).byTag, webhooks: WebhookEvent.allCases)
}

extension [APIOperation] {
  /// In the order of their tags, and among those of one tag in their own.
  fileprivate var byTag: [APIOperation] { APIOperation.Tag.all.flatMap { tag in filter { $0.tag == tag } } }
}
