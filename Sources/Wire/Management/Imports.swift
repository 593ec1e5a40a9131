/// A file of contacts that a customer brings in.
public struct ImportID: Identifier {
  public let rawValue: Int64
  public init(_ rawValue: Int64) { self.rawValue = rawValue }
}

/// What an import does with its rows.
public enum ImportMode: String, Sendable, Codable, CaseIterable, SchemaProviding {
  /// Adds who is not known, and updates who is.
  case upsert
  /// Adds who is not known, and skips who is.
  case add
  /// Updates who is known, and skips who is not.
  case update
  /// As `upsert`; then it takes those off the list who are not in the file.
  case replace
  /// Sends no marketing to those in the file from now on. It adds no contact.
  case suppress
}

/// Which column says whom a row is about.
public enum ImportIdentity: String, Sendable, Codable, CaseIterable, SchemaProviding {
  case originalId, emailAddress, mobileNumber
}

/// What becomes of columns that are nobody's.
public enum ImportOthers: String, Sendable, Codable, CaseIterable, SchemaProviding {
  case refuse, properties, skip
}

/// What a file is encoded in.
public enum ImportEncoding: String, Sendable, Codable, CaseIterable, SchemaProviding {
  case utf8 = "utf-8"
  case utf16le = "utf-16le"
  case utf16be = "utf-16be"
  case windows1252 = "windows-1252"
}

/// How far an import is.
///
/// - **waiting**: for its file → receiving, cancelled
/// - **receiving**: the file is on its way → waiting (it broke off), review, checking, finished, failed, cancelled
/// - **review**: it is here, and waits to be told what its columns are → checking, cancelled
/// - **checking**: the hub checks the rows, and looks for those of the same people → merging, failed, cancelled
/// - **merging**: the rows become contacts, a portion at a time → review (after a dry run), finished, failed, cancelled
public enum ImportState: String, Sendable, Codable, CaseIterable, SchemaProviding {
  case waiting, receiving, review, checking, merging, finished, failed, cancelled

  public var hasEnded: Bool { [.finished, .failed, .cancelled].contains(self) }
}

/// Which column of a file is what, by the columns' headings; `nil` for a column that is passed over.
public struct ImportColumns: Sendable, Equatable, Codable, SchemaProviding {
  public var targets: [UTF8String: String?]

  public init(_ targets: [UTF8String: String?]) { self.targets = targets }

  public static var schema: Schema { Schema(.object([], others: String?.schema, count: nil)) }

  public init(from decoder: any Decoder) throws {
    guard case .object(let members) = try JSONValue(from: decoder) else {
      throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "no object"))
    }
    targets = members.mapValues(\.text)
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(JSONValue.object(targets.mapValues { $0.map { .string($0) } ?? .null }))
  }
}

/// Body of `POST /api/v1/imports`.
public struct ImportRequest: APIRequest, Equatable {
  public var name: String?
  public var listId: ListID?
  public var segmentId: SegmentID?
  public var mode: ImportMode?
  public var identity: ImportIdentity?
  public var columns: ImportColumns?
  public var others: ImportOthers?
  public var delimiter: String?
  public var encoding: ImportEncoding?
  public var dateFormat: String?
  public var decimalComma: Bool?
  public var emptyClears: Bool?
  public var allowEmpty: Bool?
  public var appId: String?
  public var appType: AppType?
  public var sandbox: Bool?
  public var dryRun: Bool?
  public var review: Bool?

  public init(
    name: String? = nil, listId: ListID? = nil, segmentId: SegmentID? = nil, mode: ImportMode? = nil,
    identity: ImportIdentity? = nil, columns: ImportColumns? = nil, others: ImportOthers? = nil,
    delimiter: String? = nil, encoding: ImportEncoding? = nil, dateFormat: String? = nil, decimalComma: Bool? = nil,
    emptyClears: Bool? = nil, allowEmpty: Bool? = nil, appId: String? = nil, appType: AppType? = nil,
    sandbox: Bool? = nil, dryRun: Bool? = nil, review: Bool? = nil
  ) {
    self.name = name
    self.listId = listId
    self.segmentId = segmentId
    self.mode = mode
    self.identity = identity
    self.columns = columns
    self.others = others
    self.delimiter = delimiter
    self.encoding = encoding
    self.dateFormat = dateFormat
    self.decimalComma = decimalComma
    self.emptyClears = emptyClears
    self.allowEmpty = allowEmpty
    self.appId = appId
    self.appType = appType
    self.sandbox = sandbox
    self.dryRun = dryRun
    self.review = review
  }

