import DataInOut
import Embedded
import HTTPTypes
import Hummingbird
import NIOCore
import Operations
import Registry
import Wire

/// The console under `/console`: pages for people, over the operations that API and command line have.
public struct ConsoleRoutes: RouteSet {
  let parts: ConsoleParts
  let users: ConsoleUsers

  /// - Parameters:
  ///   - management: whose operations, messages and caches it uses.
  ///   - consoleURL: where people reach the console and scripts the management API, without a slash at its end.
  ///   - publicURL: where apps and their back ends reach the hub, without a slash at its end.
  ///   - commands: the words of the command that calls an operation, by the operation's id.
  package init(
    management: ManagementRoutes, users: ConsoleUsers, consoleURL: String, publicURL: String,
    commands: [String: String]
  ) {
    parts = management.consoleParts(consoleURL: consoleURL, publicURL: publicURL, commands: commands)
    self.users = users
  }

  public func addRoutes(to routes: RouteTable) {
    ConsoleAssets.shared.addRoutes(to: routes)
    routes.allowTrailingSlash("/console/")
    addSignIn(to: routes)
    addAccount(to: routes)
    for page in ConsolePages.all { get(page.path, routes) { try await show(page, $0) } }
    for action in ConsolePages.actions {
      post(action.path, routes) { try await perform(action, $0) }
      if let confirmation = action.confirms {
        get(action.path, routes) { try await confirm(action, confirmation, $0) }
      }
    }
    if !ConsolePages.all.contains(where: { RouterPath($0.path) == "/console" }) {
      get("/console", routes) { visit in
        let call = try await call(visit, for: "/console")
        guard let first = navigation(call, nil).first?["href"] as? String else { throw Self.nothing }
        return ConsoleReply.see(first)
      }
    }
    routes.showErrors(below: "/console") { request, context, error in
      let visit = ConsoleVisit(request, context, consoleURL: parts.consoleURL)
      return page(for: error.status == .notFound ? Self.nothing : error, visit, nil)
    }
  }

  static let nothing = HTTPErrorResponse.notFound("There is no page at this address.")

  func get(
    _ path: String, _ routes: RouteTable, _ answer: @escaping @Sendable (ConsoleVisit) async throws -> Response
  ) {
    add(.get, path, routes, answer)
  }

  func post(
    _ path: String, _ routes: RouteTable, _ answer: @escaping @Sendable (ConsoleVisit) async throws -> Response
  ) {
    add(.post, path, routes, answer)
  }

  private func add(
    _ method: HTTPRequest.Method, _ path: String, _ routes: RouteTable,
    _ answer: @escaping @Sendable (ConsoleVisit) async throws -> Response
  ) {
    routes.add(method, RouterPath(path), bound: .noKey) { request, context in
      let visit = ConsoleVisit(request, context, consoleURL: parts.consoleURL)
      do {
        return try await answer(visit)
      } catch let elsewhere as Elsewhere {
        return ConsoleReply.see(elsewhere.path)
      } catch {
        return try problem(error, visit, nil)
      }
    }
  }

  /// The request has to be made after another page: sign-in, its code, the choice of a customer.
  struct Elsewhere: Error {
    let path: String

    init(to path: String) { self.path = path }

    /// - Parameter visit: comes back afterwards.
    init(_ path: String, then visit: ConsoleVisit) {
      let isPage = visit.request.method == .get || visit.request.method == .head
      self.path = isPage ? "\(path)?next=\(PercentEncoding.encode(visit.location))" : path
    }
  }

  // MARK: Pages

  private func show(_ page: ConsolePage, _ visit: ConsoleVisit) async throws -> Response {
    let call = try await call(visit, for: page.path, knowing: page.query)
    do {
      try Self.require(page, call)
      return reply(try await page.show(call), page, call, visit)
    } catch {
      return try problem(error, visit, call)
    }
  }

  /// A page's view as a reply: whole, or its live part.
  private func reply(
    _ view: ConsoleView, _ page: ConsolePage?, _ call: ConsoleCall, _ visit: ConsoleVisit,
    _ status: HTTPResponse.Status = .ok
  ) -> Response {
    if let download = view.download {
      return Response(
        status: .ok,
        headers: [
          .contentType: download.type, .contentDisposition: "attachment; filename=\"\(download.name)\"",
          .cacheControl: "no-store", .xContentTypeOptions: "nosniff",
        ], body: ResponseBody(byteBuffer: ByteBuffer(bytes: download.bytes)))
    }
    if let document = view.document {
      return ConsoleReply.html(document, status, policy: ConsoleReply.framedPolicy)
    }
    let html = render(view, section: page?.section, call, visit)
    if visit.part == "live" { return ConsoleReply.part(HTMLTemplates.livePart(of: html), to: visit.request) }
    return ConsoleReply.html(
      html, status, setting: visit[.notice] == nil ? [] : [visit.setting(.notice, "")])
  }

