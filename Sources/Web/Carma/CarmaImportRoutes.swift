package import DataInOut
import Hummingbird
import NIOCore
import Operations
package import Registry
import Wire

/// Carma's imports to lists in three steps: an import is made, its file is sent, and its batch is asked for.
public struct CarmaImportRoutes: RouteSet {
  let authenticator: Authenticator
  let replies: IdempotentReplies
  let database: Database
  let upload: ImportUpload

  package init(authenticator: Authenticator, replies: IdempotentReplies, database: Database, upload: ImportUpload) {
    self.authenticator = authenticator
    self.replies = replies
    self.database = database
    self.upload = upload
  }

  public func addRoutes(to routes: RouteTable) {
    routes.addToLists(.post, "/rest/{customerId}/lists/{listId}/imports", authenticator, use: add)
    routes.addToLists(.post, "/rest/{customerId}/lists/{listId}/recipients/{importId}", authenticator, use: receive)
    routes.addToLists(.get, "/rest/{customerId}/batches/{batchId}", authenticator, use: show)
  }

  private func add(_ access: Access, _ request: Request, _ context: WebRequestContext) async throws -> Response {
    let list: ListID = try context.number("listId")
    let body = try await request.jsonBytes().withUnsafeReadableBytes { try CarmaImportBody(json: $0) }
    guard try await ContactLists(database).find(access.customer, list) != nil else {
      throw RegistryError.numberUnknown("list")
    }
    let new = try await replies.change(access.customer, by: author(access, context)) { change in
      let new = try await Imports(change.transaction).add(access.customer, ImportRequest(body, to: list))
      try await change.record(.addImport, "import \(new.importId)", after: new.audited)
      return new
    }
    return try JSONReply.make(.ok, CarmaImport(id: new.importId))
  }

  /// If the file cannot be imported, its batch says so.
  private func receive(_ access: Access, _ request: Request, _ context: WebRequestContext) async throws -> Response {
    let (list, number): (ListID, ImportID) = (try context.number("listId"), try context.number("importId"))
    guard try await Imports(database).find(access.customer, number).listId == list else {
      throw DataInOutError.importUnknown
    }
    let file = try await upload.receive(
      access.customer, number, FileChunks(body: request.body), length: FileChunks.length(of: request))
    try await replies.change(access.customer, by: author(access, context)) { change in
      let reply = try await Imports(change.transaction).finish(access.customer, file)
      try await change.record(.other(.receiveImport), "import \(number)", after: reply.audited)
    }
    return try JSONReply.make(.ok, CarmaBatchNumber(batchId: number))
  }

  private func show(_ access: Access, _ request: Request, _ context: WebRequestContext) async throws -> Response {
    try JSONReply.make(
      .ok, CarmaBatch(try await Imports(database).find(access.customer, try context.number("batchId"))))
  }

  private func author(_ access: Access, _ context: WebRequestContext) -> ChangeAuthor {
    .key(access.key, address: context.clientAddress.description)
  }
}

extension ImportRequest {
  /// Columns that are no fields are properties, and a heading alone empties a list, as Carma does it.
  fileprivate init(_ body: CarmaImportBody, to list: ListID) {
    let column = body.identityColumn.flatMap { $0.isEmpty ? nil : $0 }
    let identity = column.flatMap { ImportIdentity(heading: $0) }
    self.init(
      listId: list, mode: body.replaces ? .replace : .upsert, identity: identity ?? .originalId,
      columns: identity == nil ? column.map { ImportColumns([UTF8String($0): "originalId"]) } : nil,
      others: .properties,
      delimiter: body.delimiter, encoding: body.encoding, allowEmpty: body.replaces ? true : nil)
  }
}
