import Foundation
import Providers
import Support
import Testing
import Wire

/// Every request body that is described, sent with each of its fields changed in many ways: the server must accept exactly what
/// the schema accepts. So no name, type, optionality or limit can differ between the two.
@Suite struct RequestSchemaTests {
  @Test func `Every body is accepted or refused exactly as its schema says`() async throws {
    try await withManagementServer { managed in
      try await addWhatExamplesName(managed)
      // What several bodies hold, such as a message, is read the same way in each: its fields are changed in the first one.
      var known: Set<String> = []
      for operation in bodiedOperations(managed) {
        for body in bodies(operation) {
          let variants = BodyVariants(managed.contract.document, known: known)
          for difference in try await differences(managed, operation, body, variants) { Issue.record("\(difference)") }
          if !isSoak { variants.addNames(in: operation.schema, to: &known) }
        }
      }
    }
  }

  @Test func `A moment that no calendar has is refused wherever a body can have one, and its field is named`()
    async throws
  {
    try await withManagementServer { managed in
      try await addWhatExamplesName(managed)
      var fields: Set<String> = []
      for operation in bodiedOperations(managed) {
        let key = try await key(managed, operation)
        for body in bodies(operation) {
          let variants = BodyVariants(managed.contract.document, moments: Moments.impossible)
          for variant in variants.all(of: body, operation.schema) {
            fields.insert("\(operation.name): \(variant.path)")
            let error = try await answer(managed, operation, key, variant.body).error
            #expect(
              error?.hasPrefix("\(variant.path) must be ") == true, "\(operation.name) \(variant.name): \(error ?? "")")
          }
        }
      }
      #expect(
        fields.isSuperset(of: [
          "POST /api/v1/keys: expiresAt", "POST /api/v1/messages: deliverAt",
          "POST /rest/{customerId}/triggers/{triggerId}/messages: deliveryTime",
          "PUT /rest/{customerId}/apps/{appId}/devices: dateOfBirth",
          "PUT /rest/{customerId}/apps/{appId}/devices/invalidation: deviceInfo[0].dateOfInvalidation",
        ]), "\(fields)")
    }
  }

  /// The comparison itself: an API that differs from its description in one point is found out.
  @Test(arguments: ["ListRequest", "InvalidationRequest"], SchemaChange.allCases)
  fileprivate func `A difference in one name, type, optionality or limit is found`(
    _ schema: String, _ change: SchemaChange
  ) async throws {
    try await withManagementServer { managed in
      try await addWhatExamplesName(managed)
      let reference: JSONValue = ["$ref": .string("#/components/schemas/\(schema)")]
      let operation = try #require(bodiedOperations(managed).first { $0.schema == reference })
      let document = managed.contract.document.changing(["components", "schemas", schema]) { described in
        change.apply(to: schema == "ListRequest" ? "name" : "originalId", of: described)
      }
      #expect(try await differences(managed, operation, operation.example, BodyVariants(document)) != [])
    }
  }

  /// Where the server accepts what the schema refuses, or refuses what it accepts, or names another field.
  private func differences(
    _ managed: ManagementServer, _ operation: BodiedOperation, _ body: JSONValue, _ variants: BodyVariants
  ) async throws -> [String] {
    var found: [String] = []
    var sent: Set<JSONValue> = []
    let key = try await key(managed, operation)
    for variant in variants.all(of: body, operation.schema) where sent.insert(variant.body).inserted {
      if variant.path.hasSuffix("wait") {
        // Without a device there is no verdict to wait for.
        try await managed.database.query("UPDATE device SET invalidated_at = now(), invalidation_type = 1")
      }
      if let difference = try await difference(managed, operation, key, variant, variants.document) {
        found.append(difference)
      }
    }
    #expect(sent.count > 40, "\(operation.name)")
    return found
  }

  /// What a refusal says that is about the meaning of a value, after its form was accepted.
  private static let refusalsOfMeaning = [
    "has a member that is not one of", "names no list of this customer", "and there is none of this",
    "valid devices, the devicesPerContact",
    "names a platform that this appId has no push app for", "come together",
    "holds a character ", "signingKey: ", "developmentCertificate: ", "productionCertificate: ",
    "is there without a developmentCertificate", "serviceAccount: ", "belongs to Firebase, Android and Huawei",
    "belongs to Huawei", "belongs to Windows", "is no Package SID", "ID of Microsoft Entra", "comes with packageSid",
    "takes the place of tenantId", "must be a channel URI",
    "which is for iOS", "is for softphones on iOS alone", "belongs to Web",
    "is an object, which is a token of apps of the type web",
    "is missing: give appId", "is there beside appId", "names nobody", "control character",
    "other than visible ASCII", "is needed: there are apps", "that none of the apps has",
    "names no template of this customer",
    "is not one of text/html", "is not a whole number",
    "must be in the future", "cannot bind a key of scope", "holds a name that is not one of",
    "is missing beside info", "is missing: a message has",
    "is missing, and so is remove", "is background, which shows nothing", "makes ", "days ahead",
    "differs from the customer", "differs from that in the path",
    "this hub keeps no subscriptions",
    "is no address", "names no field of the message", "is true beside badge or sound", "beside silent",
    "is there beside template", "cannot be overridden", "has no value that APNs takes", "must be an object",
    "must be a text", "must be one of wns/", "are larger than",
    "must hold {{pin}}", "must be up to 11 printable", "must be a time zone", "must be an https address",
    "must begin with /", "holds an empty name", "nothing would be told", "only for the event child",
    "is missing beside", "give deviceToken and service", "is there beside deviceToken", "32 bytes in base64",
    "is missing: a new webhook", "names no destination", "has no platform", "certificates are always checked",
    "must be an address of the form",
    "may hold only", "must hold 1 to 1024", "holds more than 100",
    "belongs to the provider", "must be a full address", "template ",
    "productToken is missing",
    "accountSid is missing", "is no token: give it alone",
    "is no e-mail address", "must be a name of the IANA database", "must be a language tag", "must be a locale such as",
    "must be a day such as 1980-02-29",
    "is missing: give originalId", "is not alone: give one", "is there without deviceToken", "is past: give a moment",
    "names no push app of this customer", "names no segment of this customer", "dateFormat must have",
    "which is none of originalId", "must be the code of a character", "must be UTF8, UTF16", "must be ADD or REPLACE",
    "must be a string, a number, true, false or null", "give one, or \"static\": true", "must have only one of",
    // Of times, limits and variants.
    "is there beside start", "needs startAt or localTime", "needs localTime", "must be later than startAt",
    "needs variants", "is that of another variant", "have shares that add up", "is over", "is there beside every",
    "has no meaning for transactional", "must be more than 0 and at most 1", "is the same as start",
    "must be a day and a time without a zone", "must be a time of day", "nobody waits for a winner",
    "the message has no translations", "is missing: give the draft a time", "must hold days of the",
    "names no language", "is there twice", "must be 1h to 720h", "is there already: leave it out",
    "names no variant of this sendout",
  ]

  private func difference(
    _ managed: ManagementServer, _ operation: BodiedOperation, _ key: String, _ variant: BodyVariant,
    _ document: JSONValue
  ) async throws -> String? {
    let problems = SchemaCheck(document: document).problems(of: variant.body, against: operation.schema)
    let (reply, error) = try await answer(managed, operation, key, variant.body)
    let isRefusedForMeaning = Self.refusalsOfMeaning.contains { error?.contains($0) == true }
    let agrees =
      problems.isEmpty
      ? reply.status < 500
        && (error == nil || isRefusedForMeaning || variant.isOfFilter && error?.hasPrefix(variant.path) == true)
      : error?.hasPrefix(variant.path) == true
    return agrees ? nil : "\(operation.name) \(variant.name): \(reply.status) \(reply.text.prefix(200)), \(problems)"
  }

  /// The reply to a body, and why it was refused, if it was.
  private func answer(
    _ managed: ManagementServer, _ operation: BodiedOperation, _ key: String, _ body: JSONValue
  ) async throws -> (reply: TestReply, error: String?) {
    let headers = operation.path.hasPrefix("/rest/") ? [("X-Carma-Authentication-Token", key)] : []
    let json = String(decoding: try JSONCoding.encode(body), as: UTF8.self)
    let reply = try await managed.server.send(
      operation.method, operation.path, key: key, headers: headers, json: json)
    var error = reply.status == 400 ? reply.error ?? "" : nil
    // A list of messages is answered message by message.
    if case .array(let items)? = try? reply.json { error = items.first?.string("error") }
    return (reply, error)
  }

  /// A key that may call it.
  private func key(_ managed: ManagementServer, _ operation: BodiedOperation) async throws -> String {
    guard operation.path.hasPrefix("/datasync/") else { return managed.key }
    let made = try await managed.send(
      "POST", "/api/v1/keys", json: #"{"name":"tree","scope":"datasync","appId":"com.acme.app"}"#)
    return try #require(try made.json.string("token"), "\(made.text)")
  }

  /// The examples, and further bodies where one cannot hold every field.
  private func bodies(_ operation: BodiedOperation) -> [JSONValue] {
    switch operation.name {
    case "POST /api/v1/apps":
      [
        operation.example.with([
          "teamId": "A1B2C3D4E5", "keyId": "F6G7H8J9K0", "signingKey": .string(APNsCredentials.sample.signingKey),
          "appId": "com.acme.signed",
        ])
      ]
    case "POST /api/v1/sendouts":
      [
        Self.bare.with(["audience": ["all": true]]), Self.bare.with(["audience": ["listId": 1]]),
        operation.example,
      ]
    default: [operation.example]
    }
  }

  /// A sendout with as little else as there can be.
  private static let bare: JSONValue = ["appId": "com.acme.app", "message": ["alert": "x"]]

  /// One operation for each schema that a body may have.
  private func bodiedOperations(_ managed: ManagementServer) -> [BodiedOperation] {
    var seen: Set<JSONValue> = []
    return managed.contract.operations.sorted { $0.path < $1.path }
      .compactMap { BodiedOperation($0, managed.contract.document, customer: "\(managed.customer)") }
      .filter { seen.insert($0.schema).inserted }
  }

  /// Adds the app of number 1, list 1, a template and trigger 1.
  private func addWhatExamplesName(_ managed: ManagementServer) async throws {
    try await managed.addApp(credentials: .sample)
    _ = try await managed.send("POST", "/api/v1/lists", json: #"{"name":"first"}"#)
    _ = try await managed.send("PUT", "/api/v1/templates/offer", json: #"{"body":"x"}"#)
    _ = try await managed.send(
      "POST", "/api/v1/triggers", json: #"{"name":"first","appId":"com.acme.app","message":{"alert":"x"}}"#)
  }
}

/// A difference between an API and its description.
private enum SchemaChange: CaseIterable {
  case name, type, optionality, limit

  /// The description of an object, with one field of it changed.
  func apply(to field: String, of schema: JSONValue) -> JSONValue {
    switch self {
    case .name: schema.renaming(field, to: field + "s")
    case .type: schema.changing(["properties", field]) { _ in ["type": "boolean"] }
    case .optionality: schema.with(["required": .array((schema.array("required") ?? []).filter { $0.text != field })])
    case .limit: schema.changing(["properties", field]) { $0.raisingLimit }
    }
  }
}

/// An operation whose requests have a body.
private struct BodiedOperation {
  /// As in `POST /api/v1/keys`.
  let name: String
  let method: String
  /// With the examples of its parameters.
  let path: String
  let schema: JSONValue
  let example: JSONValue

  init?(_ operation: APIContract.Operation, _ document: JSONValue, customer: String) {
    let described = document["paths"]?[operation.path]?[operation.method.lowercased()]
    guard let media = described?["requestBody"]?["content"]?["application/json"], let schema = media["schema"],
      let example = media["example"]
    else { return nil }
    name = "\(operation.method) \(operation.path)"
    method = operation.method
    self.schema = schema
    self.example = example
    path = (described?.array("parameters") ?? []).reduce(operation.path) { path, parameter in
      let name = parameter.string("name") ?? ""
      let value = parameter.string("example") ?? parameter.integer("example").map { "\($0)" } ?? ""
      return path.replacing("{\(name)}", with: name == "customerId" ? customer : value)
    }
  }
}

/// A body with one change.
private struct BodyVariant {
  let name: String
  /// Begins every error about the change; empty where the whole body changed.
  let path: String
  let body: JSONValue
  /// Whether it is in a filter, whose reader checks more than its schema says, and whose errors name the filter's field first.
  var isOfFilter = false
}

/// Makes the variants of a body: every field replaced, removed, added, too long, too short.
private struct BodyVariants {
  let document: JSONValue
  private static let probes: [JSONValue] = [
    nil, true, false, 0, 1, -1, .number(1.5), 32_768, .integer(Int64.max), "", "x", "a\u{1}", "1", "true", "1980-02-29",
    "2026-11-20T09:00:00.000Z", [], [1], [:], ["unknown": 1],
  ]

  /// In place of all other changes, where a schema wants a moment or a date.
  private let moments: [String]?
  /// The names of schemas whose fields stay as they are.
  private let known: Set<String>

  /// Whether the value that is changed is a filter, or within one.
  private let isInFilter: Bool

  init(_ document: JSONValue, moments: [String]? = nil, known: Set<String> = [], isInFilter: Bool = false) {
    self.document = document
    self.moments = moments
    self.known = known
    self.isInFilter = isInFilter
  }

  func all(of body: JSONValue, _ schema: JSONValue) -> [BodyVariant] {
    variants(of: body, schema, at: "") { $0 }
  }

  private func variants(
    of value: JSONValue, _ schema: JSONValue, at path: String, in body: @escaping (JSONValue) -> JSONValue
  ) -> [BodyVariant] {
    if isFilter(schema), !isInFilter {
      return BodyVariants(document, moments: moments, known: known, isInFilter: true)
        .variants(of: value, schema, at: path, in: body)
        .map { BodyVariant(name: $0.name, path: path, body: $0.body, isOfFilter: true) }
    }
    let isKnown = !path.isEmpty && name(schema).map { known.contains($0) } == true
    let schema = resolved(schema)
    let probes = moments.map { isDate(schema) ? $0.map(JSONValue.string) : [] } ?? Self.probes + limits(schema)
    var found = probes.map { probe in
      BodyVariant(name: "\(path) = \("\(probe)".prefix(60))", path: path, body: body(probe))
    }
    if isKnown { return found }
    switch value {
    case .object(let members): found += self.members(of: members, schema, at: path, in: body)
    case .array(let items):
      guard let first = items.first else { break }
      found +=
        moments != nil
        ? []
        : counts(schema, "minItems", "maxItems").map { count in
          let items = Array(repeating: first, count: count)
          return BodyVariant(name: "\(path) of \(count)", path: path, body: body(.array(items)))
        }
      found += variants(of: first, schema["items"] ?? [:], at: "\(path)[0]") { body(.array([$0])) }
    default: break
    }
    return found
  }

  private func members(
    of members: [UTF8String: JSONValue], _ schema: JSONValue, at path: String,
    in body: @escaping (JSONValue) -> JSONValue
  ) -> [BodyVariant] {
    func inside(_ name: UTF8String) -> String { path.isEmpty ? name.text : "\(path).\(name)" }
    var described: [UTF8String: JSONValue] = [:]
    if case .object(let properties) = schema["properties"] { described = properties }
    var found: [BodyVariant] = []
    for (name, value) in members {
      let without = members.filter { $0.key != name }
      let isRequired = schema.array("required")?.contains(.string(name.text)) == true
      if moments == nil {
        found.append(
          BodyVariant(
            name: "without \(inside(name))", path: isRequired ? inside(name) : path, body: body(.object(without))))
      }
      let schema = described[name] ?? schema["additionalProperties"] ?? [:]
      found += variants(of: value, schema, at: inside(name)) { body(.object(without.merging([name: $0]) { $1 })) }
    }
    let isFull = schema.integer("maxProperties") == Int64(members.count)
    for (name, schema) in described where members[name] == nil && !isFull {
      found += variants(of: nil, schema, at: inside(name)) { body(.object(members.merging([name: $0]) { $1 })) }
    }
    if moments != nil { return found }
    for count in counts(schema, "minProperties", "maxProperties") + [members.count + 1] where count > members.count {
      let more = (members.count..<count).map { (UTF8String("more\($0)"), JSONValue.integer(1)) }
      let merged = members.merging(more) { $1 }
      found.append(
        BodyVariant(
          name: "\(path) with \(count) fields", path: path.isEmpty ? "more" : path, body: body(.object(merged))))
    }
    return found
  }

  /// The schema behind a reference; of several choices the one that has fields or items.
  private func resolved(_ schema: JSONValue) -> JSONValue {
    if let name = name(schema) { return document["components"]?["schemas"]?[name] ?? [:] }
    let choices = (schema.array("anyOf") ?? []).map(resolved)
    return choices.first { $0["properties"] != nil || $0["items"] != nil || $0["additionalProperties"] != nil }
      ?? schema
  }

  /// Whether values of this schema are filters, or null in place of one.
  private func isFilter(_ schema: JSONValue) -> Bool {
    name(schema) == Filter.schema.name || (schema.array("anyOf") ?? []).contains { name($0) == Filter.schema.name }
  }

  /// The name that a schema is referred to by.
  private func name(_ schema: JSONValue) -> String? {
    schema.string("$ref")?.split(separator: "/").last.map(String.init)
  }

  /// Adds the names of the schemas that this one leads to.
  func addNames(in schema: JSONValue, to names: inout Set<String>) {
    switch schema {
    case .object(let keywords):
      if let name = name(schema) {
        if names.insert(name).inserted { addNames(in: resolved(schema), to: &names) }
      } else {
        for value in keywords.values { addNames(in: value, to: &names) }
      }
    case .array(let items): for item in items { addNames(in: item, to: &names) }
    default: break
    }
  }

  /// Whether texts of this schema are moments, or dates of Carma's.
  private func isDate(_ schema: JSONValue) -> Bool {
    schema.string("format") == "date-time" || schema.string("pattern")?.contains("[Tt ]") == true
      || (schema.array("anyOf") ?? []).contains { isDate(resolved($0)) }
  }

  /// Values on both sides of each limit that the schema names.
  private func limits(_ schema: JSONValue) -> [JSONValue] {
    let lengths = counts(schema, "minLength", "maxLength").filter { $0 < 50_000 }
    let bounds = ["minimum", "maximum"].compactMap { schema.integer($0) }
    return lengths.map { .string(String(repeating: "a", count: $0)) }
      + bounds.flatMap { bound in
        [-1, 0, 1].map { JSONValue.integer(bound.addingReportingOverflow($0).partialValue) }
      }
      + (schema.array("anyOf") ?? []).flatMap(limits)
  }

  /// The counts at and beyond the limits of these keywords.
  private func counts(_ schema: JSONValue, _ minimum: String, _ maximum: String) -> [Int] {
    [schema.integer(minimum).map { [Int($0) - 1, Int($0)] }, schema.integer(maximum).map { [Int($0), Int($0) + 1] }]
      .compactMap { $0 }.joined().filter { $0 >= 0 }
  }
}

extension JSONValue {
  /// The object with these members in place of its own.
  func with(_ members: [UTF8String: JSONValue]) -> JSONValue {
    if case .object(let own) = self { .object(own.merging(members) { $1 }) } else { self }
  }

  /// The object with the value at a path changed.
  fileprivate func changing(_ path: [String], _ change: (JSONValue) -> JSONValue) -> JSONValue {
    guard let name = path.first else { return change(self) }
    return with([UTF8String(name): (self[name] ?? [:]).changing(Array(path.dropFirst()), change)])
  }

  /// The schema of an object with a required field under another name.
  fileprivate func renaming(_ field: String, to name: String) -> JSONValue {
    guard case .object(var fields) = self["properties"] else { return self }
    (fields[name], fields[field]) = (fields[field], nil)
    let required = (array("required") ?? []).map { $0.text == field ? .string(name) : $0 }
    return with(["properties": .object(fields), "required": .array(required)])
  }

  /// The schema with every limit of length one higher.
  fileprivate var raisingLimit: JSONValue {
    var schema = self
    if let limit = integer("maxLength") { schema = schema.with(["maxLength": .integer(limit + 1)]) }
    if let choices = array("anyOf") { schema = schema.with(["anyOf": .array(choices.map(\.raisingLimit))]) }
    return schema
  }
}
