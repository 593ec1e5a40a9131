import Operations
import Registry
import Wire

/// Users of the console: the list, inviting one, and changing one.
enum UserPages {
  static let pages = [list, new, one]
  static let actions = [add, change, disable, enable, reset, remove]

  private static let list = ConsolePage(
    path: "/console/users", title: "Users", section: .settings, reads: [AnyOperation(UserOperations.list)],
    query: ["after"]
  ) { call in
    let page = try await call.read(UserOperations.list, try call.query.page())
    return ConsoleView(
      title: "Users", template: "users",
      values: [
        "users": page.items.map { $0.row(call) }, "pager": call.pager("/console/users", page.next.map { "\($0)" }),
        "tabs": SettingsTabs.tabs(call, "/console/users"), "errors": call.refusals,
        "mayAdd": call.allows(UserOperations.add),
      ])
  }

  // MARK: - Inviting one

  private static let roles = FormField.Kind.choice(Role.allCases.map { FormField.Choice($0.rawValue, $0.label) })

  private static let newFields = [
    UserRequest.form.field("email", label: "E-mail address", kind: .email),
    UserRequest.form.field("name", label: "Name", hint: "The e-mail address if it is empty."),
    UserRequest.form.field("role", label: "Role", kind: roles, hint: ""),
  ]

  private static let new = ConsolePage(
    path: "/console/new-user", title: "New user", section: .settings, reads: [AnyOperation(UserOperations.add)]
  ) { call in
    ConsoleView(
      title: "Invite a user", template: "form",
      values: [
        "intro": "The next page shows once the link where the user sets a password. It works once, within 24 hours.",
        "form": call.formView(newFields), "action": "/console/users", "button": "Make the link",
        "back": "/console/users", "backText": "Users",
        "command": "pushcart user add --customer \(call.customer) --email mia@example.com --role marketer",
      ])
  }

  private static let add = ConsoleAction(
    path: "/console/users", operation: AnyOperation(UserOperations.add), fields: newFields, form: "/console/new-user"
  ) { call in
    guard let role: Role = try call.form.choice("role") else {
      throw HTTPErrorResponse.badRequest("role is missing: choose one.")
    }
    let request = UserRequest(
      email: call.form.text("email").map { String($0.trimmed) } ?? "", name: call.form.text("name"), role: role)
    return invited(call, try await call.change(UserOperations.add, (), request))
  }

  /// The link, shown this once.
  private static func invited(_ call: ConsoleCall, _ user: UserReply) -> ConsoleDone {
    .show(
      .secret(
        "A link for \(user.name)", label: "Link for \(user.email)", call.parts.consoleURL + (user.link ?? ""), use: nil,
        note: "Send it to them yourself. Whoever opens it first sets the password. It works once, within 24 hours.",
        back: "/console/users", "Back to the users"))
  }

  // MARK: - Changing one

  private static let fields = [
    UserRequest.change.field("name", label: "Name", hint: "That of all of the user's customers."),
    UserRequest.change.field("role", label: "Role", kind: roles, hint: "", isRequired: true),
    UserRequest.change.field(
      "seesPersonal", label: "Sees personal fields of contacts",
      kind: .choice([.init("true", "yes"), .init("false", "no")]), hint: "Empty for what is usual for the role."),
  ]

  private static let one = ConsolePage(
    path: "/console/users/{id}", title: "User", section: .settings, reads: [AnyOperation(UserOperations.show)]
  ) { call in
    let user = try await call.read(UserOperations.show, try call.number("id", UserID.self))
    var values = user.row(call)
    values.merge([
      "form": call.formView(
        fields, ["name": user.name, "role": user.role.rawValue, "seesPersonal": "\(user.seesPersonal)"]),
      "mayChange": call.allows(UserOperations.change), "isSelf": user.userId == call.user.user,
    ]) { $1 }
    return ConsoleView(title: user.name, template: "user", values: values)
  }

