import HTTPTypes
import Registry
package import Wire

extension APIOperation.Tag {
  /// For owners alone, in the console.
  package static let users = Self(
    "Users",
    """
    Who signs in to the console for this customer, and as what: an `owner` may do everything, a `marketer` works with contacts, content \
    and sendouts, an `analyst` reads sendouts and reports, and an `operator` manages apps, keys and settings. A user may work for several \
    customers, with one name and one password. What these share is changed at the command line alone, by `pushcart user`.
    """)
}

/// `/api/v1/users`.
package enum UserOperations: ManagedOperations {
  package static let all = [
    AnyOperation(list), AnyOperation(add), AnyOperation(show), AnyOperation(change), AnyOperation(reset),
    AnyOperation(remove),
  ]

  package static let list = Operation(
    get: "/api/v1/users", id: "listUsers", .users, "List the users", "Lists every user of the customer by number.",
    at: .page(of: "user", by: UserID.self), replies: .ok("A page of users.", Page<UserReply, UserID>.form)
  ) { call, page, _ in try await call.users.list(call.customer, page) }

  package static let add = Operation(
    .post, "/api/v1/users", id: "addUser", .users, "Add a user",
    """
    The reply shows once the path of the link where the user sets a password, below the console's address. The link works once, \
    within 24 hours. An e-mail address is the same in any case of its letters. Somebody who has an account already sets a new password, \
    too, and their sessions end.
    """,
    at: .none, body: .json(UserRequest.form), replies: .created("The user and the link.", UserReply.invited),
    errors: [
      .error(
        "The customer has this user already, or the user works for another customer.", RegistryError.userTaken,
        RegistryError.userShared)
    ], audit: .addUser
  ) { call, _, request in
    let user = try await call.users.add(call.customer, request)
    return Changed(user, .init("user \(user.userId)", after: user.withoutLink))
  }

  package static let show = Operation(
    get: "/api/v1/users/{id}", id: "showUser", .users, "Show a user", "The user as this customer sees them.", at: id,
    replies: .ok("The user.", UserReply.form), errors: [unknown]
  ) { call, id, _ in try await call.users.find(call.customer, id) }

  package static let change = Operation(
    .patch, "/api/v1/users/{id}", id: "changeUser", .users, "Change a user",
    """
    A field that is absent or null stays as it is; but with another `role`, `seesPersonal` becomes what is usual for it. Role, \
    `seesPersonal` and `disabled` count from the user's next request. They are this customer's; the name is that of all of the \
    user's customers.
    """,
    at: id, body: .json(UserRequest.change), replies: .ok("The user as they are now.", UserReply.form),
    errors: [unknown, conflict], audit: .changeUser
  ) { call, id, request in
    if request.role != nil || request.disabled != nil { try call.refuseOwn(id) }
    let (before, after) = try await call.users.change(call.customer, id, request)
    return Changed(after, "user \(id)", before: before)
  }

  package static let reset = Operation(
    .post, "/api/v1/users/{id}/reset", id: "resetUser", .users, "Reset a user's password",
    """
    For a user who has lost password or phone, and when somebody else may know them. Password, authenticator app and recovery codes open \
    nothing any more, and every session ends. The reply shows once the path of a new link, as of a user who is added.
    """,
    at: id, body: .none, replies: .ok("The user and the link.", UserReply.invited), errors: [unknown, conflict],
    audit: .resetUser
  ) { call, id, _ in
    try call.refuseOwn(id)
    let (before, after) = try await call.users.reset(call.customer, id)
    return Changed(after, .init("user \(id)", before: before, after: after.withoutLink))
  }

  package static let remove = Operation(
    .delete, "/api/v1/users/{id}", id: "removeUser", .users, "Remove a user",
    "The user sees nothing of the customer any more, from their next request. The audit log still names them.", at: id,
    body: .none, replies: .ok("The user as they were.", UserReply.form), errors: [unknown, conflict], audit: .removeUser
  ) { call, id, _ in
    try call.refuseOwn(id)
    let user = try await call.users.remove(call.customer, id)
    return Changed(user, .init("user \(id)", before: user, after: nil))
  }

  private static let id = Parameters.id(UserID.self, "The user's `userId`.", example: 1)
  private static let unknown = APIResponse.error(
    "The customer has no user of this number.", RegistryError.numberUnknown("user"))
  private static let conflict = APIResponse.error(
    "The user works for another customer, or is the one who asks in the console.", RegistryError.userShared,
    HTTPErrorResponse.ownUser)
}

extension OperationCall {
  fileprivate var users: Users {
    if case .commandLine = author { Users(database, isOperator: true) } else { Users(database, isOperator: false) }
  }

  /// So that no owner locks themselves out.
  /// - Throws: `HTTPErrorResponse` (409) if the user makes the call.
  fileprivate func refuseOwn(_ user: UserID) throws {
    if case .user(user, _) = author { throw HTTPErrorResponse.ownUser }
  }
}

extension HTTPErrorResponse {
  fileprivate static let ownUser = conflict(
    "You cannot change your own role, or disable, reset or remove yourself. Ask another owner.")
}

extension UserReply {
  fileprivate var withoutLink: UserReply {
    var user = self
    user.link = nil
    return user
  }
}
