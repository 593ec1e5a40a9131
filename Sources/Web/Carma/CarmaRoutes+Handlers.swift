import Hummingbird
import NIOCore
import Operations
import Registry
import Wire

extension CarmaRoutes {
  func register(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await authenticator.access(request, context, needs: .device)
    let body = try await request.pushDevices()
    let apps = try await apps(access, context)
    try await checkIdentity(request, body, access)
    let registration = try Registration(
      try await allowed(body, access), apps: apps, access: access)
    let contact = try await registrations.register(
      access.customer, registration, returnsContact: access.opens(.backend))
    return Self.reply(json: (contact.map { ContactReply($0, apps) } ?? ContactReply(echo: body)).json)
  }

  /// As `register`, when key and apps are cached and no identity is to be verified.
  func registerFromCaches(_ request: FastRequest, _ answer: @escaping FastCompletion) -> Bool {
    guard let (access, apps) = cachedAccess(request, needs: .device),
      let rules = access.scope == .device ? pushApps.cachedAll(access.customer) : [],
      !rules.contains(where: \.identityRequired)
    else { return false }
    do {
      try authenticator.count(request, access)
      let body = try request.pushDevices()
      let registration = try Registration(
        try Self.restrict(body, by: rules), apps: apps, access: access)
      let isTold = access.opens(.backend)
      // Made now, so that nothing keeps the body until the reply.
      let echo = isTold ? [] : ContactReply(echo: body).json
      registrations.register(access.customer, registration, returnsContact: isTold) { registered in
        answer { Self.reply(json: try registered.get().map { ContactReply($0, apps).json } ?? echo) }
      }
    } catch {
      answer { throw error }
    }
    return true
  }

  func invalidate(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await authenticator.access(request, context, needs: .device)
    let body = try await request.pushDevices()
    let apps = try await apps(access, context)
    try await checkIdentity(request, body, access)
    let invalidation = try Invalidation(body, apps: apps, access: access)
    try await devices.invalidate(access.customer, invalidation)
    guard access.opens(.backend) else { return Self.reply(json: ContactReply(echo: body, invalidated: true).json) }
    return try await show(invalidation.originalID, apps, access)
  }

  func show(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await authenticator.access(request, context, needs: .backend)
    let originalID = context.parameters["originalId"] == nil ? "invalidation" : try context.part("originalId")
    return try await show(originalID, try await apps(access, context), access)
  }

  private func show(_ originalID: String, _ apps: [PushApp], _ access: Access) async throws -> Response {
    let contact = try await contacts.find(access.customer, originalID: originalID, apps: apps.map(\.id))
    return try reply(contact, originalID, apps, to: access)
  }

  /// As `show`, when key and apps are cached.
  func showFromCaches(_ request: FastRequest, _ answer: @escaping FastCompletion) -> Bool {
    guard let originalID = PercentEncoding.decode(request.parameters[2].utf8),
      let (access, apps) = cachedAccess(request, needs: .backend)
    else { return false }
    do {
      try authenticator.count(request, access)
      contacts.find(access.customer, originalID: originalID, apps: apps.map(\.id)) { found in
        answer { try reply(found.get(), originalID, apps, to: access) }
      }
    } catch {
      answer { throw error }
    }
    return true
  }

  /// What the request's key opens, and the push apps of its path; nil if the caches do not have them, or the request is refused.
  private func cachedAccess(_ request: FastRequest, needs scope: AccessScope) -> (Access, [PushApp])? {
    guard let customer = CustomerID(String(request.parameters[0])),
      let appID = PercentEncoding.decode(request.parameters[1].utf8),
      let apps = pushApps.cached(customer, appID: appID),
      let access = authenticator.cachedAccess(request, to: customer, needs: scope), access.opens(appID: appID)
    else { return nil }
    return (access, apps)
  }

  private func reply(
    _ contact: Contact?, _ originalID: String, _ apps: [PushApp], to access: Access
  ) throws -> Response {
    guard let contact else { throw RegistryError.contactUnknown(originalID: originalID) }
    return try authenticator.reply(ByteBuffer(bytes: ContactReply(contact, apps).json), to: access)
  }

  /// The push apps that the path's appId stands for, one per platform.
  private func apps(_ access: Access, _ context: WebRequestContext) async throws -> [PushApp] {
    let appID = try context.part("appId")
    guard access.opens(appID: appID) else { throw HTTPErrorResponse.boundElsewhere }
    let found = try await pushApps.apps(access.customer, appID: appID)
    guard !found.isEmpty else { throw RegistryError.appUnknown(appID: appID) }
    return found
  }

  /// A device key lies in every copy of the app: with it alone, nobody shows whose contact they may change. Contacts belong to the
  /// customer, so what one app requires counts for all.
  private func checkIdentity(_ request: Request, _ body: PushDevicesBody, _ access: Access) async throws {
    guard access.scope == .device else { return }
    try await identities.verify(
      request.headers[.identity], of: body.originalId, for: try await pushApps.all(access.customer))
  }

  /// What the key may write: each of the customer's apps that has a list has to allow a field.
  private func allowed(_ body: PushDevicesBody, _ access: Access) async throws -> PushDevicesBody {
    guard access.scope == .device else { return body }
    return try Self.restrict(body, by: try await pushApps.all(access.customer))
  }

  private static func restrict(_ body: PushDevicesBody, by apps: [PushApp]) throws -> PushDevicesBody {
    try apps.compactMap(\.deviceFields).reduce(body) { try $1.restrict($0) }
  }

  private static func reply(json: [UInt8]) -> Response { JSONReply.make(bytes: ByteBuffer(bytes: json)) }
}

extension Request {
  fileprivate func pushDevices() async throws -> PushDevicesBody {
    try await jsonBytes().withUnsafeReadableBytes { try PushDevicesBody(json: $0) }
  }
}

extension FastRequest {
  fileprivate func pushDevices() throws -> PushDevicesBody {
    guard let type = header(.contentType), JSONBody.isType(type) else { throw HTTPErrorResponse.notJSON }
    return try body.withUnsafeReadableBytes { try PushDevicesBody(json: $0) }
  }
}
