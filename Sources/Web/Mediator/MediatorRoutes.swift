import Content
import FoundationEssentials
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Operations
public import Registry
public import Sendouts
public import Wire

/// Who may use the gateway without a key.
public struct MediatorSettings: Sendable {
  /// The customer that plain `/pnm2` sends for; `nil` for none.
  public var customer: CustomerID?
  /// Where clients without a key may be.
  public var networks = IPNetworks()

  public init() {}
}

/// Cloud Softphone's gateway for pushes ("Push Notifications over HTTP"): PBXs send to softphones by it, and get the push service's
/// verdict.
///
/// The protocol has no credentials, so an access key can be part of the address: `/k/{accessKey}/pnm2/send`. No path is logged.
public struct MediatorRoutes: RouteSet {
  let authenticator: Authenticator
  let pushApps: PushAppCache
  let messages: MessageService
  let reports: TokenReports
  let settings: MediatorSettings
  /// How long a verdict is waited for.
  let patience: Duration

  /// Most pushes in one request.
  static let maximumCount = 1000
  /// The body's limit in bytes.
  static let bodyLimit = 4 * 1024 * 1024

  public init(
    authenticator: Authenticator, pushApps: PushAppCache, messages: MessageService, reports: TokenReports,
    settings: MediatorSettings = MediatorSettings(), patience: Duration = .seconds(30)
  ) {
    self.authenticator = authenticator
    self.pushApps = pushApps
    self.messages = messages
    self.reports = reports
    self.settings = settings
    self.patience = patience
  }

  public func addRoutes(to routes: RouteTable) {
    for base in ["/k/{accessKey}/pnm2", "/pnm2"] {
      routes.add(.post, RouterPath("\(base)/send"), bound: .ownApp, use: send)
      routes.add(.post, RouterPath("\(base)/multisend"), bound: .ownApp, use: multisend)
      routes.add(.post, RouterPath(base), bound: .ownApp, use: sendForm)
      for path in ["\(base)/send", "\(base)/multisend", base] { routes.refuseOtherMethods(at: path) }
    }
    routes.fastPath(.post, "/k/{accessKey}/pnm2/send", answer: sendFromCaches)
    // To these clients a 404 means that a token is dead.
    for base: RouterPath in ["/k", "/pnm2"] { routes.refuseUnknownPaths(below: base) }
    // What softphones themselves tell.
    routes.add(.post, "/k/{accessKey}/tokens/report", bound: .ownApp, use: report)
    routes.add(.get, "/k/{accessKey}/tokens/report", bound: .ownApp, use: report)
    routes.add(.post, "/k/{accessKey}/tokens/removal", bound: .ownApp, use: remove)
    routes.add(.get, "/k/{accessKey}/tokens/removal", bound: .ownApp, use: remove)
  }

  private func report(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    try await answer(request, context, by: reports.register)
  }

  private func remove(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    try await answer(request, context, by: reports.retire)
  }

  private func answer(
    _ request: Request, _ context: WebRequestContext,
    by action: (Access, ReportedFields, _ identity: String?) async throws -> Void
  ) async throws -> Response {
    let access = try await authenticator.access(with: try context.part("accessKey"), context, needs: .device)
    try await action(access, try await request.reported(), request.headers[.identity])
    return Response(status: .noContent)
  }

  private func send(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let sender = try await sender(request, context)
    guard
      case .object(let attributes) = try JSONValue(
        json: Array(try await jsonBody(request).readableBytesView), rules: .cutTexts)
    else {
      throw HTTPErrorResponse.badRequest("The body must be a JSON object.")
    }
    return try await reply(to: attributes, sender)
  }

  private func reply(to attributes: [UTF8String: JSONValue], _ sender: Sender) async throws -> Response {
    Self.reply(try await verdict(on: attributes, sender))
  }

  private static func reply(_ verdict: SoftphoneVerdict) -> Response {
    JSONReply.make(bytes: ByteBuffer(bytes: verdict.json(inList: false)))
  }

