import HTTPTypes
package import Registry
package import Wire

/// The operations that all numbered things have in common, over their store. Paths, ids and sentences come from what people call the
/// things; what is particular to them is said beside.
package struct NumberedOperations<Store: NumberedStore>: Sendable {
  package typealias Reply = Store.Reply

  /// For a number that the customer has nothing of.
  package let unknown: APIResponse
  private let tag: APIOperation.Tag
  private let path: String
  private let id: Parameters<Reply.Number>
  private let nameTaken: APIResponse

  package init(_ tag: APIOperation.Tag, _: Store.Type = Store.self) {
    let noun = Reply.noun
    self.tag = tag
    path = "/api/v1/\(noun)s"
    id = .id(Reply.Number.self, "The \(noun)'s `\(noun)Id`.", example: 1)
    unknown = .error("The customer has no \(noun) of this number.", RegistryError.numberUnknown(noun))
    nameTaken = .error("The customer already has a \(noun) of this name.", RegistryError.nameTaken(noun))
  }

  package var list: Operation<PageRequest<Reply.Number>, Void, Page<Reply, Reply.Number>> {
    var list = Operation(
      get: path, id: "list\(title)s", tag, "List the \(noun)s", "Lists every \(noun) of the customer by number.",
      at: .page(of: noun, by: Reply.Number.self),
      replies: .ok("A page of \(noun)s.", Page<Reply, Reply.Number>.form)
    ) { call, page, _ in try await Store(call.database).list(call.customer, page) }
    list.store = Store.self
    return list
  }

  package var show: Operation<Reply.Number, Void, Reply> {
    Operation(
      get: "\(path)/{id}", id: "show\(title)", tag, "Show a \(noun)", "The \(noun) as it is now.", at: id,
      replies: .ok("The \(noun).", Reply.form), errors: [unknown]
    ) { call, id, _ in try await Store(call.database).find(call.customer, id) }
  }

  package func add(
    _ description: String, errors: [APIResponse] = []
  ) -> Operation<Void, Store.Request, Reply> {
    Operation(
      .post, path, id: "add\(title)", tag, "Add a \(noun)", description, at: .none, body: .json(Store.Request.form),
      replies: .created("The \(noun).", Reply.form), errors: errors + [nameTaken],
      audit: AuditAction(noun, "add")
    ) { call, _, request in
      let new = try await Store(call.database).add(call.customer, request)
      return Changed(new, target(new.number))
    }
  }

  /// - Parameters:
  ///   - form: of the request as a change.
  ///   - summary: if it does more than change.
  package func change(
    _ form: BodyForm<Store.Request>, summary: String? = nil, _ description: String, errors: [APIResponse] = []
  ) -> Operation<Reply.Number, Store.Request, Reply> {
    Operation(
      .patch, "\(path)/{id}", id: "change\(title)", tag, summary ?? "Change a \(noun)", description, at: id,
      body: .json(form), replies: .ok("The \(noun) as it is now.", Reply.form),
      errors: [unknown] + errors + [nameTaken], audit: AuditAction(noun, "change")
    ) { call, id, request in
      let (before, after) = try await Store(call.database).change(call.customer, id, request)
      return Changed(after, target(id), before: before)
    }
  }

  package func remove(_ description: String) -> Operation<Reply.Number, Void, Reply> {
    Operation(
      .delete, "\(path)/{id}", id: "remove\(title)", tag, "Remove a \(noun)", description, at: id, body: .none,
      replies: .ok("The \(noun) as it was.", Reply.form), errors: [unknown],
      audit: AuditAction(noun, "remove")
    ) { call, id, _ in
      let thing = try await Store(call.database).remove(call.customer, id)
      return Changed(thing, .init(target(id), before: thing, after: nil))
    }
  }

  private var noun: String { Reply.noun }
  /// As in `Trigger`.
  private var title: String { noun.prefix(1).uppercased() + noun.dropFirst() }
  /// What a line of the audit log is about.
  private func target(_ number: Reply.Number) -> String { "\(noun) \(number)" }
}

extension APIOperation {
  /// What it has done to a thing, as in `is added`.
  package var done: String {
    switch method {
    case .post: "added"
    case .delete: "removed"
    default: "changed"
    }
  }
}