  private static let change = ConsoleAction(
    path: "/console/users/{id}", operation: AnyOperation(UserOperations.change), fields: fields,
    form: "/console/users/{id}"
  ) { call in
    let id: UserID = try call.number()
    let before = try await call.read(UserOperations.show, id)
    let role: Role? = try call.form.choice("role")
    // With another role comes what is usual for it, unless somebody says otherwise.
    let sees = call.form.text("seesPersonal").flatMap { Bool($0) }
    let isKept = sees == before.seesPersonal && role != before.role
    let request = UserRequest(
      name: call.form.text("name"), role: role == before.role ? nil : role, seesPersonal: isKept ? nil : sees)
    let user = try await call.change(UserOperations.change, id, request)
    return .see("/console/users", notice: "\(user.name) is changed. It counts from their next request.")
  }

  private static let disable = ConsoleAction(
    path: "/console/users/{id}/disable", operation: AnyOperation(UserOperations.change),
    confirms: Confirmation(title: "Disable the user?", button: "Disable them") { call in
      let user = try await call.read(UserOperations.show, try call.number("id", UserID.self))
      return "\(user.name) sees nothing of this customer from their next request, until somebody enables them again."
    }, form: "/console/users/{id}"
  ) { call in
    let user = try await call.change(UserOperations.change, try call.number(), UserRequest(disabled: true))
    return .see("/console/users", notice: "\(user.name) is disabled.")
  }

  private static let enable = ConsoleAction(
    path: "/console/users/{id}/enable", operation: AnyOperation(UserOperations.change), form: "/console/users/{id}"
  ) { call in
    let user = try await call.change(UserOperations.change, try call.number(), UserRequest(disabled: false))
    return .see("/console/users", notice: "\(user.name) is enabled.")
  }

  private static let reset = ConsoleAction(
    path: "/console/users/{id}/reset", operation: AnyOperation(UserOperations.reset),
    confirms: Confirmation(title: "Reset the password?", button: "Reset it") { call in
      let user = try await call.read(UserOperations.show, try call.number("id", UserID.self))
      return """
        Password, authenticator app and recovery codes of \(user.name) open nothing any more, and all their sessions end. The next \
        page shows a new link once.
        """
    }, form: "/console/users/{id}"
  ) { call in invited(call, try await call.change(UserOperations.reset, try call.number(), ())) }

  private static let remove = ConsoleAction(
    path: "/console/users/{id}/remove", operation: AnyOperation(UserOperations.remove),
    confirms: Confirmation(title: "Remove the user?", button: "Remove them") { call in
      let user = try await call.read(UserOperations.show, try call.number("id", UserID.self))
      return "\(user.name) (\(user.email)) sees nothing of this customer any more. The audit log still names them."
    }, form: "/console/users/{id}"
  ) { call in
    let user = try await call.change(UserOperations.remove, try call.number(), ())
    return .see("/console/users", notice: "\(user.name) is removed.")
  }
}

extension UserReply {
  fileprivate func row(_ call: ConsoleCall) -> [String: Any] {
    var row: [String: Any] = [
      "id": "\(userId)", "href": "/console/users/\(userId)", "name": name, "email": email, "role": role.rawValue,
      "personal": seesPersonal ? "yes" : "no", "totp": totp ? "yes" : "no", "created": call.zone.time(createdAt),
      "state": state, "disabled": disabled, "audit": "/console/audit?user=\(userId)",
    ]
    if let lastSignInAt { row["signedIn"] = call.zone.time(lastSignInAt) }
    return row
  }

  private var state: [String: Any] {
    if disabled { return ["text": "Disabled", "tone": "idle"] }
    return hasPassword || singleSignOn ? ["text": "Active", "tone": "ok"] : ["text": "Invited", "tone": "warn"]
  }
}

extension Role {
  fileprivate var label: String {
    switch self {
    case .owner: "owner: everything, users too"
    case .marketer: "marketer: contacts, content and sendouts"
    case .analyst: "analyst: reads sendouts and reports"
    case .operator: "operator: apps, keys and settings"
    }
  }
}
