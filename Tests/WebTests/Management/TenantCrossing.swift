import HTTPTypes
import Operations
import Support
import Wire

/// A request in which one customer names what is another's, and the same with what is nobody's: the replies must not differ.
struct TenantCrossing: Sendable {
  /// As the contract has it: `GET /api/v1/keys/{id}`.
  let operation: String
  /// By what names the other's: a path with its query, and a body.
  let foreign: (path: String, json: String?)
  /// `nil` where nothing can be named that is nobody's, such as in a list.
  let absent: (path: String, json: String?)?

  init(
    _ operation: String, _ path: (String) -> String, _ names: (foreign: String, absent: String), json: String? = nil
  ) {
    self.operation = operation
    foreign = (path(names.foreign), json)
    absent = (path(names.absent), json)
  }

  init(_ operation: String, json: (String) -> String, _ names: (foreign: String, absent: String), at path: String) {
    self.operation = operation
    foreign = (path, json(names.foreign))
    absent = (path, json(names.absent))
  }

  /// A request that names nothing and must not show anything.
  init(_ operation: String, at path: String, json: String? = nil) {
    self.operation = operation
    foreign = (path, json)
    absent = nil
  }

  var method: String { String(operation.prefix { $0 != " " }) }
}

extension TenantCrossing {
  /// Every operation that wants a key, with what is the first customer's. That is app 1 `com.secretive.app`, list 1,
  /// key 1, sendout 1, template `secretive`, and a contact and a token of that name. The second customer has app 2,
  /// `com.other`.
  static func all(from second: String, into first: String) -> [TenantCrossing] {
    let special =
      apps + sendouts + messages + hybrid + softphones + reports + carma(second, first) + carmaTriggers(second, first)
      + files + imports(second, first) + datasync
    let known = Set(special.map(\.operation))
    return special
      + ManagementOperations.all.filter { !known.contains($0.description.name) }.flatMap { all(of: $0.description) }
  }

  private static let number = (foreign: "1", absent: "999999")
  private static let app = (foreign: "com.secretive.app", absent: "com.nothing")

  /// By parameters of paths, in braces, and fields of bodies that name something by a text.
  private static let names: [String: (foreign: String, absent: String)] = [
    "{id}": number, "{originalId}": ("secretive@example.com", "nobody"), "{name}": ("secretive", "nothing"),
    "appId": app, "template": ("secretive", "nothing"),
  ]

  /// What an operation is asked for by its description. What its path names is crossed if it can be unknown, else what its body
  /// names. A number that is to be the new thing's own names nothing.
  private static func all(of operation: APIOperation) -> [TenantCrossing] {
    let (name, body) = (operation.name, operation.exampleBody)
    if let parameter = operation.parameters.first(where: { $0.location == .path }),
      let names = names["{\(parameter.name)}"],
      operation.errors.contains(where: { $0.status == .notFound })
    {
      return operation.queries.map { query in
        TenantCrossing(
          name, { operation.path(replacing: [parameter.name: $0]) + query }, names, json: body?.written)
      }
    }
    let own: [UTF8String: JSONValue] =
      operation.bodyFields.contains { $0.name == "appId" } ? ["appId": "com.other"] : [:]
    let plain = operation.queries.map { query in
      TenantCrossing(name, at: operation.path() + query, json: body?.with(own).written)
    }
    let crossed = operation.bodyFields.filter { $0.name != operation.numberField }.compactMap { field in
      (field.namesByNumber ? number : names[field.name]).map { names in
        TenantCrossing(
          name,
          json: { value in
            let value = Int64(value).map(JSONValue.integer) ?? .string(value)
            return body?.with(own).with([UTF8String(field.name): value]).written ?? ""
          }, names, at: operation.path())
      }
    }
    return plain + crossed
  }

  private static let files = [
    TenantCrossing("GET /api/v1/exports/contacts", at: "/api/v1/exports/contacts"),
    TenantCrossing("GET /api/v1/exports/devices", at: "/api/v1/exports/devices"),
    TenantCrossing("GET /api/v1/exports/pushes", at: "/api/v1/exports/pushes"),
  ]

