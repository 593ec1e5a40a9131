import DataInOut
import HTTPTypes
import Operations
import Registry
import Sendouts
import Wire

/// Carma's `/rest/{customerId}/lists`, `properties` and `campaigns`.
enum CarmaListOperations {
  static let all: [APIOperation] =
    ([list, show] + [everybody, unsubscribed, bounced] + [contact, update, properties, campaigns] + [
      addImport, sendFile, batch,
    ]).map { operation in
      var operation = operation
      operation.errors.append(.error("The key is bound to an app.", HTTPErrorResponse.boundKey))
      return operation
    }

  private static let list = APIOperation(
    method: .get, path: "/rest/{customerId}/lists", id: "listCarmaLists", tag: .lists, security: .key(.backend),
    summary: "List the lists in Carma's form",
    description: "Lists every list by number. There are no test lists, which are Carma's `typeId` 2.",
    parameters: [
      customer,
      .query("typeId", .integer(1...2), "1 for ordinary lists, which is the default, 2 for none.", example: 1),
    ], responses: [.ok("The lists.", of: CarmaList(.example, contacts: 1250))])

  private static let show = APIOperation(
    method: .get, path: "/rest/{customerId}/lists/{listId}", id: "showCarmaList", tag: .lists, security: .key(.backend),
    summary: "Show a list in Carma's form",
    description: """
      With the counts of its contacts. They are absent where counting takes more than ten seconds.
      """, parameters: [customer, listID], responses: [.ok("The list.", CarmaList.example)],
    errors: [ListOperations.unknown])

  private static let everybody = contacts("all", id: "listCarmaContacts", "List a list's contacts in Carma's form")
  private static let unsubscribed = contacts(
    "unsubscribed", id: "listCarmaUnsubscribed", "List a list's contacts that get no marketing")
  private static let bounced = contacts(
    "bounced", id: "listCarmaBounced", "List a list's contacts that have devices and no valid one")

  private static func contacts(_ kind: String, id: String, _ summary: String) -> APIOperation {
    APIOperation(
      method: .get, path: "/rest/{customerId}/lists/{listId}/contacts/\(kind)", id: id, tag: .lists,
      security: .key(.backend), summary: summary,
      description: """
        By number, from behind `lastId`, which is the `id` of the last contact of the page before. The last page is followed by an empty one. \
        Where properties are large, a page has fewer contacts than `pageSize`. `channel` is ignored: all messages go to phones.
        """,
      parameters: [
        customer, listID,
        .query(
          "lastId", .integer(-1...Int64.max), "Begins behind this contact. -1 if absent: at the first.", example: -1),
        .query(
          "pageSize", .integer(1...Int64(ListedContacts.mostOfPage)), "Most contacts of the page. 1,000 if absent.",
          example: 100),
        .query("includeProperties", Bool.schema, "Whether properties are shown. True if absent.", example: true),
        .query("email", .string(), "Only contacts with exactly this e-mail address.", example: "lars@example.com"),
      ], responses: [.ok("The contacts.", of: CarmaContact.example)], errors: [ListOperations.unknown])
  }

  private static let contact = APIOperation(
    method: .get, path: "/rest/{customerId}/lists/{listId}/contacts/{originalId}", id: "showCarmaContact", tag: .lists,
    security: .key(.backend), summary: "Show a contact of a list in Carma's form",
    description: "A contact whose id is `all`, `unsubscribed` or `bounced` is shown by the management API alone.",
    parameters: [customer, listID, originalID], responses: [.ok("The contact.", CarmaContact.example)],
    errors: [unknown])

  private static let update = APIOperation(
    method: .put, path: "/rest/{customerId}/lists/{listId}/contacts/{originalId}/update", id: "updateCarmaContact",
    tag: .lists, security: .key(.backend), summary: "Change a contact of a list",
    description: """
      A field that is absent or null stays as it is, `""` clears it. `properties` is merged key by key, and null removes a key.

      With `force` a contact that is not there is added, and one that is not on the list joins it. `unsubscribed` true suppresses marketing to \
      the contact; false lifts nothing.
      """,
    parameters: [
      customer, listID, originalID,
      .query("force", Bool.schema, "Whether to add who is missing. False if absent.", example: true),
    ],
    requestBody: APIContent(
      CarmaSchemas.contactUpdate,
      examples: [
        ["originalId": "lars@example.com", "firstName": "Lars", "properties": ["food": "meat"], "unsubscribed": false]
      ]),
    responses: [.ok("The contact.", CarmaContact.example)], errors: [unknown])

