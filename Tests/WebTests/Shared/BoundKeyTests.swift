import Content
import Providers
import Support
import Testing
@testable import Web
import Wire

/// What keys can do that are bound to one app, on every route that there is.
@Suite struct BoundKeyTests {
  /// A request that names what is of the app `com.secretive.app`.
  private struct Case {
    var path: String
    var json: String?
    /// The same with a key that is bound to no app is answered, so that a refusal is not for another reason.
    var isShownToOthers = true
  }

  private static let message = #"{"appId":"com.secretive.app","to":{"originalId":"secretive"},"message":{"alert":"x"}}"#
  private static let push =
    #"{"verb":"NotifyReprovision","AppId":"com.secretive.app","DeviceToken":"qg==","Selector":"secretive"}"#

  /// By route. KEY stands for the key, where its path has it.
  private static func cases(_ customer: CustomerID) -> [String: Case] {
    var cases: [String: Case] = [
      "POST /api/v1/messages": Case(path: "/api/v1/messages", json: message),
      "POST /api/v1/messages/preview": Case(path: "/api/v1/messages/preview", json: message),
      "GET /api/v1/messages/{id}": Case(path: "/api/v1/messages/MESSAGE"),
      "GET /rest/{customerId}/triggers": Case(path: "/rest/\(customer)/triggers"),
      "GET /rest/{customerId}/triggers/{triggerId}": Case(path: "/rest/\(customer)/triggers/1"),
      "POST /rest/{customerId}/triggers/{triggerId}/messages": Case(
        path: "/rest/\(customer)/triggers/1/messages", json: #"{"originalId":"secretive"}"#),
    ]
    for name in ["pushdevices", "devices"] {
      let pattern = "/rest/{customerId}/apps/{appId}/\(name)"
      let path = "/rest/\(customer)/apps/com.secretive.app/\(name)"
      let device = #"{"originalId":"secretive","deviceInfo":[{"devicetoken":"aa"}]}"#
      cases["PUT \(pattern)"] = Case(path: path, json: device)
      cases["PUT \(pattern)/invalidation"] = Case(path: "\(path)/invalidation", json: device, isShownToOthers: false)
      cases["GET \(pattern)/{originalId}"] = Case(path: "\(path)/secretive")
      cases["GET \(pattern)/invalidation"] = Case(path: "\(path)/invalidation", isShownToOthers: false)
    }
    for base in ["/pnm2", "/k/{accessKey}/pnm2"] {
      let path = base.replacing("{accessKey}", with: "KEY")
      // The protocol answers 200, with a code.
      cases["POST \(base)/send"] = Case(path: "\(path)/send", json: push, isShownToOthers: false)
      cases["POST \(base)/multisend"] = Case(path: "\(path)/multisend", json: push, isShownToOthers: false)
      cases["POST \(base)"] = Case(path: path, json: push, isShownToOthers: false)
    }
    let report = #"{"selector":"secretive","pushTokenOther":"qg==","pushappid_other":"com.secretive.app"}"#
    for (name, json) in [("report", report), ("removal", #"{"selector":"secretive"}"#)] {
      cases["POST /k/{accessKey}/tokens/\(name)"] = Case(
        path: "/k/KEY/tokens/\(name)", json: json, isShownToOthers: false)
      cases["GET /k/{accessKey}/tokens/\(name)"] = Case(
        path: "/k/KEY/tokens/\(name)?selector=secretive&pushTokenOther=qg%3D%3D&pushappid_other=com.secretive.app",
        isShownToOthers: false)
    }
    let base = "/datasync/v2/{app}"
    let path = "/datasync/v2/com.secretive.app"
    for method in ["GET", "PUT", "PATCH", "POST", "DELETE"] {
      cases["\(method) \(base)/data/{path}"] = Case(
        path: "\(path)/data/users", json: ["GET", "DELETE"].contains(method) ? nil : #"{"a":1}"#,
        isShownToOthers: false)
    }
    for (route, json) in [
      ("GET \(base)/subscriptions", nil),
      ("POST \(base)/subscriptions", #"{"path":"/","event":"value","webhook":"hook"}"#),
      ("DELETE \(base)/subscriptions/{subscriptionId}", nil), ("GET \(base)/settings", nil),
      ("PUT \(base)/settings/webhooks", #"{"destinations":{}}"#),
    ] as [(String, String?)] {
      let place = String(route.drop { $0 != "/" }).replacing(base, with: path).replacing("{subscriptionId}", with: "1")
      cases[route] = Case(path: place, json: json, isShownToOthers: false)
    }
    return cases
  }

  private struct Keys {
    /// Of scope backend, bound to the app `com.other`.
    let bound: String
    /// Of scope backend, bound to no app.
    let free: String
    /// Of the data tree of `com.other`.
    let tree: String
  }

  @Test func `A key that is bound to an app sees and changes nothing of another, on any route`() async throws {
    try await withManagementServer { managed in
      let (keys, message) = try await settle(managed)
      let routes = try Self.routes(managed)
      let cases = Self.cases(managed.customer)
      #expect(Set(routes.filter { $0.boundKeys == .ownApp }.map(Self.name)) == Set(cases.keys))
      let before = try await Self.rows(managed)
      for (route, request) in cases {
        let method = String(route.prefix { $0 != " " })
        let reply = try await Self.send(managed, method, request, message, keys.bound, keys.tree)
        #expect(!reply.text.contains("ecretive"), "\(route): \(reply.text)")
        let isRefused = (400..<500).contains(reply.status) || reply.text.contains(#""code":400"#)
        #expect(isRefused || reply.text == "[]" || route.hasSuffix("/tokens/removal"), "\(route): \(reply)")
      }
      #expect(try await Self.rows(managed) == before)
      for (route, request) in cases where request.isShownToOthers {
        let method = String(route.prefix { $0 != " " })
        let reply = try await Self.send(managed, method, request, message, keys.free, keys.tree)
        #expect(reply.status < 300, "\(route): \(reply.text)")
      }
    }
  }

  @Test func `A key that is bound to an app opens no route whose keys are bound to none`() async throws {
    try await withManagementServer { managed in
      let (keys, _) = try await settle(managed)
      let routes = try Self.routes(managed).filter { $0.boundKeys == .refused }
      #expect(routes.count > 40)
      let before = try await Self.rows(managed)
      for route in routes {
        let path = route.pattern.replacing(#/\{\w+\}/#, with: "1")
        let body = #"{"messages":{"authentication":{"producttoken":"\#(keys.bound)"},"msg":[]}}"#
        let json = ["GET", "DELETE"].contains(route.verb) ? nil : body
        let query = path == "/gateway.ashx" ? "?producttoken=\(keys.bound)&from=A&to=0031600000001&body=x" : ""
        let reply = try await managed.server.send(route.verb, path + query, key: keys.bound, json: json)
        if path.hasPrefix("/api/v1/") || path.hasPrefix("/rest/") {
          #expect(reply.status == 403, "\(Self.name(route)): \(reply)")
        } else {
          #expect((400..<500).contains(reply.status) || reply.text.contains("ERROR"), "\(Self.name(route)): \(reply)")
        }
      }
      #expect(try await Self.rows(managed) == before)
    }
  }

  /// What is described as taking an access key says what bound ones can do, and nothing else does.
  @Test func `Every route that takes an access key says what bound ones can do`() async throws {
    try await withManagementServer { managed in
      let document = managed.contract.document
      for route in try Self.routes(managed) {
        let described = document["paths"]?[route.pattern]?[route.verb.lowercased()]
        guard let security = described?.array("security") else { continue }
        let takesKey = security.contains { $0["bearer"] != nil || $0["carma"] != nil || $0["basic"] != nil }
        // Keys in paths and bodies are no security scheme.
        if takesKey { #expect(route.boundKeys != .noKey, "\(Self.name(route))") }
        if security.contains(where: { $0["mac"] != nil }) { #expect(route.boundKeys == .noKey, "\(Self.name(route))") }
        if route.pattern.hasPrefix("/api/v1/") { #expect(takesKey, "\(Self.name(route))") }
      }
    }
  }

  private static func routes(_ managed: ManagementServer) throws -> [RouteTable.Entry] {
    let whole = WholeWebServer(
      managed.database.pool, vault: managed.vault, services: try .init(.nowhere, logger: TestServer.logger))
    return RouteTable(try whole.routes).entries
  }

  /// What the customer has. Of pushes only how many there are, since they are being sent.
  private static func rows(_ managed: ManagementServer) async throws -> [String] {
    try await managed.rows().map { row in
      let table = String(row.prefix { $0 != "(" })
      return ["push", "push_batch", "sendout"].contains(table) ? table : row
    }
  }

  private static func name(_ route: RouteTable.Entry) -> String { "\(route.verb) \(route.pattern)" }

  private static func send(
    _ managed: ManagementServer, _ method: String, _ request: Case, _ message: String, _ key: String, _ tree: String
  ) async throws -> TestReply {
    let path = request.path.replacing("KEY", with: key).replacing("MESSAGE", with: message)
    let isTree = path.hasPrefix("/datasync/")
    return try await managed.server.send(
      method, path, key: isTree ? tree : key,
      headers: path.hasPrefix("/rest/") ? [("X-Carma-Authentication-Token", key)] : [], json: request.json)
  }

  /// Two apps of one customer, what is of the first one, and keys for the second.
  private func settle(_ managed: ManagementServer) async throws -> (Keys, message: String) {
    try await managed.addApp("com.secretive.app")
    try await managed.addApp("com.other")
    @discardableResult
    func post(_ method: String, _ path: String, _ json: String) async throws -> JSONValue {
      let reply = try await managed.send(
        method, path, headers: [("X-Carma-Authentication-Token", managed.key)], json: json)
      #expect(reply.status < 300, "\(path): \(reply.text)")
      return try reply.json
    }
    try await post(
      "PUT", "/rest/\(managed.customer)/apps/com.secretive.app/pushdevices",
      #"{"originalId":"secretive","firstName":"Secretive","deviceInfo":[{"devicetoken":"aa"}]}"#)
    try await post(
      "POST", "/api/v1/triggers",
      #"{"name":"secretive","appId":"com.secretive.app","message":{"alert":"secretive"}}"#)
    let sent = try await post("POST", "/api/v1/messages", Self.message)
    func key(_ json: String) async throws -> String {
      try #require(try await post("POST", "/api/v1/keys", json).string("token"))
    }
    func tree(_ app: String) async throws -> String {
      try #require(try await post("POST", "/api/v1/datasync", #"{"app":"\#(app)"}"#).string("secret"))
    }
    _ = try await tree("com.secretive.app")
    let keys = Keys(
      bound: try await key(#"{"name":"bound","scope":"backend","appId":"com.other"}"#),
      free: try await key(#"{"name":"free","scope":"backend"}"#), tree: try await tree("com.other"))
    return (keys, try #require(sent.string("messageId")))
  }
}