  /// As `send`, for a short request whose key in the path is cached. It is read on the event loop.
  private func sendFromCaches(_ request: FastRequest, _ answer: @escaping FastCompletion) -> Bool {
    guard let type = request.header(.contentType), JSONBody.isType(type),
      let access = authenticator.cachedAccess(String(request.parameters[0]), needs: .send),
      case .object(let attributes)? = try? JSONValue(json: Array(request.body.readableBytesView), rules: .cutTexts)
    else { return false }
    do {
      try authenticator.count(request, access)
    } catch {
      answer { throw error }
      return true
    }
    let sender = Sender(customer: access.customer, appID: access.appID)
    if (try? sendFromCaches(attributes, sender, answer)) != true {
      completeLater(answer) { try await reply(to: attributes, sender) }
    }
    return true
  }

  /// - Returns: `false` if the caches do not know the app.
  /// - Throws: if the push is refused.
  private func sendFromCaches(
    _ attributes: [UTF8String: JSONValue], _ sender: Sender, _ answer: @escaping FastCompletion
  ) throws -> Bool {
    let push = try SoftphonePush(attributes, isForm: false)
    guard [nil, push.appID].contains(sender.appID),
      let app = pushApps.cached(sender.customer, appID: push.appID).flatMap(push.app)
    else { return false }
    return try messages.send(sender.customer, try push.message(to: app), within: patience) { result in
      answer { Self.reply(try Self.verdict(of: result)) }
    }
  }

  /// Takes a list, each push of it by itself, or one push as a list of one. All are accepted together.
  private func multisend(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let sender = try await sender(request, context)
    // Neither is kept while verdicts are waited for.
    var body: ByteBuffer? = try await jsonBody(request)
    var list: SoftphoneList?
    if let short = body, short.readableBytes <= Self.shortBody {
      list = try await self.list(short, sender, context.logger)
    }
    var (verdicts, places): ([SoftphoneVerdict], [Int]) = ([], [])
    let results = try await messages.send(
      sender.customer, within: patience, needsPermit: list.map { $0.accepted.count > Self.fewPushes } ?? true
    ) {
      let read = if let list { list } else { try await self.list(body ?? ByteBuffer(), sender, context.logger) }
      (body, list) = (nil, nil)
      (verdicts, places) = (read.verdicts, read.accepted.map(\.place))
      return read.accepted.map(\.message)
    }
    for (place, result) in zip(places, results) {
      do { verdicts[place] = try Self.verdict(of: result) } catch {
        verdicts[place] = Self.failed(error, context.logger)
      }
    }
    let json = verdicts.map { $0.json(inList: true) }.joined(separator: [UInt8(ascii: ",")])
    return JSONReply.make(bytes: ByteBuffer(bytes: [UInt8(ascii: "[")] + json + [UInt8(ascii: "]")]))
  }

  /// A verdict for each item, and the messages of those that can be sent.
  private typealias SoftphoneList = (
    verdicts: [SoftphoneVerdict], accepted: [(place: Int, message: DeviceMessage)]
  )

  /// Most bytes of a list that is read at once.
  private static let shortBody = 8192
  /// Most pushes of a list that waits for no other list, such as a call for each phone of a user.
  private static let fewPushes = 8

  /// Reads a list.
  private func list(
    _ body: ByteBuffer, _ sender: Sender, _ logger: Logger
  ) async throws -> SoftphoneList {
    let items = try body.withUnsafeReadableBytes { bytes in
      try JSONReader.read(bytes, rules: .cutTexts) { reader throws(JSONProblem) in
        var items: [Result<JSONValue, JSONProblem>] = []
        switch try reader.kind() {
        case .array: try reader.array { reader, _ throws(JSONProblem) in items.append(try reader.item()) }
        case .object: items.append(try reader.item())
        default: throw JSONProblem("must be a JSON list or object")
        }
        return items
      }
    }
    guard items.count <= Self.maximumCount else {
      throw HTTPErrorResponse.badRequest(
        "The list holds \(items.count) pushes, and at most \(Self.maximumCount) are allowed.")
    }
    var verdicts = [SoftphoneVerdict](repeating: .noObject, count: items.count)
    var accepted: [(place: Int, message: DeviceMessage)] = []
    for (place, item) in items.enumerated() {
      let attributes: [UTF8String: JSONValue]
      switch item {
      case .success(.object(let members)): attributes = members
      case .success: continue
      case .failure(let problem):
        verdicts[place] = .failed(400, problem.sentence + ".")
        continue
      }
      do {
        switch try await message(attributes, sender) {
        case .failure(let refusal): verdicts[place] = .failed(400, refusal.sentence)
        case .success(let message): accepted.append((place, message))
        }
      } catch {
        verdicts[place] = Self.failed(error, logger)
      }
    }
    return (verdicts, accepted)
  }

