import Content
import Delivery
import Postgres
import Registry
import Wire

/// Checks of a request for a sendout, before anything is written.
enum SendoutRules {
  /// Most characters of a name.
  static let longestName = 200

  /// The given name, or the beginning of the alert.
  static func name(_ request: SendoutRequest) throws -> String {
    guard let name = request.name else {
      let alert = (request.message.alert ?? "").unicodeScalars.filter { !$0.properties.isWhitespace || $0 == " " }
      let start = String(String.UnicodeScalarView(alert.prefix(60)))
      return start.contains { !$0.isWhitespace } ? start : request.appId ?? request.appIds?.first ?? ""
    }
    try check("name", name, maximum: longestName)
    return name
  }

  /// A text for people: not empty, without control characters.
  static func check(_ field: String, _ text: String, maximum: Int) throws {
    do throws(RegistryError) {
      _ = try TextRule(field, maximum: maximum).require(text)
    } catch {
      guard case .invalid(let field, let problem) = error else { throw error }
      throw SendoutError.invalid(field: field, problem: problem)
    }
  }

  /// The template in its current version; `nil` without a name.
  /// - Parameter isHeld: whether it must not be removed before the transaction ends, which names it.
  static func currentTemplate(
    _ customer: CustomerID, _ name: String?, in database: any Querying, isHeld: Bool = false
  ) async throws -> Template? {
    guard let name else { return nil }
    do {
      let templates = Templates(database)
      return isHeld
        ? try await templates.hold(customer, name: name) : try await templates.get(customer, name: name)
    } catch ContentError.templateUnknown {
      throw SendoutError.invalid(field: "template", problem: "names no template of this customer")
    }
  }

  /// What a request says of times, limits and variants, and whether it starts by that.
  static func campaign(_ request: SendoutRequest) throws(SendoutError) {
    let campaign = request.campaign
    if let (field, problem) = campaign.problem { throw .invalid(field: field, problem: problem) }
    if request.start == true, campaign.hasTime {
      let time = campaign.startAt == nil ? "localTime" : "startAt"
      throw .invalid(field: "start", problem: "is there beside \(time): leave it out, it starts then")
    }
    if request.start == true, request.draft == true {
      throw .invalid(field: "draft", problem: "is there beside start: leave out one of them")
    }
    if request.purpose == .transactional, campaign.quietHours != nil {
      throw .invalid(field: "quietHours", problem: "has no meaning for transactional messages: leave it out")
    }
  }

  /// A template's page is the message's link, so it cannot have another.
  static func checkLink(_ message: MessageTemplate, beside template: String?) throws(SendoutError) {
    if message.hasLink, template != nil {
      throw .invalid(
        field: "message.url", problem: "is there beside template, whose page is the url: leave out one of them")
    }
  }

  /// The apps' ids, each once.
  static func appIDs(_ appID: String?, _ appIDs: [String]?) throws -> [String] {
    switch (appID, appIDs) {
    case (let appID?, nil): return [appID]
    case (nil, let appIDs?):
      guard (1...20).contains(appIDs.count) else {
        throw SendoutError.invalid(field: "appIds", problem: "does not hold 1 to 20 ids")
      }
      return appIDs.indices.filter { !appIDs[..<$0].contains(appIDs[$0]) }.map { appIDs[$0] }
    case (nil, nil): throw SendoutError.invalid(field: "appId", problem: "is missing: give appId, or several as appIds")
    case (_?, _?): throw SendoutError.invalid(field: "appIds", problem: "is there beside appId: give one of them")
    }
  }

  /// Checks that something can be sent to each of the apps.
  /// - Parameter areCalls: whether apps that take nothing but calls are allowed. iOS ends an app that gets anything else there.
  /// - Throws: `SendoutError.appWithoutCredentials` for the first that nothing can be sent to yet, `.invalid` for one that takes calls.
  static func sendable(_ apps: [PushApp], areCalls: Bool = false) throws(SendoutError) -> [PushApp] {
    for app in apps {
      if app.kind.traits.takesCallsAlone, !areCalls {
        throw .invalid(field: "appId", problem: "\(app.appID) is a PushKit AppId, which takes calls alone")
      }
      if let field = app.missingCredential {
        throw .appWithoutCredentials(app.customer, app.id, appID: app.appID, app.type, field: field)
      }
    }
    return apps
  }

  static func audience(_ audience: Audience) throws {
    guard case .originalIds(let ids) = audience.included else { return }
    guard !ids.isEmpty else { throw SendoutError.invalid(field: "audience.originalIds", problem: "is empty") }
    guard ids.count <= Audience.originalIdLimit else {
      throw SendoutError.invalid(
        field: "audience.originalIds",
        problem: "holds \(ids.count) ids, and at most \(Audience.originalIdLimit) are allowed: use a list for more"
      )
    }
    for (index, id) in ids.enumerated() where id.utf8.contains(0) {
      throw SendoutError.invalid(field: "audience.originalIds[\(index)]", problem: "holds U+0000")
    }
  }
}