  private static func require(_ page: ConsolePage, _ call: ConsoleCall) throws {
    for operation in page.reads { try call.require(operation) }
  }

  // MARK: Actions

  private func perform(_ action: ConsoleAction, _ visit: ConsoleVisit) async throws -> Response {
    if let receive = action.receive, let type = visit.request.headers[.contentType], MultipartParser.isType(type) {
      return try await self.receive(action, receive, visit)
    }
    // Three bytes of a form can stand for one, and a form can have what it showed beside what was typed.
    let form = try await visit.form(upTo: min(max(Limits.body, action.operation.description.bodyLimit) * 6, 4 << 20))
    let call: ConsoleCall
    do {
      call = try await self.call(visit, for: action.path, knowing: ["part"], form: form)
    } catch is Elsewhere {
      return sendAgain(action, form, nil, visit)
    }
    guard visit.has(call.user.csrfToken, in: form) else { return sendAgain(action, form, call, visit) }
    do {
      try call.require(action.operation)
      if let missing = form.text(Self.left) {
        throw HTTPErrorResponse.badRequest(
          "\(missing) has to be given again: it was not kept while nobody was signed in.")
      }
      return answer(try await action.perform(call), action, call, visit)
    } catch {
      return try await refuse(action, call, visit, error)
    }
  }

  private func answer(
    _ done: ConsoleDone, _ action: ConsoleAction, _ call: ConsoleCall, _ visit: ConsoleVisit
  ) -> Response {
    switch done {
    case .see(let path, let notice):
      ConsoleReply.see(path, setting: notice.map { [visit.setting(.notice, $0, for: 60)] } ?? [])
    case .export(let pages, let subject): pages.reply(of: subject)
    case .show(let view): reply(view, ConsolePages.all.first { $0.path == action.form }, call, visit)
    }
  }

  /// As `perform`, of a form with a file that may be larger than memory. Nothing of the file is read before session, role and token are right.
  private func receive(
    _ action: ConsoleAction, _ receive: ConsoleAction.Receive, _ visit: ConsoleVisit
  ) async throws -> Response {
    var call = try await self.call(visit, for: action.path, knowing: ["part"])
    do {
      try call.require(action.operation)
      var parts = try await visit.upload(upTo: Self.largestUpload, token: call.user.csrfToken)
      let (fields, file) = try await parts.fields(upTo: 64 * 1024)
      call.form = FormValues(fields)
      guard let file, file.fileName != "" else { return answer(try await action.perform(call), action, call, visit) }
      let upload = UploadedFile(file, parts, length: FileChunks.length(of: visit.request))
      return answer(try await receive(call, upload), action, call, visit)
    } catch {
      return try await refuse(action, call, visit, error)
    }
  }

  /// Bytes of a form with the largest file that an import takes.
  private static let largestUpload = (4 << 30) + (1 << 20)

  /// The field that tells which secret was left out.
  private static let left = "left"

  /// Of a form that is older than the session: nothing was done, and all that was typed can be sent again. Secrets are left out; the form asks
  /// for them once more.
  private func sendAgain(
    _ action: ConsoleAction, _ form: FormValues, _ call: ConsoleCall?, _ visit: ConsoleVisit
  ) -> Response {
    let secrets = action.fields.filter(\.isSecret).map(\.name)
    let missing = secrets.filter { form.text($0) != nil }.prefix(1)
    let fields =
      form.names.filter { !(secrets + ["csrf", Self.left]).contains($0) }.flatMap { name in
        form.all(name).map { ["name": name, "value": $0] }
      } + missing.map { ["name": Self.left, "value": $0] }
    let view = ConsoleView(
      title: call == nil ? "Your session has ended" : "Send it again?", template: "again",
      values: [
        "action": visit.request.uri.path, "fields": fields, "hasSession": call != nil, "isWhole": missing.isEmpty,
      ])
    return ConsoleReply.html(render(view, section: nil, call, visit), call == nil ? .unauthorized : .forbidden)
  }

