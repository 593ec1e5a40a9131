import DataInOut
import HTTPTypes
import Registry
package import Wire

extension APIOperation.Tag {
  package static let imports = Self(
    "Imports",
    """
    Files of contacts. An import is made first, and says what its columns are and what is done with them; then its file is sent. \
    The hub checks each row, and merges them in portions.
    """, readers: [.marketer, .analyst], editors: [.marketer])
}

/// `/api/v1/imports`. Files come, and rejects leave, by routes of their own, as neither is JSON.
///
/// None is for users who see no personal fields: whom a file of addresses puts into a list says whose they are.
package enum ImportOperations: ManagedOperations {
  package static let all = [
    AnyOperation(list), AnyOperation(add), AnyOperation(show), AnyOperation(start), AnyOperation(cancel),
  ]

  package static let list = Operation(
    get: "/api/v1/imports", id: "listImports", .imports, "List the imports",
    "Lists every import of the customer, the newest first.",
    showsPersonal: true, at: .page(of: "import", by: ImportID.self),
    replies: .ok("A page of imports.", Page<ImportReply, ImportID>.form)
  ) { call, page, _ in try await Imports(call.database).list(call.customer, page) }

  package static let add = Operation(
    .post, "/api/v1/imports", id: "addImport", .imports, "Add an import",
    """
    It waits for its file: `PUT /api/v1/imports/{id}/file`.

    Rows of one identity are one contact: the last one's fields, and all of their tokens. What somebody registered after the import \
    was added is newer than the file, and stays. An import never lifts a suppression, and never revives a number that has opted out, or a \
    token that is invalid.
    """,
    showsPersonal: true, at: .none, body: .json(ImportRequest.form), replies: .created("The import.", ImportReply.form),
    audit: .addImport
  ) { call, _, request in
    let new = try await Imports(call.database).add(call.customer, request)
    return Changed(new, .init("import \(new.importId)", after: new.audited))
  }

  package static let show = Operation(
    get: "/api/v1/imports/{id}", id: "showImport", .imports, "Show an import",
    "How far it is, and what has become of its rows.", showsPersonal: true, at: id,
    replies: .ok("The import.", ImportReply.form), errors: [unknown]
  ) { call, id, _ in try await Imports(call.database).find(call.customer, id) }

  package static let start = Operation(
    .post, "/api/v1/imports/{id}/start", id: "startImport", .imports, "Start an import that is in review",
    """
    An import with `review: true` waits when its file has come, with `headings`, `sample`, and what its `columns` seem to be. This says \
    what they are, and all rows are checked by it. A dry run leads back to the review, with its counts and rejects, so it can be \
    started again, or for real. Seven days after it was added, one that still waits is cancelled.
    """,
    showsPersonal: true, at: id, body: .json(ImportRequest.starting),
    replies: .ok("The import as it is now.", ImportReply.form),
    errors: [
      unknown,
      .error(
        "The import is not in review.",
        DataInOutError.wrongState(ImportID(1), .finished, wanted: "started: only one in review can")),
    ],
    audit: "import.start"
  ) { call, id, request in
    let (before, after) = try await Imports(call.database).start(call.customer, id, request)
    return Changed(after, .init("import \(id)", before: before.audited, after: after.audited))
  }

  package static let cancel = Operation(
    .post, "/api/v1/imports/{id}/cancel", id: "cancelImport", .imports, "Cancel an import",
    "What is merged already stays, and the counts say how much that is.", showsPersonal: true, at: id, body: .none,
    replies: .ok("The import as it is now.", ImportReply.form), errors: [unknown, ended], audit: "import.cancel"
  ) { call, id, _ in
    let (before, after) = try await Imports(call.database).cancel(call.customer, id)
    return Changed(after, .init("import \(id)", before: before.audited, after: after.audited))
  }

  package static let id = Parameters.id(ImportID.self, "The import's `importId`.", example: 1)
  package static let unknown = APIResponse.error(
    "The customer has no import of this number.", DataInOutError.importUnknown)
  private static let ended = APIResponse.error(
    "The import has ended.", DataInOutError.wrongState(ImportID(1), .finished, wanted: "cancelled"))
}

extension ImportReply {
  /// As the audit log has it: without cells of people.
  package var audited: ImportReply {
    var audited = self
    audited.sample = nil
    return audited
  }
}
