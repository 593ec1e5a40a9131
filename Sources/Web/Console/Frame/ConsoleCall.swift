import DataInOut
import HTTPTypes
import Locking
import Operations
import Registry
import Sendouts
import Wire

/// One request of a signed-in user.
struct ConsoleCall: Sendable {
  var user: SignedIn
  let customer: CustomerID
  let role: Role
  /// The customer's name, time zone, threshold and so on.
  let settings: CustomerReply
  /// Formats moments in the customer's time zone.
  let zone: ConsoleZone
  /// The parts of the path by their names.
  let path: [String: String]
  let query: QueryParameters
  /// Of a POST, and of a GET that asks for its confirmation.
  var form: FormValues
  /// Why the form was refused that the page shows again; `nil` if it was not.
  var refusal: HTTPErrorResponse?
  /// Path of the action that was refused, as in its `path`.
  var refused: String?
  /// Where the request came from.
  let address: String
  let parts: ConsoleParts
  let notes = ConsoleNotes()

  /// Previews and sends single messages.
  var messages: MessageService { parts.messages }

  /// Calls an operation that changes nothing, and notes its request and its command for the page.
  /// - Parameters:
  ///   - command: the command line, where its options have other names than the request's parameters.
  ///   - isNoted: false for what is read again and again for the rows of a list.
  func read<Target, Reply>(
    _ operation: Operation<Target, Void, Reply>, _ target: Target, command: String? = nil, isNoted: Bool = true
  ) async throws -> Reply {
    try require(operation)
    if isNoted {
      let link = parts.link(to: operation, target, of: customer)
      notes.add(ConsoleLink(api: link.api, command: command ?? link.command))
    }
    return try await operation.run(
      OperationCall(reading: parts.operations, of: customer, seesPersonal: user.seesPersonal), target, ())
  }

  /// Calls an operation in one transaction with its line in the audit log.
  func change<Target, Body, Reply>(
    _ operation: Operation<Target, Body, Reply>, _ target: Target, _ body: Body
  ) async throws -> Reply {
    try require(operation)
    guard operation.audit != nil else {
      return try await operation.run(
        OperationCall(reading: parts.operations, of: customer, seesPersonal: user.seesPersonal) {
          try await parts.replies.change(customer, by: author, $0)
        }, target, body)
    }
    let reply = try await parts.replies.change(customer, by: author, limit: operation.statementLimit) { change in
      try await operation.run(
        OperationCall(change, parts.operations, seesPersonal: user.seesPersonal), target, body)
    }
    if let cache = operation.outdates { await parts.forget(cache) }
    return reply
  }

  /// Sends a single message, and then notes that in the audit log: no transaction waits for push services.
  func send(_ request: MessageRequest) async throws -> MessageReply {
    let reply = try await change(MessageOperations.send, (), request)
    try await parts.replies.change(customer, by: author) { change in
      try await change.record(.other(.sendMessage), "message \(reply.messageId)", after: reply)
    }
    return reply
  }

  /// Receives the file of an import, and then notes in the audit log that it has come.
  func receive(_ file: UploadedFile, of id: ImportID) async throws -> ImportReply {
    try require(ImportOperations.add)
    let received = try await parts.upload.receive(customer, id, file, length: file.length)
    return try await parts.replies.change(customer, by: author) { change in
      let reply = try await Imports(change.transaction).finish(customer, received)
      try await change.record(.other(.receiveImport), "import \(id)", after: reply.audited)
      return reply
    }
  }

  /// Whether the user's role may call it: for buttons and links.
  func allows(_ operation: AnyOperation) -> Bool { operation.isOpen(to: role, seesPersonal: user.seesPersonal) }

  func allows<Target, Body, Reply>(_ operation: Operation<Target, Body, Reply>) -> Bool {
    allows(AnyOperation(operation))
  }

  /// The number in the path.
  /// - Throws: `HTTPErrorResponse` (404): nothing has what is no number.
  func number<ID: Identifier>(_ name: String = "id", _: ID.Type = ID.self) throws -> ID {
    guard let id = path[name].flatMap({ ID($0) }) else { throw HTTPErrorResponse.notFound("There is nothing here.") }
    return id
  }

  /// For the audit log.
  var author: ChangeAuthor { .user(user.user, address: address) }

  /// - Throws: `HTTPErrorResponse` (403) if the user may not call it.
  func require(_ operation: AnyOperation) throws {
    guard allows(operation) else { throw HTTPErrorResponse.refused(operation, to: role) }
  }

