import Embedded
import HTTPTypes
import Hummingbird
import Operations
import Registry
import Wire

/// What users change about themselves: password, authenticator app, sessions, and how the console looks to them.
extension ConsoleRoutes {
  func addAccount(to routes: RouteTable) {
    get("/console/account", routes) { visit in
      try await showAccount(try await call(visit, for: "/console/account"), visit)
    }
    own("/console/account/password", routes) { call, _ in
      let session = try await users.passwords().changePassword(
        call.user, from: call.form.text("current") ?? "", to: call.form.text("password") ?? "")
      return (.see("/console/account", notice: "The password is changed. All other sessions have ended."), session)
    }
    get("/console/account/totp", routes) { visit in
      _ = try users.passwords()
      let call = try await call(visit, for: "/console/account/totp")
      return ConsoleReply.html(render(totpView(TOTP(), call), section: nil, call, visit))
    }
    own("/console/account/totp", routes) { call, _ in
      guard let totp = call.form.text("secret").flatMap({ TOTP(base32: $0) }) else {
        throw HTTPErrorResponse.badRequest("secret is not one that this page has made. Open it again.")
      }
      let (codes, session) = try await users.passwords().turnOnTOTP(
        call.user, totp, code: call.form.text("code") ?? "", password: call.form.text("current") ?? "")
      let view = ConsoleView(
        title: "Recovery codes", template: "recovery", values: ["codes": codes.map { ["code": $0] }])
      return (.show(view), session)
    }
    own("/console/account/totp/off", routes) { call, _ in
      let session = try await users.passwords().turnOffTOTP(call.user, password: call.form.text("current") ?? "")
      return (.see("/console/account", notice: "You sign in with your password alone now."), session)
    }
    own("/console/account/sessions/{id}/end", routes) { call, _ in
      let session = try call.number("id", SessionID.self)
      try await users.sessions.end(session, of: call.user.user)
      let next = session == call.user.session ? "/console/sign-in" : "/console/account"
      return (.see(next, notice: "The session has ended."), nil)
    }
    post("/console/account/appearance", routes) { visit in
      let form = try await visit.form()
      try visit.require(try await signedIn(visit).csrfToken, in: form)
      let theme = form.text("theme").flatMap { ["light", "dark"].contains($0) ? $0 : nil }
      return ConsoleReply.see(
        "/console/account",
        setting: [
          visit.setting(.theme, theme ?? "", for: 365 * 86_400),
          visit.setting(.keys, form.flag("keys") ? "" : "off", for: 365 * 86_400),
          visit.setting(.notice, "This browser shows the console as you chose.", for: 60),
        ])
    }
  }

  /// A form of the account's pages, which is shown again if it is refused.
  /// - Parameter work: also returns the session, if it has another token now.
  private func own(
    _ path: String, _ routes: RouteTable,
    _ work: @escaping @Sendable (ConsoleCall, ConsoleVisit) async throws -> (ConsoleDone, NewSession?)
  ) {
    post(path, routes) { visit in
      let form = try await visit.form()
      var call = try await call(visit, for: path, form: form)
      do {
        try visit.require(call.user.csrfToken, in: form)
        let (done, session) = try await work(call, visit)
        // Forms of the next page carry what follows from the new token.
        if let session { call.user = try await users.sessions.find(session.token) ?? call.user }
        let cookies = session.map { [visit.setting($0)] } ?? []
        switch done {
        case .see(let path, let notice):
          return ConsoleReply.see(path, setting: cookies + (notice.map { [visit.setting(.notice, $0, for: 60)] } ?? []))
        case .export(let pages, let subject): return pages.reply(of: subject)
        case .show(let view): return ConsoleReply.html(render(view, section: nil, call, visit), setting: cookies)
        }
      } catch {
        guard let refusal = ErrorReplies.response(for: error), refusal.status.code < 500 else {
          return try problem(error, visit, call)
        }
        call.refusal = refusal
        if path == "/console/account/totp", let totp = form.text("secret").flatMap({ TOTP(base32: $0) }) {
          return ConsoleReply.html(render(totpView(totp, call), section: nil, call, visit), refusing: refusal)
        }
        return try await showAccount(call, visit, at: path)
      }
    }
  }

  /// - Parameter path: of the form that was refused.
  private func showAccount(
    _ call: ConsoleCall, _ visit: ConsoleVisit, at path: String? = nil
  ) async throws -> Response {
    let security = try await users.security(of: call.user.user)
    let sessions = try await users.sessions.list(call.user.user)
    var fresh = call
    fresh.refusal = nil
    func form(_ ownPath: String, _ fields: [FormField]) -> [String: Any] {
      FormView(fields, [:], FormValues(), path == ownPath ? call.refusal : nil).values
    }
    let isElsewhere = path != nil && path != "/console/account/password" && path != "/console/account/totp/off"
    let view = ConsoleView(
      title: "Account", template: "account",
      values: [
        "password": form("/console/account/password", [Self.current, Self.new]),
        "off": form("/console/account/totp/off", [Self.current]),
        "problem": isElsewhere ? call.refusal?.sentence ?? "" : "",
        "hasPassword": security.hasPassword, "usesTOTP": security.usesTOTP,
        "codesLeft": security.recoveryCodesLeft,
        "isLight": visit[.theme] == "light", "isDark": visit[.theme] == "dark",
        "isSystem": visit[.theme] != "light" && visit[.theme] != "dark", "hasKeys": visit[.keys] != "off",
        "sessions": sessions.map { session in
          [
            "id": session.sessionId.description, "address": session.address ?? "", "agent": session.userAgent ?? "",
            "began": call.zone.time(session.createdAt), "seen": call.zone.time(session.seenAt),
            "isThis": session.sessionId == call.user.session,
          ] as [String: Any]
        },
      ])
    return ConsoleReply.html(
      render(view, section: nil, call, visit), refusing: call.refusal,
      setting: visit[.notice] == nil ? [] : [visit.setting(.notice, "")])
  }

  private func totpView(_ totp: TOTP, _ call: ConsoleCall) -> ConsoleView {
    let uri = totp.uri(issuer: "Pushcart", account: call.user.email)
    return ConsoleView(
      title: "Authenticator app", template: "totp",
      values: [
        "secret": totp.base32, "qr": Markup(QRCode(uri)?.svg(title: "The secret as a QR code") ?? ""),
        "form": FormView(
          [
            FormField(
              "code", label: "Code that the app shows", isRequired: true, autocomplete: "one-time-code"),
            Self.current,
          ], [:], call.form, call.refusal
        ).values,
      ])
  }

  private static let current = FormField(
    "current", label: "Current password", kind: .password, isRequired: true, autocomplete: "current-password")
  private static let new = FormField(
    "password", label: "New password", kind: .password, hint: "12 characters or more.", isRequired: true,
    autocomplete: "new-password")
}