  /// The old service.
  private func sendForm(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let sender = try await sender(request, context)
    guard FormFields.isType(request.headers[.contentType]) else {
      throw HTTPErrorResponse.badRequest("The body must be sent as Content-Type: \(FormFields.type).")
    }
    let form = try FormFields(try await request.bytes().readableBytesView)
    for name in ["verb", "AppId", "DeviceToken"] where form[name]?.isEmpty != false {
      throw HTTPErrorResponse.badRequest("\(name) is missing.")
    }
    let verdict = try await verdict(on: form.attributes, isForm: true, sender)
    return Response(
      status: .ok, headers: [.contentType: "text/plain; charset=utf-8", .cacheControl: "no-store"],
      body: ResponseBody(byteBuffer: ByteBuffer(string: verdict.word)))
  }

  private func jsonBody(_ request: Request) async throws -> ByteBuffer {
    guard let type = request.headers[.contentType], JSONBody.isType(type) else {
      throw HTTPErrorResponse.badRequest(HTTPErrorResponse.notJSON.sentence)
    }
    return try await request.bytes(upTo: Self.bodyLimit)
  }
}

// MARK: - Who sends

extension MediatorRoutes {
  struct Sender: Sendable {
    let customer: CustomerID
    /// The only app that it may send to; `nil` for all.
    let appID: String?
  }

  private func sender(_ request: Request, _ context: WebRequestContext) async throws -> Sender {
    let token = context.parameters["accessKey"].map(String.init) ?? authenticator.token(inHeadersOf: request)
    if let token {
      let access = try await authenticator.access(with: token, context, needs: .send)
      return Sender(customer: access.customer, appID: access.appID)
    }
    guard let customer = settings.customer, settings.networks.contains(context.clientAddress) else {
      throw HTTPErrorResponse.unauthorized
    }
    return Sender(customer: customer, appID: nil)
  }
}

// MARK: - Sending

extension MediatorRoutes {
  /// - Throws: what keeps the hub itself from sending, such as a database that is away.
  private func verdict(
    on attributes: [UTF8String: JSONValue], isForm: Bool = false, _ sender: Sender
  ) async throws -> SoftphoneVerdict {
    switch try await message(attributes, isForm: isForm, sender) {
    case .failure(let refusal): .failed(400, refusal.sentence)
    case .success(let message):
      try Self.verdict(of: await messages.send(sender.customer, message, within: patience))
    }
  }

  /// The verdict on an item of a list that the hub failed at.
  private static func failed(_ error: any Error, _ logger: Logger) -> SoftphoneVerdict {
    let reply = ErrorReplies.response(for: error)
    if reply == nil { logger.error("a push of a list failed", metadata: ["error": "\(error)"]) }
    return .failed(500, reply?.sentence ?? "The hub failed to send the push. Try again in a moment.")
  }

  private func message(
    _ attributes: [UTF8String: JSONValue], isForm: Bool = false, _ sender: Sender
  ) async throws -> Result<DeviceMessage, SoftphoneRefusal> {
    do {
      let push = try SoftphonePush(attributes, isForm: isForm)
      var apps: [PushApp] = []
      if [nil, push.appID].contains(sender.appID) {
        apps = try await pushApps.apps(sender.customer, appID: push.appID)
      }
      guard let app = push.app(of: apps) else {
        return .failure(SoftphoneRefusal(sentence: "AppId is not known here: add it as a push app."))
      }
      return .success(try push.message(to: app))
    } catch let refusal as SoftphoneRefusal {
      return .failure(refusal)
    } catch RegistryError.invalid(let field, let problem) {
      return .failure(SoftphoneRefusal(sentence: "\(field) \(problem)."))
    }
  }

  /// - Throws: what keeps the hub itself from sending.
  private static func verdict(of result: Result<DeviceVerdict, any Error>) throws -> SoftphoneVerdict {
    do {
      return SoftphoneVerdict(try result.get())
    } catch ContentError.invalid(let field, let problem) {
      return .failed(400, "\(field.replacing("message.fields.", with: "")) \(problem).")
    } catch RegistryError.invalid(let field, let problem) {
      return .failed(400, "\(field) \(problem).")
    } catch let error as SendoutError {
      return .failed(500, ErrorReplies.response(for: error)?.sentence ?? "Nothing can be sent to this app now.")
    }
  }
}
