import Hummingbird
import NIOCore
import Operations
import Registry
import Wire

extension CarmaRoutes {
  func register(_ request: inout FastRequest, _ answer: @escaping FastCompletion) throws {
    let (access, body, apps) = try checked(&request)
    let rules = access.scope == .device ? try allApps(access, request) : []
    let registration = try Registration(try rules.restrict(body), apps: apps, access: access)
    let returnsContact = access.opens(.backend)
    // Made now, so that nothing keeps the body until the reply.
    let echo = returnsContact ? [] : ContactReply(echo: body).json
    registrations.register(access.customer, registration, returnsContact: returnsContact) { registered in
      answer { JSONReply.make(json: try registered.get().map { ContactReply($0, apps).json } ?? echo) }
    }
  }

  func invalidate(_ request: inout FastRequest, _ answer: @escaping FastCompletion) throws {
    let (access, body, apps) = try checked(&request)
    let invalidation = try Invalidation(body, apps: apps, access: access)
    completeLater(answer) {
      try await devices.invalidate(access.customer, invalidation)
      guard access.opens(.backend) else {
        return JSONReply.make(json: ContactReply(echo: body, invalidated: true).json)
      }
      let contact = try await contacts.find(
        access.customer, originalID: invalidation.originalID, apps: apps.map(\.id))
      return try reply(contact, invalidation.originalID, apps, to: access)
    }
  }

  func show(_ request: inout FastRequest, _ answer: @escaping FastCompletion) throws {
    let access = try authenticator.access(ofCustomerIn: &request, needs: .backend)
    let originalID = request.parameters.count > 2 ? try request.part(2, "originalId") : "invalidation"
    let apps = try apps(access, request)
    contacts.find(access.customer, originalID: originalID, apps: apps.map(\.id)) { found in
      answer { try reply(found.get(), originalID, apps, to: access) }
    }
  }

  private func reply(
    _ contact: Contact?, _ originalID: String, _ apps: [PushApp], to access: Access
  ) throws -> Response {
    guard let contact else { throw RegistryError.contactUnknown(originalID: originalID) }
    return try authenticator.reply(ByteBuffer(bytes: ContactReply(contact, apps).json), to: access)
  }

  /// What a request's key opens, what its body says, and the push apps of its path.
  private func checked(_ request: inout FastRequest) throws -> (Access, PushDevicesBody, [PushApp]) {
    let access = try authenticator.access(ofCustomerIn: &request, needs: .device)
    let body = try request.jsonBytes().withUnsafeReadableBytes { try PushDevicesBody(json: $0) }
    let apps = try apps(access, request)
    try checkIdentity(of: body, access, request)
    return (access, body, apps)
  }

  /// The push apps that the path's appId stands for, one per platform.
  private func apps(_ access: Access, _ request: FastRequest) throws -> [PushApp] {
    let appID = try request.part(1, "appId")
    guard access.opens(appID: appID) else { throw HTTPErrorResponse.boundElsewhere }
    let found = try request.apps(of: access.customer, appID: appID, in: pushApps)
    guard !found.isEmpty else { throw RegistryError.appUnknown(appID: appID) }
    return found
  }

  private func allApps(_ access: Access, _ request: FastRequest) throws -> [PushApp] {
    if let apps = try request.found.allApps?.get() ?? pushApps.cachedAll(access.customer) { return apps }
    throw MustWait(\.allApps) { try await pushApps.all(access.customer) }
  }

  /// A device key lies in every copy of the app: with it alone, nobody shows whose contact they may change. Contacts belong to the
  /// customer, so what one app requires counts for all.
  private func checkIdentity(of body: PushDevicesBody, _ access: Access, _ request: FastRequest) throws {
    guard access.scope == .device else { return }
    let apps = try allApps(access, request)
    guard apps.contains(where: \.identityRequired) else { return }
    if let verified = request.found.identity { return try verified.get() }
    let (identity, originalID) = (request.header(.identity), body.originalId)
    throw MustWait(\.identity) { try await identities.verify(identity, of: originalID, for: apps) }
  }
}