  private func require<Target, Body, Reply>(_ operation: Operation<Target, Body, Reply>) throws {
    try require(AnyOperation(operation))
  }
}

// MARK: - What pages have in common

extension ConsoleCall {
  /// A text of the query; `nil` if it is absent or empty, as an empty field of a search form is.
  func given(_ name: String) -> String? { query.value(name).flatMap { $0.isEmpty ? nil : $0 } }

  /// One of an enumeration in the query; `nil` if absent or empty.
  /// - Throws: `HTTPErrorResponse` (400), naming the parameter.
  func given<Choice: RawRepresentable<String> & CaseIterable>(_ name: String, _: Choice.Type) throws -> Choice? {
    given(name) == nil ? nil : try query.choice(name, Choice.self)
  }

  /// The page that begins behind this number.
  /// - Throws: `HTTPErrorResponse` (400), naming the parameter.
  func page<ID: Identifier>(_: ID.Type, limit: Int) throws -> PageRequest<ID> {
    PageRequest(after: try query.integer("after", in: 1...Int64.max).map { ID($0) }, limit: limit)
  }

  /// The first pages of parts that stand together, for `{{>_tabs}}`: those that the user may see.
  func tabs(_ parts: [[ConsolePage]], _ current: String) -> [[String: Any]] {
    parts.compactMap(\.first).filter { $0.isOpen(to: role, seesPersonal: user.seesPersonal) }.map { page in
      ["title": page.title, "href": page.path, "isCurrent": page.path == current]
    }
  }

  /// Why an act of the page was refused, for `{{>_errors}}`.
  var refusals: [[String: Any]] { refusal.map { [["id": "", "text": $0.sentence]] } ?? [] }

  /// A text as SQL has it, for the query behind a page.
  func sqlText(_ text: String) -> String { "'" + text.replacing(each: "'", with: "''") + "'" }
}

/// The requests and commands behind a page, while it is made.
final class ConsoleNotes: Sendable {
  private let links = Mutex<[ConsoleLink]>([])

  var all: [ConsoleLink] { links.withLock(\.self) }

  func add(_ link: ConsoleLink) {
    links.withLock { if !$0.contains(link) { $0.append(link) } }
  }
}

/// What the console works with, made once by a hub.
struct ConsoleParts: Sendable {
  let operations: OperationParts
  let replies: IdempotentReplies
  let messages: MessageService
  /// Receives files of imports.
  let upload: ImportUpload
  let exports: Exports
  /// Of console and management API, without a slash at its end.
  let consoleURL: String
  /// Of what apps and their back ends ask for, without a slash at its end.
  let publicURL: String
  /// The words of the command that calls an operation, by the operation's id: `key list` for `listKeys`.
  let commands: [String: String]
  /// Forgets what of the hub's memory does not hold any more.
  let forget: @Sendable (HubCache) async -> Void

  /// What calls the operation for this target, elsewhere.
  func link<Target, Body, Reply>(
    to operation: Operation<Target, Body, Reply>, _ target: Target, of customer: CustomerID
  ) -> ConsoleLink {
    let (path, query) = operation.written(target)
    let verb = operation.description.method.rawValue
    let url =
      consoleURL + path
      + (query.isEmpty ? "" : "?" + query.map { "\($0)=\(PercentEncoding.encode($1))" }.joined(separator: "&"))
    let method = verb == "GET" ? "" : "-X \(verb) "
    var command: String?
    if let words = commands[operation.description.id] {
      let arguments = operation.pathValues(target).map(quoted)
      let options = query.map { name, value in
        let option = "--" + name.separated(by: "-")
        return value == "true" ? option : "\(option) \(quoted(value))"
      }
      command = (["pushcart", words] + arguments + ["--customer \(customer)"] + options).joined(separator: " ")
    }
    return ConsoleLink(api: #"curl \#(method)-H "Authorization: Bearer $KEY" \#(quoted(url))"#, command: command)
  }

  /// The text as one word of a shell, whatever it holds.
  func quoted(_ text: String) -> String {
    let isPlain = text.utf8.allSatisfy { byte in
      (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
        || "-_./:@,+%=".utf8.contains(byte)
    }
    return isPlain && !text.isEmpty ? text : "'" + text.replacing(each: "'", with: #"'\''"#) + "'"
  }
}
