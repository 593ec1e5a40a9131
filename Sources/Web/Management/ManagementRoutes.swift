import Hummingbird
package import DataInOut
package import Hybrid
package import Operations
package import Registry
package import Sendouts

/// The management API under `/api/v1`: everything the command line does, for the customer of the access key.
public struct ManagementRoutes: RouteSet {
  let operations: OperationRoutes
  let messages: MessageRoutes
  let imports: ImportRoutes
  let exports: ExportRoutes

  /// - Parameters:
  ///   - pushApps: the hub's, which forget what is changed here. So do `hybridApps`.
  package init(
    authenticator: Authenticator, replies: IdempotentReplies, parts: OperationParts, messages: MessageService,
    upload: ImportUpload, exports: Exports,
    pushApps: PushAppCache, hybridApps: HybridAppCache
  ) {
    operations = OperationRoutes(
      operations: ManagementOperations.all, authenticator: authenticator,
      endpoint: IdempotentEndpoint(replies: replies), parts: parts
    ) { cache in
      switch cache {
      case .accessKeys: authenticator.forget()
      case .pushApps: pushApps.flush()
      case .hybridApps: hybridApps.flush()
      // The hub is notified, too, and reads them again if this fails.
      case .statusAddresses: try? await parts.statusAddresses(parts.database).refresh(from: parts.database)
      }
    }
    self.messages = MessageRoutes(authenticator: authenticator, messages: messages)
    imports = ImportRoutes(
      authenticator: authenticator, endpoint: IdempotentEndpoint(replies: replies), database: parts.database,
      upload: upload)
    self.exports = ExportRoutes(
      authenticator: authenticator, endpoint: IdempotentEndpoint(replies: replies), exports: exports)
  }

  public func addRoutes(to routes: RouteTable) {
    operations.addRoutes(to: routes)
    imports.addRoutes(to: routes)
    exports.addRoutes(to: routes)
    routes.fast(.post, "/api/v1/messages", bound: .ownApp, use: messages.send)
  }
}
