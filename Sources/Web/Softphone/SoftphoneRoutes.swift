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
public struct SoftphoneSettings: Sendable {
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
public struct SoftphoneRoutes: RouteSet {
  let authenticator: Authenticator
  let pushApps: PushAppCache
  let messages: MessageService
  let reports: TokenReports
  let settings: SoftphoneSettings
  /// How long a verdict is waited for.
  let verdictTimeout: Duration

  /// Most pushes in one request.
  static let maximumCount = 1000
  /// The body's limit in bytes.
  static let bodyLimit = 4 * 1024 * 1024

  public init(
    authenticator: Authenticator, pushApps: PushAppCache, messages: MessageService, reports: TokenReports,
    settings: SoftphoneSettings = SoftphoneSettings(), verdictTimeout: Duration = .seconds(30)
  ) {
    self.authenticator = authenticator
    self.pushApps = pushApps
    self.messages = messages
    self.reports = reports
    self.settings = settings
    self.verdictTimeout = verdictTimeout
  }

  public func addRoutes(to routes: RouteTable) {
    for base in ["/k/{accessKey}/pnm2", "/pnm2"] {
      routes.fast(.post, "\(base)/send", bound: .ownApp, use: send)
      routes.add(.post, RouterPath("\(base)/multisend"), bound: .ownApp, use: multisend)
      routes.fast(.post, base, bound: .ownApp, use: sendForm)
      for path in ["\(base)/send", "\(base)/multisend", base] { routes.refuseOtherMethods(at: path) }
    }
    // To these clients a 404 means that a token is dead.
    for base: RouterPath in ["/k", "/pnm2"] { routes.refuseUnknownPaths(below: base) }
    // What softphones themselves report.
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
    let token = try context.part("accessKey")
    var checked = FastRequest(request, context)
    let access = try await checked.complete { try authenticator.access(with: token, &$0, needs: .device) }
    try await action(access, try await request.reported(), request.headers[.identity])
    return Response(status: .noContent)
  }

  private func send(_ request: inout FastRequest, _ answer: @escaping FastCompletion) throws {
    let sender = try sender(&request)
    guard
      case .object(let attributes) = try JSONValue(
        json: Array(try jsonBody(&request).readableBytesView), rules: .cutTexts)
    else {
      throw HTTPErrorResponse.badRequest("The body must be a JSON object.")
    }
    send(try message(attributes, sender, request), sender) { verdict in
      answer { JSONReply.make(json: try verdict.get().json(inList: false)) }
    }
  }

  /// Takes a list, each push of it by itself, or one push as a list of one. All are accepted together.
  private func multisend(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    var request = FastRequest(request, context, parameters: context.parameters["accessKey"].map { [$0] } ?? [])
    let sender = try await request.complete { try self.sender(&$0) }
    // Neither is kept while verdicts are waited for.
    var body: ByteBuffer? = try await request.complete { try jsonBody(&$0) }
    request.found.body = nil
    var list: SoftphoneList?
    if let short = body, short.readableBytes <= Self.shortBody {
      list = try await self.list(short, sender, context.logger, request)
    }
    var (verdicts, places): ([SoftphoneVerdict], [Int]) = ([], [])
    let results = try await messages.send(
      sender.customer, within: verdictTimeout, needsPermit: list.map { $0.accepted.count > Self.fewPushes } ?? true
    ) {
      let read =
        if let list { list } else { try await self.list(body ?? ByteBuffer(), sender, context.logger, request) }
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
    return JSONReply.make(json: [UInt8(ascii: "[")] + json + [UInt8(ascii: "]")])
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
    _ body: ByteBuffer, _ sender: Sender, _ logger: Logger, _ request: FastRequest
  ) async throws -> SoftphoneList {
    var request = request
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
        // Each push has an app of its own.
        request.found.apps = nil
        switch try await request.complete({ try message(attributes, sender, $0) }) {
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
  private func sendForm(_ request: inout FastRequest, _ answer: @escaping FastCompletion) throws {
    let sender = try sender(&request)
    guard FormFields.isType(request.header(.contentType)) else {
      throw HTTPErrorResponse.badRequest("The body must be sent as Content-Type: \(FormFields.type).")
    }
    let form = try FormFields(try request.bytes().readableBytesView)
    for name in ["verb", "AppId", "DeviceToken"] where form[name]?.isEmpty != false {
      throw HTTPErrorResponse.badRequest("\(name) is missing.")
    }
    send(try message(form.attributes, isForm: true, sender, request), sender) { verdict in
      answer { .text(try verdict.get().word) }
    }
  }

  private func jsonBody(_ request: inout FastRequest) throws -> ByteBuffer {
    guard let type = request.header(.contentType), JSONBody.isType(type) else {
      throw HTTPErrorResponse.badRequest(HTTPErrorResponse.notJSON.sentence)
    }
    return try request.bytes(upTo: Self.bodyLimit)
  }
}

// MARK: - Who sends

extension SoftphoneRoutes {
  struct Sender: Sendable {
    let customer: CustomerID
    /// The only app that it may send to; `nil` for all.
    let appID: String?
  }

  private func sender(_ request: inout FastRequest) throws -> Sender {
    let token = request.parameters.first.map(String.init) ?? authenticator.token(inHeadersOf: request)
    if let token {
      let access = try authenticator.access(with: token, &request, needs: .send)
      return Sender(customer: access.customer, appID: access.appID)
    }
    guard let customer = settings.customer, settings.networks.contains(request.address) else {
      throw HTTPErrorResponse.unauthorized
    }
    return Sender(customer: customer, appID: nil)
  }
}

// MARK: - Sending

extension SoftphoneRoutes {
  /// Sends one push, without a task if nothing has to be looked up.
  /// - Parameter answer: gets the verdict, or what keeps the hub itself from sending, such as a database that is away.
  private func send(
    _ message: Result<DeviceMessage, SoftphoneRefusal>, _ sender: Sender,
    _ answer: @escaping @Sendable (Result<SoftphoneVerdict, any Error>) -> Void
  ) {
    switch message {
    case .failure(let refusal): answer(.success(.failed(400, refusal.sentence)))
    case .success(let message):
      messages.send(sender.customer, message, within: verdictTimeout) { result in
        answer(Result { try Self.verdict(of: result) })
      }
    }
  }

  /// The verdict on an item of a list that the hub failed at.
  private static func failed(_ error: any Error, _ logger: Logger) -> SoftphoneVerdict {
    let reply = ErrorReplies.response(for: error)
    if reply == nil {
      logger.error("could not send a push of a list, its sender gets an error for it", metadata: ["error": "\(error)"])
    }
    return .failed(500, reply?.sentence ?? "The hub failed to send the push. Try again in a moment.")
  }

  /// - Throws: `MustWait`; what keeps the hub itself from sending.
  private func message(
    _ attributes: [UTF8String: JSONValue], isForm: Bool = false, _ sender: Sender, _ request: FastRequest
  ) throws -> Result<DeviceMessage, SoftphoneRefusal> {
    do {
      let push = try SoftphonePush(attributes, isForm: isForm)
      let apps =
        [nil, push.appID].contains(sender.appID)
        ? try request.apps(of: sender.customer, appID: push.appID, in: pushApps) : []
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