  /// Shows the form again, with what was typed and what is wrong with it.
  private func refuse(
    _ action: ConsoleAction, _ call: ConsoleCall, _ visit: ConsoleVisit, _ error: any Error
  ) async throws -> Response {
    guard let refusal = ErrorReplies.response(for: error) else { throw error }
    guard [400, 404, 409, 413, 422, 429, 503].contains(refusal.status.code) || refusal == .personalFilterRefused,
      let page = ConsolePages.all.first(where: { $0.path == action.form })
    else { return try problem(error, visit, call) }
    var call = call
    (call.refusal, call.refused) = (refusal, action.path)
    do {
      try Self.require(page, call)
      var reply = reply(try await page.show(call), page, call, visit, refusal.status)
      reply.headers[.retryAfter] = refusal.headers[.retryAfter]
      return reply
    } catch let second {
      return try problem(second, visit, call)
    }
  }

  private func confirm(
    _ action: ConsoleAction, _ confirmation: Confirmation, _ visit: ConsoleVisit
  ) async throws -> Response {
    let sent = try FormFields.pairs(of: "query", (visit.request.uri.query ?? "").utf8).filter { $0.name != "part" }
      .map { ($0.name, $0.value) }
    let call = try await call(
      visit, for: action.path, knowing: action.fields.map(\.name) + ["part"], form: FormValues(sent))
    do {
      try call.require(action.operation)
      let page = ConsolePages.all.first { $0.path == action.form }
      let back = page.map { filled($0.path, call.path) } ?? "/console"
      let view = ConsoleView(
        title: confirmation.title, template: "confirm",
        values: [
          "text": try await confirmation.text(call), "button": confirmation.button, "back": back,
          "isDestructive": confirmation.isDestructive, "action": visit.request.uri.path,
          "fields": sent.map { ["name": $0.0, "value": $0.1] },
        ])
      return reply(view, page, call, visit)
    } catch {
      return try problem(error, visit, call)
    }
  }

  /// A page's path with these parts.
  private func filled(_ path: String, _ parts: [String: String]) -> String {
    parts.reduce(path) { $0.replacing("{\($1.key)}", with: PercentEncoding.encode($1.value)) }
  }

  // MARK: Calls

  /// Who is signed in, with their code and for a customer.
  /// - Throws: `Elsewhere`.
  func signedIn(_ visit: ConsoleVisit) async throws -> SignedIn {
    guard let user = try await session(visit) else { throw Elsewhere("/console/sign-in", then: visit) }
    if user.needsCode { throw Elsewhere("/console/sign-in/code", then: visit) }
    return user
  }

  /// - Parameters:
  ///   - pattern: of the path.
  ///   - names: of query parameters.
  func call(
    _ visit: ConsoleVisit, for pattern: String, knowing names: [String] = [], form: FormValues = FormValues()
  ) async throws -> ConsoleCall {
    let user = try await signedIn(visit)
    guard let customer = user.customer, let role = user.role else { throw Elsewhere("/console/customer", then: visit) }
    let settings = try await CustomerOperations.show.run(
      OperationCall(reading: parts.operations, of: customer), (), ())
    let path = try pattern.split(separator: "/").filter { $0.hasPrefix("{") }.map { part in
      let name = String(part.dropFirst().dropLast())
      return (name, try visit.context.part(name))
    }
    return ConsoleCall(
      user: user, customer: customer, role: role, settings: settings, zone: ConsoleZone(settings.timeZone),
      path: Dictionary(uniqueKeysWithValues: path),
      query: try QueryParameters(visit.request, known: names + ["part"]), form: form, address: visit.address,
      parts: parts)
  }
}

extension ManagementRoutes {
  /// What the console works with.
  func consoleParts(consoleURL: String, publicURL: String, commands: [String: String]) -> ConsoleParts {
    ConsoleParts(
      operations: operations.parts, replies: operations.endpoint.replies, messages: messages.messages,
      upload: imports.upload, exports: exports.exports, consoleURL: consoleURL, publicURL: publicURL,
      commands: commands, forget: operations.forget)
  }
}

extension HTTPErrorResponse {
  /// Of a user who may not call an operation.
  static func refused(_ operation: AnyOperation, to role: Role) -> HTTPErrorResponse {
    guard !operation.roles.contains(role) else { return personalRefused }
    let names = Role.allCases.filter(operation.roles.contains).map(\.rawValue)
    return HTTPErrorResponse(
      .forbidden, "This needs the role \(names.joined(separator: " or ")), and yours is \(role.rawValue). Ask an owner."
    )
  }
}
