/// Body of `POST …/lists/{listId}/imports` in Carma's form (protocol notes, section 12). Unknown fields are ignored.
public struct CarmaImportBody: Sendable, Equatable {
  /// What stands between cells; `nil` to find it.
  public var delimiter: String?
  /// `nil` to guess it.
  public var encoding: ImportEncoding?
  /// Whether those leave the list who are not in the file.
  public var replaces = false
  /// The heading of the column that says whom a row is about.
  public var identityColumn: String?

  public init() {}

  /// - Throws: `JSONProblem` with the path of the field that is wrong.
  public init(json bytes: UnsafeRawBufferPointer) throws(JSONProblem) {
    self = try JSONReader.read(bytes) { reader throws(JSONProblem) in
      var body = CarmaImportBody()
      try reader.object { reader, key throws(JSONProblem) in try body.read(key, &reader) }
      return body
    }
  }

  private mutating func read(_ key: JSONKey, _ reader: inout JSONReader) throws(JSONProblem) {
    switch key {
    case "delimiter": delimiter = try Self.delimiter(try reader.text())
    case "encoding": encoding = try Self.encoding(try reader.text())
    case "type": replaces = try Self.replaces(try reader.text())
    case "identityColumn": identityColumn = try reader.text()
    default: try reader.skip()
    }
  }

  /// Its character code, as a text.
  private static func delimiter(_ text: String?) throws(JSONProblem) -> String? {
    guard let text, !text.isEmpty else { return nil }
    guard let code = UInt8(text), code == 9 || (0x20..<0x7F).contains(code), code != 0x22 else {
      throw JSONProblem("must be the code of a character, such as 59 for a semicolon")
    }
    return String(decoding: [code], as: UTF8.self)
  }

  private static func encoding(_ text: String?) throws(JSONProblem) -> ImportEncoding? {
    let name = text?.lowercasedASCII.utf8.filter { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: "_") } ?? []
    switch String(decoding: name, as: UTF8.self) {
    case "", "utf16": return nil
    case "utf8": return .utf8
    case "utf16le": return .utf16le
    case "utf16be": return .utf16be
    case "iso88591", "iso885915", "latin1", "windows1252", "cp1252": return .windows1252
    default: throw JSONProblem("must be UTF8, UTF16 or ISO-8859-1")
    }
  }

  private static func replaces(_ text: String?) throws(JSONProblem) -> Bool {
    switch text?.lowercasedASCII {
    case nil, "", "add": return false
    case "replace": return true
    default: throw JSONProblem("must be ADD or REPLACE")
    }
  }
}

/// The reply to `POST …/lists/{listId}/imports` in Carma's form.
public struct CarmaImport: APIObject, Equatable {
  public var id: ImportID

  public init(id: ImportID) { self.id = id }

  public static let schemaName: String? = "CarmaImport"
  public static let schemaDescription = "An import in Carma's form."
  public static let example = CarmaImport(id: ImportID(1))
  public static let fieldTable: FieldTable = ["id": "The import's number, for the request with the file."]
}

/// The reply to a file in Carma's form.
public struct CarmaBatchNumber: APIObject, Equatable {
  public var batchId: ImportID

  public init(batchId: ImportID) { self.batchId = batchId }

  public static let schemaName: String? = "CarmaBatchNumber"
  public static let schemaDescription = "What to ask for, to see how far an import is."
  public static let example = CarmaBatchNumber(batchId: ImportID(1))
  public static let fieldTable: FieldTable = ["batchId": "The import's number."]
}

/// How far an import is, in Carma's form.
public struct CarmaBatch: APIObject, Equatable {
  public var id: ImportID
  public var status: String
  public var message: String?

  public init(_ reply: ImportReply) {
    id = reply.importId
    status =
      switch reply.state {
      case .waiting, .receiving, .review, .checking, .merging: "RUNNING"
      case .finished: "FINISHED"
      case .failed, .cancelled: "ERROR"
      }
    message = reply.error
  }

  public static let schemaName: String? = "CarmaBatch"
  public static let schemaDescription = "How far an import is, in Carma's form."
  public static let example = CarmaBatch(.example)
  public static let fieldTable: FieldTable = [
    "id": "The import's number.", "status": "`RUNNING`, `FINISHED` or `ERROR`.", "message": "Why it failed.",
  ]
}

extension CarmaSchemas {
  /// The body of `POST …/lists/{listId}/imports`.
  public static var listImport: Schema {
    // Clients may send a number instead.
    let text = Schema(.either([.string(), Schema(.number)])).orNull
    return .openObject([
      Schema.Field(
        "delimiter", text, isRequired: false,
        "The code of the character between cells. Found by the first rows if absent."),
      Schema.Field(
        "encoding", .string().orNull, isRequired: false,
        "`UTF8`, `UTF16` or `ISO-8859-1`. Guessed if absent."),
      Schema.Field(
        "type", .string().orNull, isRequired: false,
        "`ADD`, or `REPLACE`: those leave the list who are not in the file. `ADD` if absent."),
      Schema.Field(
        "identityColumn", text, isRequired: false,
        "The heading of the column that says whom a row is about. `originalId` if absent."),
    ])
  }
}
