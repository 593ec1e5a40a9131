/// All that the site answers, described once: `/openapi.json`, the readable page and the tests are drawn from it.
struct APIDescription: Sendable {
  struct Chapter: Sendable {
    var topic: Operation.Topic
    var about: String
  }

  struct NamedSchema: Sendable {
    var name: String
    var schema: Schema
  }

  var title = "Pushcart"
  var version = "1"
  var about: String
  var topics: [Chapter]
  var operations: [Operation]
  var schemas: [NamedSchema]
}

extension APIDescription {
  /// This site.
  static let pushcart = APIDescription(
    about: """
      A self-hosted marketing push hub. Mobile back ends register devices through Carma's REST API under `/rest`; \
      marketers send through the management API under `/api/v1`; phones open the rich pages.

      Every body is JSON, every refusal is `{"error": "…"}` with one sentence that names the field it is about. A reply \
      of 2xx means that the change is committed. Each reply carries `X-Request-Id`, under which the hub's log has every reply of 5xx.
      """,
    topics: [
      Chapter(
        topic: .pushDevices,
        about:
          "Carma's REST API, for apps and their back ends. Unknown fields are ignored; moments are milliseconds since 1970."
      ),
      Chapter(
        topic: .keys,
        about:
          "Access keys of the customer. A `device` key ships inside an app, a `backend` key opens all of Carma's API, an `admin` key the management API too."
      ),
      Chapter(topic: .apps, about: "The apps that can be pushed to, and what opens their push services."),
      Chapter(topic: .lists, about: "Named sets of contacts. A contact joins one by the `listId` of its registration."),
      Chapter(
        topic: .templates,
        about: "Rich pages in Mustache. Saving adds a version; a sendout keeps the one it was made with."),
      Chapter(
        topic: .sendouts,
        about: "Messages to an audience of one app: made, started, paused, resumed, cancelled and counted."),
      Chapter(
        topic: .reports,
        about: "What psql shows of schema `report`, for who has no psql at hand."),
      Chapter(topic: .pages, about: "What a phone fetches. No credentials; the link itself is the secret."),
      Chapter(topic: .operation, about: "For whoever runs the hub, and this description."),
    ],
    operations: [
      PushDeviceOperations.all, KeyOperations.all, AppOperations.all, ListOperations.all, TemplateOperations.all,
      SendoutOperations.all, ReportOperations.all, PageOperations.all, HubOperations.all,
    ].flatMap { $0 },
    schemas: [CarmaSchemas.all, ManagementSchemas.all, SendoutSchemas.all].flatMap { $0 })
}