  public static let schemaName: String? = "ImportRequest"
  public static let schemaDescription =
    "A file of contacts that is to come: what its columns are, and what is done with them."
  public static let example = ImportRequest(
    name: "Customers of November", listId: ListID(1_000_000_005), mode: .upsert, identity: .originalId,
    columns: ImportColumns(["Kundnr": "originalId", "Färg": "properties.colour", "Intern": nil]), dryRun: true)

  /// What an import in review is started with. What is absent stays as the import was added with, or was started with before.
  public static let starting = BodyForm(
    "ImportStartRequest", "What the columns of an import in review are, and what is done with its rows.",
    absent: ["name", "delimiter", "encoding", "review"],
    example: ImportRequest(
      columns: ImportColumns(["Kundnr": "originalId", "Färg": "properties.colour", "Intern": nil]), dryRun: true))

  public static var fieldTable: FieldTable { ImportReply.fieldTable }

  /// With what `other` has in place of its own.
  public func started(with other: ImportRequest) -> ImportRequest {
    ImportRequest(
      name: name, listId: other.listId ?? listId, segmentId: other.segmentId ?? segmentId, mode: other.mode ?? mode,
      identity: other.identity ?? identity, columns: other.columns ?? columns, others: other.others ?? others,
      delimiter: delimiter, encoding: encoding, dateFormat: other.dateFormat ?? dateFormat,
      decimalComma: other.decimalComma ?? decimalComma, emptyClears: other.emptyClears ?? emptyClears,
      allowEmpty: other.allowEmpty ?? allowEmpty, appId: other.appId ?? appId, appType: other.appType ?? appType,
      sandbox: other.sandbox ?? sandbox, dryRun: other.dryRun ?? dryRun, review: review)
  }
}

/// An import: a file of contacts, how far it is, and what has become of its rows.
public struct ImportReply: APIObject, NumberedThing, Equatable {
  public var importId: ImportID
  public var name: String?
  public var state: ImportState
  public var listId: ListID?
  public var segmentId: SegmentID?
  public var mode: ImportMode
  public var identity: ImportIdentity
  public var dryRun: Bool
  public var arrived: Int
  public var rows: Int
  public var added: Int
  public var updated: Int
  public var unchanged: Int
  public var duplicates: Int
  public var skipped: Int
  public var rejected: Int
  public var devices: Int
  public var removed: Int
  public var percent: Int?
  public var columns: ImportColumns?
  public var headings: [String]?
  public var delimiter: String?
  public var encoding: ImportEncoding?
  public var sample: [[String]]?
  public var error: String?
  public var createdAt: Timestamp
  public var startedAt: Timestamp?
  public var endedAt: Timestamp?

  public init(
    importId: ImportID, name: String? = nil, state: ImportState, listId: ListID? = nil, segmentId: SegmentID? = nil,
    mode: ImportMode = .upsert, identity: ImportIdentity = .originalId, dryRun: Bool = false, arrived: Int = 0,
    rows: Int = 0, added: Int = 0, updated: Int = 0, unchanged: Int = 0, duplicates: Int = 0, skipped: Int = 0,
    rejected: Int = 0, devices: Int = 0, removed: Int = 0, percent: Int? = nil, columns: ImportColumns? = nil,
    headings: [String]? = nil, delimiter: String? = nil, encoding: ImportEncoding? = nil, sample: [[String]]? = nil,
    error: String? = nil, createdAt: Timestamp, startedAt: Timestamp? = nil, endedAt: Timestamp? = nil
  ) {
    self.importId = importId
    self.name = name
    self.state = state
    self.listId = listId
    self.segmentId = segmentId
    self.mode = mode
    self.identity = identity
    self.dryRun = dryRun
    self.arrived = arrived
    self.rows = rows
    self.added = added
    self.updated = updated
    self.unchanged = unchanged
    self.duplicates = duplicates
    self.skipped = skipped
    self.rejected = rejected
    self.devices = devices
    self.removed = removed
    self.percent = percent
    self.columns = columns
    self.headings = headings
    self.delimiter = delimiter
    self.encoding = encoding
    self.sample = sample
    self.error = error
    self.createdAt = createdAt
    self.startedAt = startedAt
    self.endedAt = endedAt
  }

