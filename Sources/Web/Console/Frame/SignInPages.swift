import HTTPTypes
import Hummingbird
import Operations
import Registry
import Wire

/// Sign-in with password and code, sign-out, the link that sets a password, and the choice of a customer.
extension ConsoleRoutes {
  func addSignIn(to routes: RouteTable) {
    get("/console/sign-in", routes) { visit in
      if try await session(visit) != nil { return ConsoleReply.see(visit.next(visit.query("next"))) }
      return ask(signInForm(next: visit.query("next")), visit)
    }
    post("/console/sign-in", routes, signIn)
    get("/console/sign-in/code", routes) { visit in
      _ = try users.passwords()
      _ = try await waiting(visit)
      return ask(.code(next: visit.query("next")), visit)
    }
    post("/console/sign-in/code", routes, enterCode)
    if let openID = users.openID { addOpenID(openID, to: routes) }
    post("/console/sign-out", routes) { visit in
      let form = try await visit.form()
      if let user = try await session(visit) {
        try visit.require(user.csrfToken, in: form)
        try await users.sessions.end(user.session, of: user.user)
      }
      return ConsoleReply.see("/console/sign-in", setting: [visit.setting(.session, "")])
    }
    get("/console/welcome/{token}", routes) { visit in
      guard let person = try await users.passwords().person(ofLink: try visit.context.part("token")) else {
        throw RegistryError.linkRefused
      }
      return ask(.welcome(person.email), visit)
    }
    post("/console/welcome/{token}", routes, setPassword)
    get("/console/customer", routes) { visit in try await askCustomer(visit) }
    post("/console/customer", routes, chooseCustomer)
  }

  /// The session, also one that still needs a code or a customer; `nil` if there is none.
  func session(_ visit: ConsoleVisit) async throws -> SignedIn? {
    guard let token = visit[.session] else { return nil }
    return try await users.sessions.find(token)
  }

  /// The session that still needs a code.
  private func waiting(_ visit: ConsoleVisit) async throws -> SignedIn {
    guard let user = try await session(visit) else { throw Elsewhere("/console/sign-in", then: visit) }
    guard user.needsCode else { throw Elsewhere(to: visit.next(visit.query("next"))) }
    return user
  }

  private func signIn(_ visit: ConsoleVisit) async throws -> Response {
    let form = try await visit.form()
    let next = form.text("next")
    let passwords = try users.passwords()
    return try await refusing(signInForm(next: next), form, visit) {
      try visit.require(visit[.form], in: form)
      let session = try await passwords.begin(
        email: form.text("email") ?? "", password: form.text("password") ?? "", from: visit.client)
      let query = next.map { "?next=\(PercentEncoding.encode($0))" } ?? ""
      return entered(
        session, visit, to: session.needsCode ? "/console/sign-in/code" + query : visit.next(next))
    }
  }

  private func enterCode(_ visit: ConsoleVisit) async throws -> Response {
    let form = try await visit.form()
    let passwords = try users.passwords()
    let user = try await waiting(visit)
    return try await refusing(.code(next: form.text("next")), form, visit) {
      try visit.require(visit[.form], in: form)
      try await passwords.enter(code: form.text("code") ?? "", in: user)
      return ConsoleReply.see(visit.next(form.text("next")))
    }
  }

  private func setPassword(_ visit: ConsoleVisit) async throws -> Response {
    let form = try await visit.form()
    let link = try visit.context.part("token")
    let passwords = try users.passwords()
    guard let person = try await passwords.person(ofLink: link) else { throw RegistryError.linkRefused }
    return try await refusing(.welcome(person.email), form, visit) {
      try visit.require(visit[.form], in: form)
      let session = try await passwords.setPassword(form.text("password") ?? "", ofLink: link, from: visit.client)
      return entered(session, visit, to: session.needsCode ? "/console/sign-in/code" : "/console")
    }
  }

  private func signInForm(next: String?) -> AskedForm {
    guard let openID = users.openID else { return .signIn(next: next) }
    var form = AskedForm.signIn(next: next)
    let query = next.map { "?next=\(PercentEncoding.encode($0))" } ?? ""
    form.other = (openID.settings.name, "/console/sign-in/openid" + query)
    form.isOtherOnly = openID.settings.isOnly
    return form
  }

  /// The sign-in page, which says why nobody can sign in by the provider at the moment.
  func askAgain(next: String, _ refusal: HTTPErrorResponse, _ visit: ConsoleVisit) -> Response {
    var form = signInForm(next: next)
    form.action = "/console/sign-in"
    return ask(form, visit, FormValues(), refusal)
  }

  func entered(_ session: NewSession, _ visit: ConsoleVisit, to path: String) -> Response {
    ConsoleReply.see(
      path, setting: [visit.setting(session), visit.setting(.form, "")])
  }

  // MARK: Customers

