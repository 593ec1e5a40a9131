import Hummingbird
import NIOCore
import Registry
import Wire

extension CarmaRoutes {
  func register(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await authenticator.access(request, context, needs: .device)
    let body = try await request.pushDevices()
    let apps = try await apps(access, context)
    try await checkIdentity(request, body, access)
    let registration = try Registration(try await allowed(body, access), apps: apps, access: access)
    let returnsContact = access.opens(.backend)
    let contact = try await registrar.register(access.customer, registration, returnsContact: returnsContact)
    return reply(contact.map { ContactReply($0, apps) } ?? ContactReply(echo: body))
  }

  func invalidate(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await authenticator.access(request, context, needs: .device)
    let body = try await request.pushDevices()
    let apps = try await apps(access, context)
    try await checkIdentity(request, body, access)
    let invalidation = try Invalidation(body, apps: apps, access: access)
    try await devices.invalidate(access.customer, invalidation)
    guard access.opens(.backend) else { return reply(ContactReply(echo: body, invalidated: true)) }
    return try await show(invalidation.originalID, apps, access)
  }

  func show(_ request: Request, _ context: WebRequestContext) async throws -> Response {
    let access = try await authenticator.access(request, context, needs: .backend)
    let originalID = context.parameters["originalId"] == nil ? "invalidation" : try context.part("originalId")
    return try await show(originalID, try await apps(access, context), access)
  }

  private func show(_ originalID: String, _ apps: [PushApp], _ access: Access) async throws -> Response {
    let contact = try await contacts.find(access.customer, originalID: originalID, apps: apps.map(\.id))
    return try reply(contact, originalID, apps)
  }

  /// As `show`, when key and apps are cached.
  func showFromCaches(_ request: FastRequest, _ answer: @escaping FastCompletion) -> Bool {
    let parameters = request.parameters
    guard let customer = CustomerID(String(parameters[0])),
      let appID = PathPart.decode(parameters[1]), let apps = pushApps.cached(customer, appID: appID),
      let originalID = PathPart.decode(parameters[2]),
      let access = authenticator.cachedAccess(request, to: customer, needs: .backend), access.opens(appID: appID)
    else { return false }
    contacts.find(access.customer, originalID: originalID, apps: apps.map(\.id)) { found in
      answer { try reply(found.get(), originalID, apps) }
    }
    return true
  }

  private func reply(_ contact: Contact?, _ originalID: String, _ apps: [PushApp]) throws -> Response {
    guard let contact else { throw RegistryError.contactUnknown(originalID: originalID) }
    return reply(ContactReply(contact, apps))
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
    return try await pushApps.all(access.customer).compactMap(\.deviceFields).reduce(body) { try $1.restrict($0) }
  }

  private func reply(_ contact: ContactReply) -> Response {
    JSONReply.make(bytes: ByteBuffer(bytes: contact.json))
  }
}

extension Request {
  fileprivate func pushDevices() async throws -> PushDevicesBody {
    try await jsonBytes().withUnsafeReadableBytes { try PushDevicesBody(json: $0) }
  }
}