  public static let noun = "import"
  public var number: ImportID { importId }
  public static let schemaName: String? = "Import"
  public static let schemaDescription = "A file of contacts that a customer brings in, and what has become of its rows."
  public static let example = ImportReply(
    importId: ImportID(1), name: "Customers of November", state: .finished, listId: ListID(1_000_000_005),
    arrived: 1000, rows: 1000, added: 800, updated: 120, unchanged: 60, duplicates: 15, rejected: 5, percent: 100,
    columns: ImportColumns(["Kundnr": "originalId", "Färg": "properties.colour", "Intern": nil]),
    headings: ["Kundnr", "Färg", "Intern"], delimiter: ";", encoding: .windows1252,
    sample: [["1001", "röd", ""]], createdAt: .example, startedAt: .example, endedAt: .example)

  public static let fieldTable: FieldTable = [
    "importId": "The import's number.",
    "name": FieldDescription("A name for people.", limits: 1...200),
    "state":
      """
    `waiting` for its file, `receiving` it, in `review` until it is started, `checking` its rows, `merging` them into the \
    contacts, or it has ended: `finished`, `failed` or `cancelled`.
    """,
    "listId": "The list that those in the file are put on.",
    "segmentId": "The static segment that those in the file are put in.",
    "mode":
      """
    `upsert` adds who is not known and updates who is, `add` skips who is known, `update` skips who is not. `replace` takes those \
    off the list who are not in the file. `suppress` sends them no marketing from now on, and adds no contact. `upsert` if absent.
    """,
    "identity":
      """
    The column that says whom a row is about. E-mail addresses are compared without their case, numbers by their digits. \
    `originalId` if absent.
    """,
    "columns":
      """
    What columns are, by their headings: a contact field, `originalId`, `properties.` with a name, `deviceToken`, `appId`, \
    `appType`, `platform` or `sandboxToken`; null for a column that is passed over. Columns whose headings are such names \
    need not be named; case, blanks and hyphens of headings do not matter.
    """,
    "others":
      "What becomes of other columns: `refuse` fails the import, `properties` makes properties of them, `skip` passes them over. `refuse` if absent.",
    "delimiter": FieldDescription(
      "What stands between cells, one character of ASCII. Found by the first rows if absent.", limits: 1...1),
    "encoding": "What the file is encoded in. Guessed if absent.",
    "dateFormat": FieldDescription(
      """
      How dates are written: DD, MM, and YYYY or YY with what stands between them, such as `DD.MM.YYYY`. Without it, dates are read \
      that can be read in one way only. Dates of ISO 8601 are always read.
      """, limits: 2...20),
    "decimalComma":
      "Whether cells of properties such as `3,14` are numbers. Without it, all properties are texts. False if absent.",
    "emptyClears": "Whether an empty cell clears what is known. False if absent.",
    "allowEmpty": "Whether a file of headings alone may empty the list by `replace`. False if absent.",
    "appId": "The app of tokens in rows that name none.",
    "appType": "The platform of tokens in rows that name none: \(AppType.listOfApps).",
    "sandbox": "Whether tokens are of APNs' development environment, where rows do not say. False if absent.",
    "dryRun": "Whether nothing is merged: all is checked and counted. False if absent.",
    "review":
      "Whether it waits when its file has come, to be started with its columns. A dry run of it leads back there. False if absent.",
    "headings": "The headings of the file, in their order.",
    "arrived": .count("Rows of the file that have come so far."),
    "rows": .count("Rows that are done with: the sum of the next six."),
    "added": .count("Rows that became contacts."),
    "updated": .count("Rows that changed a contact, its list or its segment."),
    "unchanged": .count("Rows that changed nothing."),
    "duplicates": .count("Rows of somebody whom a later row is about, too."),
    "skipped": .count("Rows that the mode passes over."),
    "rejected": .count("Rows that are wrong. `GET …/rejects` tells why."),
    "devices": .count("Tokens that are registered."),
    "removed": .count("Contacts that `replace` took off the list or out of the segment."),
    "percent": FieldDescription(
      "How much is done of what its state says. Absent while the file arrives, if its sender has not said how long it is.",
      limits: 0...100),
    "sample": "The cells of the first rows, as they are read.",
    "error": "Why it failed, or was cancelled by an erasure.",
    "createdAt": "When the import was made. What somebody registered since then is newer than the file.",
    "startedAt": "When work on its rows began. With `rows`, it tells how many become contacts in a second.",
    "endedAt": "When it ended.",
  ]
}