  private static let properties = APIOperation(
    method: .get, path: "/rest/{customerId}/properties", id: "listCarmaProperties", tag: .contacts,
    security: .key(.backend), summary: "List the properties of contacts",
    description: "Those that the 1,000 contacts have that were added last. Properties need no declaration.",
    parameters: [customer], responses: [.ok("The properties.", of: CarmaProperty.example)])

  private static let campaigns = APIOperation(
    method: .get, path: "/rest/{customerId}/campaigns", id: "listCarmaCampaigns", tag: .sendouts,
    security: .key(.backend), summary: "List the latest sendouts in Carma's form",
    description: "The newest first, \(CarmaListRoutes.mostCampaigns) at most.", parameters: [customer],
    responses: [.ok("The sendouts.", of: CarmaCampaign.example)])

  private static let addImport = APIOperation(
    method: .post, path: "/rest/{customerId}/lists/{listId}/imports", id: "addCarmaImport", tag: .imports,
    security: .key(.backend), summary: "Add an import to a list, in Carma's form",
    description: """
      Columns that are no fields become properties. With `REPLACE` those leave the list who are not in the file, and headings alone empty it.
      """, parameters: [customer, listID],
    requestBody: APIContent(
      CarmaSchemas.listImport,
      examples: [["delimiter": "59", "encoding": "UTF8", "type": "ADD", "identityColumn": "originalId"]]),
    responses: [.ok("The import.", CarmaImport.example)],
    errors: [.error("The list is unknown.", RegistryError.numberUnknown("list"))])

  private static let sendFile: APIOperation = {
    var operation = APIOperation(
      method: .post, path: "/rest/{customerId}/lists/{listId}/recipients/{importId}", id: "sendCarmaImportFile",
      tag: .imports, security: .key(.backend), summary: "Send an import's file, in Carma's form",
      description: "As `PUT /api/v1/imports/{id}/file`. If the file cannot be imported, its batch says so.",
      parameters: [customer, listID, .path("importId", .id, "The import's number.", example: 1)],
      responses: [.ok("The file has arrived.", CarmaBatchNumber.example)],
      errors: [
        ImportOperations.unknown, .error("The file broke off.", DataInOutError.brokenOff),
        ImportFileOperations.notTaken,
      ])
    operation.csvBody = "originalId;firstName\r\n1001;Lars\r\n"
    return operation
  }()

  private static let batch = APIOperation(
    method: .get, path: "/rest/{customerId}/batches/{batchId}", id: "showCarmaBatch", tag: .imports,
    security: .key(.backend), summary: "Show how far an import is, in Carma's form",
    description: "`FINISHED` or `ERROR` once it has ended.",
    parameters: [customer, .path("batchId", .id, "The `batchId` of the file.", example: 1)],
    responses: [.ok("The batch.", CarmaBatch.example)], errors: [ImportOperations.unknown])

  private static let customer = APIParameter.path("customerId", .id, "The customer's number.", example: 1)
  private static let listID = APIParameter.path("listId", .id, "The list's number.", example: 1_000_000_005)
  private static let originalID = APIParameter.path(
    "originalId", .string(), "The contact's id, percent-encoded: `lars%40example.com`.", example: "lars%40example.com")
  private static let unknown = APIResponse.error(
    "The list is unknown, or the contact is, or it is not on the list.",
    RegistryError.contactUnknown(originalID: "lars@example.com"), RegistryError.numberUnknown("list"))
}

extension APIResponse {
  /// A JSON array.
  fileprivate static func ok<Item: APIObject>(_ description: String, of item: Item) -> Self {
    .ok(description, APIContent([Item].schema, examples: [.array([APIContent.json(item)])]))
  }
}
