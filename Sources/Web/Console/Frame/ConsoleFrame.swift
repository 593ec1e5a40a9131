import Embedded
import HTTPTypes
import Hummingbird
import Operations
import Registry
import Wire

/// What stands around every page, and pages that say why there is none.
extension ConsoleRoutes {
  /// A view in its template and the layout.
  func render(_ view: ConsoleView, section: ConsoleSection?, _ call: ConsoleCall?, _ visit: ConsoleVisit) -> String {
    var values = view.values
    values["frame"] = frame(view, section, call, visit)
    return HTMLTemplates.console.render(view.template, values)
  }

  private func frame(
    _ view: ConsoleView, _ section: ConsoleSection?, _ call: ConsoleCall?, _ visit: ConsoleVisit
  ) -> [String: Any] {
    let links = (call?.notes.all ?? []) + view.calls
    var frame: [String: Any] = [
      "title": view.title, "css": ConsoleAssets.shared.path(of: "console.css"),
      "js": ConsoleAssets.shared.path(of: "console.js"), "icon": ConsoleAssets.shared.path(of: "icon.svg"),
      "theme": visit[.theme] == "light" || visit[.theme] == "dark" ? visit[.theme] ?? "" : "",
      "hasKeys": visit[.keys] != "off", "isLive": view.isLive, "notice": visit[.notice] ?? "",
      "isSignedIn": call != nil, "csrf": call?.user.csrfToken ?? (view.values["csrf"] as? String ?? ""),
      "hasLinks": !links.isEmpty || view.sql != nil, "sql": view.sql ?? "",
      "api": links.map(\.api).joined(separator: "\n"),
      "commands": links.compactMap(\.command).joined(separator: "\n"),
    ]
    guard let call else { return frame }
    frame["user"] = call.user.name
    frame["email"] = call.user.email
    frame["role"] = call.role.rawValue
    frame["customer"] = call.settings.name
    frame["zone"] = call.zone.name
    frame["navigation"] = navigation(call, section)
    return frame
  }

  /// Sections with a page that the user may see.
  func navigation(_ call: ConsoleCall, _ current: ConsoleSection?) -> [[String: Any]] {
    ConsoleSection.allCases.compactMap { section in
      let page = ConsolePages.all.first {
        $0.section == section && !$0.path.contains("{")
          && $0.isOpen(to: call.role, seesPersonal: call.user.seesPersonal)
      }
      guard let page else { return nil }
      return [
        "title": section.title, "href": page.path, "key": section.key, "section": section.rawValue,
        "isCurrent": section == current,
      ]
    }
  }

  /// The page for an error. Those that nobody expected are thrown on, and logged.
  func problem(_ error: any Error, _ visit: ConsoleVisit, _ call: ConsoleCall?) throws -> Response {
    guard let response = ErrorReplies.response(for: error) else { throw error }
    return page(for: response, visit, call)
  }

  func page(for error: HTTPErrorResponse, _ visit: ConsoleVisit, _ call: ConsoleCall?) -> Response {
    let view = ConsoleView(
      title: Self.title(of: error.status), template: "error",
      values: ["sentence": error.sentence, "status": error.status.code])
    var reply = ConsoleReply.html(render(view, section: nil, call, visit), error.status)
    for field in error.headers where field.name != .contentType { reply.headers.append(field) }
    return reply
  }

  private static func title(of status: HTTPResponse.Status) -> String {
    switch status.code {
    case 401: "Sign in again"
    case 403: "Not allowed"
    case 404: "Not found"
    case 410: "This is gone"
    case 429: "Too many requests"
    case 503: "The hub cannot do this now"
    case 500...: "The hub failed"
    default: "The request was refused"
    }
  }
}