  private func askCustomer(_ visit: ConsoleVisit) async throws -> Response {
    let user = try await signedIn(visit)
    let choices = try await users.sessions.customers(user)
    if choices.count == 1, user.customer == choices.first?.customer {
      return ConsoleReply.see(visit.next(visit.query("next")))
    }
    let view = ConsoleView(
      title: "Choose a customer", template: "customers",
      values: [
        "csrf": user.csrfToken, "next": visit.query("next") ?? "",
        "customers": choices.map { choice in
          [
            "id": choice.customer.description, "name": choice.name, "role": choice.role.rawValue,
            "isCurrent": choice.customer == user.customer,
          ]
        },
      ])
    return ConsoleReply.html(render(view, section: nil, nil, visit))
  }

  private func chooseCustomer(_ visit: ConsoleVisit) async throws -> Response {
    let form = try await visit.form()
    let user = try await signedIn(visit)
    try visit.require(user.csrfToken, in: form)
    guard let customer = try form.number("customer", CustomerID.self) else {
      throw HTTPErrorResponse.badRequest("customer is missing.")
    }
    try await users.sessions.choose(customer, in: user)
    return ConsoleReply.see(visit.next(form.text("next")))
  }

  // MARK: Forms

  /// Shows the form again if it is refused.
  private func refusing(
    _ asked: AskedForm, _ form: FormValues, _ visit: ConsoleVisit, _ work: () async throws -> Response
  ) async throws -> Response {
    do {
      return try await work()
    } catch {
      guard let refusal = ErrorReplies.response(for: error), refusal.status != .gone else { throw error }
      return ask(asked, visit, form, refusal)
    }
  }

  private func ask(
    _ asked: AskedForm, _ visit: ConsoleVisit, _ form: FormValues = FormValues(), _ refusal: HTTPErrorResponse? = nil
  ) -> Response {
    let token = visit[.form] ?? Base64URL.text((0..<18).map { _ in UInt8.random(in: 0 ... .max) })
    let view = ConsoleView(
      title: asked.title, template: "ask",
      values: [
        "csrf": token, "text": asked.text, "button": asked.button, "action": asked.action ?? visit.request.uri.path,
        "next": asked.next ?? "", "hasForm": !asked.isOtherOnly, "otherName": asked.other?.name ?? "",
        "otherHref": asked.other?.href ?? "", "form": FormView(asked.fields, [:], form, refusal).values,
      ])
    return ConsoleReply.html(
      render(view, section: nil, nil, visit), refusing: refusal, setting: [visit.setting(.form, token, for: 86_400)])
  }
}

/// A form for somebody who is not signed in yet.
private struct AskedForm: Sendable {
  let title: String
  let text: String
  let button: String
  let fields: [FormField]
  /// Where it leads.
  var next: String?
  /// What takes it; `nil` for the page's own path.
  var action: String?
  /// Another way to sign in: who offers it, and where it begins.
  var other: (name: String, href: String)?
  /// Whether there is no other way, and no form.
  var isOtherOnly = false

  static func signIn(next: String?) -> AskedForm {
    AskedForm(
      title: "Sign in", text: "", button: "Sign in",
      fields: [
        FormField("email", label: "E-mail address", kind: .email, isRequired: true, autocomplete: "username"),
        FormField("password", label: "Password", kind: .password, isRequired: true, autocomplete: "current-password"),
      ], next: next)
  }

  static func code(next: String?) -> AskedForm {
    AskedForm(
      title: "Enter your code", text: "Your authenticator app shows it.", button: "Go on",
      fields: [
        FormField(
          "code", label: "Code", hint: "6 digits, or one of your recovery codes.", isRequired: true,
          autocomplete: "one-time-code")
      ], next: next)
  }

  static func welcome(_ email: String) -> AskedForm {
    AskedForm(
      title: "Welcome to Pushcart", text: "Set the password of \(email). This link works once.",
      button: "Set the password",
      fields: [
        FormField(
          "password", label: "New password", kind: .password,
          hint: "12 characters or more. A few words that only you would put together are good.", isRequired: true,
          autocomplete: "new-password")
      ])
  }
}

extension ConsoleVisit {
  /// A parameter of the query.
  func query(_ name: String) -> String? { request.uri.queryParameters[name[...]].map { String($0) } }

  /// A page of the console to go to; never one of another site.
  func next(_ path: String?) -> String {
    guard let path, path == "/console" || path.hasPrefix("/console/") || path.hasPrefix("/console?"),
      path.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") })
    else { return "/console" }
    return path
  }

  /// A field that sets the cookie of a session, for as long as one can last.
  func setting(_ session: NewSession) -> HTTPField { setting(.session, session.token, for: 14 * 86_400) }

  /// Whom a sign-in comes from.
  var client: SignInClient {
    SignInClient(
      address: address, network: context.clientAddress.client.description, userAgent: request.headers[.userAgent])
  }
}