  private static let apps = [
    TenantCrossing("POST /api/v1/apps", at: "/api/v1/apps", json: #"{"name":"Mine","appId":"com.mine","appType":2}"#),
    // The second customer gets no provider, so that none is asked.
    TenantCrossing("PUT /api/v1/sms", at: "/api/v1/sms", json: #"{"provider":"cm","sender":"x"}"#),
  ]

  private static func sendout(_ app: String, _ audience: String, template: String = "null") -> String {
    #"{"name":"x","appId":"\#(app)","audience":\#(audience),"template":\#(template),"message":{"alert":"x"}}"#
  }

  private static let sendouts = [
    TenantCrossing("GET /api/v1/sendouts", at: "/api/v1/sendouts"),
    TenantCrossing("GET /api/v1/sendouts", at: "/api/v1/sendouts?after=2"),
    TenantCrossing(
      "POST /api/v1/sendouts", json: { sendout($0, #"{"all":true}"#) }, ("com.secretive.app", "com.nothing"),
      at: "/api/v1/sendouts"),
    TenantCrossing(
      "POST /api/v1/sendouts", json: { sendout("com.other", #"{"listId":\#($0)}"#) }, number, at: "/api/v1/sendouts"),
    TenantCrossing(
      "POST /api/v1/sendouts", json: { sendout("com.other", #"{"all":true}"#, template: #""\#($0)""#) },
      ("secretive", "nothing"), at: "/api/v1/sendouts"),
    TenantCrossing(
      "PUT /api/v1/sendouts/{id}", { "/api/v1/sendouts/\($0)" }, number,
      json: sendout("com.other", #"{"all":true}"#)),
    TenantCrossing(
      "POST /api/v1/sendouts/audience", json: { #"{"appId":"\#($0)","audience":{"all":true}}"# },
      ("com.secretive.app", "com.nothing"), at: "/api/v1/sendouts/audience"),
    TenantCrossing(
      "POST /api/v1/sendouts/audience", json: { #"{"appId":"com.other","audience":{"listId":\#($0)}}"# }, number,
      at: "/api/v1/sendouts/audience"),
    TenantCrossing("GET /api/v1/sendouts/{id}", { "/api/v1/sendouts/\($0)" }, number),
    TenantCrossing("GET /api/v1/sendouts/{id}/pushes", { "/api/v1/sendouts/\($0)/pushes" }, number),
    TenantCrossing("GET /api/v1/sendouts/{id}/pushes", { "/api/v1/sendouts/\($0)/pushes?after=1" }, number),
    TenantCrossing(
      "GET /api/v1/sendouts/{id}/why", { "/api/v1/sendouts/\($0)/why?originalId=secretive@example.com" }, number),
  ]

  private static func message(_ app: String, _ originalID: String) -> String {
    #"{"appId":"\#(app)","to":{"originalId":"\#(originalID)"},"message":{"alert":"x"}}"#
  }

  private static let messages = [
    TenantCrossing(
      "POST /api/v1/messages", json: { message($0, "secretive@example.com") }, ("com.secretive.app", "com.nothing"),
      at: "/api/v1/messages"),
    TenantCrossing(
      "POST /api/v1/messages", json: { message("com.other", $0) }, ("secretive@example.com", "nobody"),
      at: "/api/v1/messages"),
    TenantCrossing(
      "POST /api/v1/messages/preview", json: { message($0, "secretive@example.com") },
      ("com.secretive.app", "com.nothing"), at: "/api/v1/messages/preview"),
    TenantCrossing(
      "POST /api/v1/messages/preview", json: { message("com.other", $0) }, ("secretive@example.com", "nobody"),
      at: "/api/v1/messages/preview"),
    TenantCrossing(
      "POST /api/v1/pages/preview", json: { #"{"body":"{{firstName}}","originalId":"\#($0)"}"# },
      ("secretive@example.com", "nobody"), at: "/api/v1/pages/preview"),
    TenantCrossing("GET /api/v1/messages/{id}", { "/api/v1/messages/\($0)" }, ("1-1", "999999-1")),
    TenantCrossing(
      "GET /api/v1/messages/{id}/why", { "/api/v1/messages/\($0)/why" }, ("1-1", "999999-1")),
  ]

  private static let hybrid =
    [
      TenantCrossing("GET /api/v1/hybrid", at: "/api/v1/hybrid"),
      TenantCrossing(
        "POST /api/v1/hybrid", json: { #"{"appId":"\#($0)"}"# }, app, at: "/api/v1/hybrid"),
      TenantCrossing("GET /api/v1/hybrid/{appId}", { "/api/v1/hybrid/\($0)" }, app),
      TenantCrossing("PATCH /api/v1/hybrid/{appId}", { "/api/v1/hybrid/\($0)" }, app, json: #"{"sender":"x"}"#),
      TenantCrossing("POST /api/v1/hybrid/{appId}/secret", { "/api/v1/hybrid/\($0)/secret" }, app),
      TenantCrossing("GET /api/v1/hybrid/{appId}/phones", { "/api/v1/hybrid/\($0)/phones" }, app),
    ]
    // No access key opens what phones sign for. PhoneRegistrationTests cross these with another app's signature.
    + [
      ("GET", "deviceregistrations"), ("POST", "deviceregistrations"), ("PUT", "deviceregistrations"),
      ("POST", "voiceotp/requestcode"), ("GET", "messages"), ("PUT", "messages"), ("GET", "geoip"),
    ].map { method, name in
      TenantCrossing("\(method) /v1.0/\(name)", at: "/v1.0/\(name)", json: method == "GET" ? nil : "{}")
    }

  private static let softphones =
    ["/pnm2/send", "/pnm2/multisend"].map { path in
      TenantCrossing(
        "POST \(path)",
        json: {
          #"{"verb":"NotifyReprovision","AppId":"\#($0)","DeviceToken":"qg==","Selector":"secretive@example.com"}"#
        },
        ("com.secretive.app", "com.nothing"), at: path)
    } + [TenantCrossing("POST /pnm2", at: "/pnm2")]

  private static func carmaTriggers(_ second: String, _ first: String) -> [TenantCrossing] {
    let message = #"{"originalId":"secretive@example.com","saveProps":true,"properties":{"a":"b"}}"#
    return [
      TenantCrossing("GET /rest/{customerId}/triggers", { "/rest/\($0)/triggers" }, (first, "999999")),
      TenantCrossing("GET /rest/{customerId}/triggers", at: "/rest/\(second)/triggers"),
      TenantCrossing("GET /rest/{customerId}/triggers/{triggerId}", { "/rest/\($0)/triggers/1" }, (first, "999999")),
      TenantCrossing("GET /rest/{customerId}/triggers/{triggerId}", { "/rest/\(second)/triggers/\($0)" }, number),
      TenantCrossing(
        "POST /rest/{customerId}/triggers/{triggerId}/messages", { "/rest/\($0)/triggers/1/messages" },
        (first, "999999"), json: message),
      TenantCrossing(
        "POST /rest/{customerId}/triggers/{triggerId}/messages", { "/rest/\(second)/triggers/\($0)/messages" }, number,
        json: message),
    ]
  }

  private static let datasync: [TenantCrossing] = {
    let (base, managed) = ("/datasync/v2/{app}", "/api/v1/datasync/{appId}/webhooks")
    let names = (foreign: "com.secretive.app", absent: "com.nothing")
    let subscription = #"{"path":"/","event":"value","webhook":"hook"}"#
    return [
      TenantCrossing("GET /api/v1/datasync", at: "/api/v1/datasync"),
      TenantCrossing("POST /api/v1/datasync", json: { #"{"app":"\#($0)"}"# }, names, at: "/api/v1/datasync"),
      TenantCrossing("GET \(managed)", { "/api/v1/datasync/\($0)/webhooks" }, names),
      TenantCrossing(
        "PUT \(managed)/{name}", { "/api/v1/datasync/\($0)/webhooks/orders" }, names,
        json: #"{"uris":["https://hooks.example.com/"]}"#),
      TenantCrossing("DELETE \(managed)/{name}", { "/api/v1/datasync/\($0)/webhooks/orders" }, names),
      TenantCrossing("GET \(base)/data/{path}", { "/datasync/v2/\($0)/data/users" }, names),
      TenantCrossing("DELETE \(base)/data/{path}", { "/datasync/v2/\($0)/data/users" }, names),
      TenantCrossing("GET \(base)/subscriptions", { "/datasync/v2/\($0)/subscriptions" }, names),
      TenantCrossing("POST \(base)/subscriptions", { "/datasync/v2/\($0)/subscriptions" }, names, json: subscription),
      TenantCrossing(
        "DELETE \(base)/subscriptions/{subscriptionId}", { "/datasync/v2/\($0)/subscriptions/1" }, names),
      TenantCrossing("GET \(base)/settings", { "/datasync/v2/\($0)/settings" }, names),
      TenantCrossing(
        "PUT \(base)/settings/webhooks", { "/datasync/v2/\($0)/settings/webhooks" }, names,
        json: #"{"destinations":{}}"#),
    ]
      + ["PUT", "PATCH", "POST"].map { method in
        TenantCrossing("\(method) \(base)/data/{path}", { "/datasync/v2/\($0)/data/users" }, names, json: #"{"a":1}"#)
      }
  }()

  private static let reports =
    [
      "devices", "registrations", "invalidations", "sendouts", "funnel", "failures", "opens", "subscriptions",
      "notifications",
    ].map {
      TenantCrossing("GET /api/v1/reports/{report}", at: "/api/v1/reports/\($0)")
    }
    + ["sendouts", "funnel", "failures", "opens"].map { report in
      TenantCrossing("GET /api/v1/reports/{report}", { "/api/v1/reports/\(report)?sendout=\($0)" }, number)
    }
    + [
      TenantCrossing(
        "GET /api/v1/reports/{report}", { "/api/v1/reports/timeline?contact=\($0)" },
        ("secretive@example.com", "nobody"))
    ]

  /// What carries files, or is Carma's. ManagementImportTests crosses them with files.
  private static func imports(_ second: String, _ first: String) -> [TenantCrossing] {
    let list = "/rest/{customerId}/lists/{listId}"
    return [
      TenantCrossing("PUT /api/v1/imports/{id}/file", { "/api/v1/imports/\($0)/file" }, number),
      TenantCrossing("GET /api/v1/imports/{id}/rejects", { "/api/v1/imports/\($0)/rejects" }, number),
      TenantCrossing("POST \(list)/imports", { "/rest/\($0)/lists/1/imports" }, (first, "999999"), json: "{}"),
      TenantCrossing("POST \(list)/imports", { "/rest/\(second)/lists/\($0)/imports" }, number, json: "{}"),
      TenantCrossing(
        "POST \(list)/recipients/{importId}", { "/rest/\($0)/lists/1/recipients/1" }, (first, "999999"), json: "{}"),
      TenantCrossing(
        "POST \(list)/recipients/{importId}", { "/rest/\(second)/lists/1/recipients/\($0)" }, number, json: "{}"),
      TenantCrossing("GET /rest/{customerId}/batches/{batchId}", { "/rest/\($0)/batches/1" }, (first, "999999")),
      TenantCrossing("GET /rest/{customerId}/batches/{batchId}", { "/rest/\(second)/batches/\($0)" }, number),
    ]
  }

  private static func carmaLists(_ second: String, _ first: String) -> [TenantCrossing] {
    let base = "/rest/{customerId}/lists"
    let one = "\(base)/{listId}"
    let contact = "secretive%40example.com"
    return ["lists", "properties", "campaigns"].flatMap { name in
      [
        TenantCrossing("GET /rest/{customerId}/\(name)", { "/rest/\($0)/\(name)" }, (first, "999999")),
        TenantCrossing("GET /rest/{customerId}/\(name)", at: "/rest/\(second)/\(name)"),
      ]
    } + [
      TenantCrossing("GET \(one)", { "/rest/\($0)/lists/1" }, (first, "999999")),
      TenantCrossing("GET \(one)", { "/rest/\(second)/lists/\($0)" }, number),
      TenantCrossing(
        "GET \(one)/contacts/{originalId}", { "/rest/\(second)/lists/\($0)/contacts/\(contact)" }, number),
      TenantCrossing(
        "PUT \(one)/contacts/{originalId}/update",
        { "/rest/\(second)/lists/\($0)/contacts/\(contact)/update?force=true" },
        number, json: #"{"city":"x","unsubscribed":true}"#),
    ]
      + ["all", "unsubscribed", "bounced"].map { kind in
        TenantCrossing("GET \(one)/contacts/\(kind)", { "/rest/\(second)/lists/\($0)/contacts/\(kind)" }, number)
      }
  }

  /// The second customer's key at the first one's address, and the first one's names at its own.
  private static func carma(_ second: String, _ first: String) -> [TenantCrossing] {
    carmaLists(second, first)
      + ["pushdevices", "devices"].flatMap { name in
        let pattern = "/rest/{customerId}/apps/{appId}/\(name)"
        let device = #"{"originalId":"secretive@example.com","deviceInfo":[{"devicetoken":"aa"}]}"#
        let own = "/rest/\(second)/apps/com.other/\(name)"
        return [
          TenantCrossing("PUT \(pattern)", at: "/rest/\(first)/apps/com.secretive.app/\(name)", json: device),
          TenantCrossing(
            "PUT \(pattern)", json: { #"{"originalId":"x","listId":\#($0),"deviceInfo":[{"devicetoken":"bb"}]}"# },
            number,
            at: own),
          TenantCrossing(
            "PUT \(pattern)/invalidation", at: "/rest/\(first)/apps/com.secretive.app/\(name)/invalidation",
            json: device),
          TenantCrossing(
            "PUT \(pattern)/invalidation", json: { #"{"originalId":"\#($0)","deviceInfo":[{"devicetoken":"aa"}]}"# },
            ("secretive@example.com", "nobody"), at: "\(own)/invalidation"),
          TenantCrossing(
            "GET \(pattern)/{originalId}", { "/rest/\($0)/apps/com.secretive.app/\(name)/secretive%40example.com" },
            (first, "999999")),
          TenantCrossing(
            "GET \(pattern)/{originalId}", { "/rest/\(second)/apps/\($0)/\(name)/secretive%40example.com" },
            ("com.secretive.app", "com.nothing")),
          TenantCrossing("GET \(pattern)/{originalId}", { "\(own)/\($0)" }, ("secretive%40example.com", "nobody")),
        ]
      }
  }
}
