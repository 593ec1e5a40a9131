import Content
import FoundationEssentials
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
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
      routes.post(RouterPath("\(base)/send"), use: send)
      routes.post(RouterPath("\(base)/multisend"), use: multisend)
      routes.post(RouterPath(base), use: sendForm)
      for path in ["\(base)/send", "\(base)/multisend", base] { routes.refuseOtherMethods(at: path) }
    }
    // What softphones themselves tell.
    routes.post("/k/{accessKey}/tokens/report", use: report)
    routes.get("/k/{accessKey}/tokens/report", use: report)
    routes.post("/k/{accessKey}/tokens/removal", use: remove)
    routes.get("/k/{accessKey}/tokens/removal", use: remove)
  }

  private func report(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    try await answer(request, context, by: reports.register)
  }

  private func remove(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    try await answer(request, context, by: reports.retire)
  }

  private func answer(
    _ request: Request, _ context: WebRequestContext,
    by action: (Access, [String: JSONValue], _ identity: String?) async throws -> Void
  ) async throws -> Response {
    let access = try await authenticator.access(with: try context.part("accessKey"), context, needs: .device)
    try await action(access, try await request.reported(), request.headers[.identity])
    return Response(status: .noContent)
  }

  private func send(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let sender = try await sender(request, context)
    guard case .object(let attributes) = try await json(request) else {
      throw HTTPErrorResponse.badRequest("The body must be a JSON object.")
    }
    let verdict = try await verdict(on: attributes, sender)
    return JSONReply.make(bytes: ByteBuffer(bytes: verdict.json(inList: false)))
  }

  /// Takes a list, each push of it by itself, or one push as a list of one. All are accepted together.
  private func multisend(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let sender = try await sender(request, context)
    let items: [JSONValue]
    switch try await json(request) {
    case .array(let list): items = list
    case .object(let attributes): items = [.object(attributes)]
    default: throw HTTPErrorResponse.badRequest("The body must be a JSON list or object.")
    }
    guard items.count <= Self.maximumCount else {
      throw HTTPErrorResponse.badRequest(
        "The list holds \(items.count) pushes, and at most \(Self.maximumCount) are allowed.")
    }
    let verdicts = await withTaskGroup(of: (Int, SoftphoneVerdict).self) { group in
      for (index, item) in items.enumerated() {
        group.addTask { (index, await verdict(onItem: item, sender, context)) }
      }
      return await group.reduce(into: [SoftphoneVerdict](repeating: .noObject, count: items.count)) { $0[$1.0] = $1.1 }
    }
    let list = verdicts.map { $0.json(inList: true) }.joined(separator: [UInt8(ascii: ",")])
    return JSONReply.make(bytes: ByteBuffer(bytes: [UInt8(ascii: "[")] + list + [UInt8(ascii: "]")]))
  }

  /// The old service.
  private func sendForm(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let sender = try await sender(request, context)
    guard FormFields.isType(request.headers[.contentType]) else {
      throw HTTPErrorResponse.badRequest("The body must be sent as Content-Type: \(FormFields.type).")
    }
    let form = try FormFields(try await request.bytes())
    for name in ["verb", "AppId", "DeviceToken"] where form[name]?.isEmpty != false {
      throw HTTPErrorResponse.badRequest("\(name) is missing.")
    }
    let verdict = try await verdict(on: form.attributes, isForm: true, sender)
    return Response(
      status: .ok, headers: [.contentType: "text/plain; charset=utf-8", .cacheControl: "no-store"],
      body: ResponseBody(byteBuffer: ByteBuffer(string: verdict.word)))
  }

  private func json(_ request: Request) async throws -> JSONValue {
    guard let type = request.headers[.contentType], JSONBody.isType(type) else {
      throw HTTPErrorResponse.badRequest(HTTPErrorResponse.notJSON.sentence)
    }
    return try JSONValue(json: Array(try await request.bytes(upTo: Self.bodyLimit).readableBytesView))
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
  private func verdict(
    onItem item: JSONValue, _ sender: Sender, _ context: WebRequestContext
  ) async -> SoftphoneVerdict {
    guard case .object(let attributes) = item else { return .noObject }
    do {
      return try await verdict(on: attributes, sender)
    } catch {
      // The others of the list have their own verdicts.
      let reply = ErrorReplies.response(for: error)
      if reply == nil { context.logger.error("a push of a list failed", metadata: ["error": "\(error)"]) }
      return .failed(500, reply?.sentence ?? "The hub failed to send the push. Try again in a moment.")
    }
  }

  /// - Throws: what keeps the hub itself from sending, such as a database that is away.
  private func verdict(
    on attributes: [String: JSONValue], isForm: Bool = false, _ sender: Sender
  ) async throws -> SoftphoneVerdict {
    do {
      let push = try SoftphonePush(attributes, isForm: isForm)
      var apps: [PushApp] = []
      if [nil, push.appID].contains(sender.appID) {
        apps = try await pushApps.apps(sender.customer, appID: push.appID)
      }
      guard let app = push.app(of: apps) else { return .failed(400, "AppId is not known here: add it as a push app.") }
      return SoftphoneVerdict(try await messages.send(sender.customer, try push.message(to: app), within: patience))
    } catch let refusal as SoftphoneRefusal {
      return .failed(400, refusal.sentence)
    } catch ContentError.invalid(let field, let problem) {
      return .failed(400, "\(field.replacing("message.fields.", with: "")) \(problem).")
    } catch RegistryError.invalid(let field, let problem) {
      return .failed(400, "\(field) \(problem).")
    } catch let error as SendoutError {
      return .failed(500, ErrorReplies.response(for: error)?.sentence ?? "Nothing can be sent to this app now.")
    }
  }
}
