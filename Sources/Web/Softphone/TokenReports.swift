import FoundationEssentials
import HTTPTypes
import Hummingbird
import Operations
public import Registry
import Wire

/// What softphones report by their push token reporter and their account removal reporter.
public struct TokenReports: Sendable {
  let pushApps: PushAppCache
  let registrations: RegistrationBatcher
  let contacts: ContactLookup
  let devices: Devices
  let customers: Customers
  let identities: IdentityVerifier

  public init(
    pushApps: PushAppCache, registrations: RegistrationBatcher, contacts: ContactLookup, devices: Devices,
    customers: Customers,
    identities: IdentityVerifier
  ) {
    self.pushApps = pushApps
    self.registrations = registrations
    self.contacts = contacts
    self.devices = devices
    self.customers = customers
    self.identities = identities
  }

  /// Registers the tokens of a report for its selector: that of the PushKit AppId and the other one, or one of both.
  func register(_ access: Access, _ reported: ReportedFields, _ identity: String?) async throws {
    let report = try await report(access, reported, identity)
    var pairs: [(app: PushApp, token: String)] = []
    for (field, appIDField) in [
      (ReporterField.pushTokenOther, ReporterField.appIDOther), (.pushTokenIncomingCall, .appIDIncomingCall),
    ] {
      let common = field == .pushTokenOther ? report[.pushToken] : nil
      guard let text = report[field] ?? common else { continue }
      guard let appID = report[appIDField] ?? access.appID else { throw report.missing(appIDField) }
      guard access.opens(appID: appID) else { throw HTTPErrorResponse.boundElsewhere }
      guard let token = SoftphoneToken(text, isForm: reported.isForm) else {
        throw HTTPErrorResponse.badRequest("\(report.name(field)) is no base64.")
      }
      guard let app = token.app(of: try await pushApps.apps(access.customer, appID: appID)) else {
        throw RegistryError.appUnknown(appID: appID)
      }
      // Android reports the same pair twice.
      let native = token.native(app.type)
      if !pairs.contains(where: { $0.app.id == app.id && $0.token == native }) { pairs.append((app, native)) }
    }
    guard !pairs.isEmpty else { throw report.missing(.pushTokenOther) }
    let rules = access.scope == .device ? try await pushApps.all(access.customer) : []
    for (app, token) in pairs {
      let body = try rules.restrict(report.body(token, app.type))
      let registration = try Registration(body, apps: [app], access: access)
      try await registrations.register(access.customer, registration, returnsContact: false)
    }
  }

  /// Invalidates the selector's devices of all softphones, those of its PushKit AppId too.
  func retire(_ access: Access, _ reported: ReportedFields, _ identity: String?) async throws {
    let report = try await report(access, reported, identity)
    let apps = try await pushApps.all(access.customer).filter { $0.kind != .app && access.opens(appID: $0.appID) }
    let contact = try await contacts.find(access.customer, originalID: report.selector, apps: apps.map(\.id))
    for app in apps {
      let valid = contact?.devices.filter { $0.app == app.id && $0.invalidatedAt == nil }.map(\.token) ?? []
      for start in stride(from: 0, to: valid.count, by: PushDevicesBody.maximumDevices) {
        let tokens = valid.dropFirst(start).prefix(PushDevicesBody.maximumDevices)
        let body = PushDevicesBody(
          originalId: report.selector, deviceInfo: tokens.map { .init(deviceToken: $0) })
        try await devices.invalidate(access.customer, try Invalidation(body, apps: [app], access: access))
      }
    }
  }

  private func report(_ access: Access, _ reported: ReportedFields, _ identity: String?) async throws -> TokenReport {
    let names = try await customers.find(access.customer)?.settings.reporterFields ?? [:]
    let report = try TokenReport(reported, names)
    if access.scope == .device {
      try await identities.verify(identity, of: report.selector, for: try await pushApps.all(access.customer))
    }
    return report
  }
}

/// The fields of a report, by the names that the client gave them.
struct ReportedFields: Sendable {
  let members: [UTF8String: JSONValue]
  /// Whether they came in a form or a query.
  let isForm: Bool

  init(_ members: [UTF8String: JSONValue]) { (self.members, isForm) = (members, false) }
  init(_ form: FormFields) { (members, isForm) = (form.attributes, true) }
}

/// One report, read by the customer's names for its fields. The password is never read.
private struct TokenReport {
  let selector: String
  private let names: [ReporterField: String]
  private let values: [ReporterField: String]

  init(_ reported: ReportedFields, _ names: [ReporterField: String]) throws {
    self.names = names
    var values: [ReporterField: String] = [:]
    for field in ReporterField.allCases {
      do {
        values[field] = try SoftphonePush.text(names[field] ?? field.rawValue, of: reported.members)
      } catch {
        throw HTTPErrorResponse.badRequest(error.sentence)
      }
    }
    guard let selector = values[.selector] else {
      throw HTTPErrorResponse.badRequest("\(names[.selector] ?? ReporterField.selector.rawValue) is missing.")
    }
    self.values = values
    self.selector = reported.isForm ? SoftphonePush.withPlus(selector) : selector
  }

  subscript(_ field: ReporterField) -> String? { values[field] }

  func name(_ field: ReporterField) -> String { names[field] ?? field.rawValue }

  func missing(_ field: ReporterField) -> HTTPErrorResponse { .badRequest("\(name(field)) is missing.") }

  /// The registration of a token, with what is known of the user as properties.
  func body(_ token: String, _ type: AppType) -> PushDevicesBody {
    var body = PushDevicesBody(originalId: selector, deviceInfo: [.init(deviceToken: token, appType: type)])
    var properties: [UTF8String: JSONValue] = [:]
    properties["username"] = self[.username].map(JSONValue.string)
    properties["cloudUsername"] = self[.cloudUsername].map(JSONValue.string)
    if !properties.isEmpty { body.properties = String(decoding: JSONValue.object(properties).json, as: UTF8.self) }
    return body
  }
}

extension Request {
  /// The fields of a query, of a form, or of a JSON object.
  func reported() async throws -> ReportedFields {
    // Whoever asks for the head alone, as scanners of links do, must change nothing.
    guard method != .head else { throw HTTPErrorResponse.badRequest("A report is sent by GET or POST.") }
    if method == .get { return ReportedFields(try FormFields((uri.query ?? "").utf8)) }
    if FormFields.isType(headers[.contentType]) {
      return ReportedFields(try FormFields(try await bytes().readableBytesView))
    }
    guard case .object(let members) = try JSONValue(json: Array(try await jsonBytes().readableBytesView)) else {
      throw HTTPErrorResponse.badRequest("The body must be a JSON object, or a form.")
    }
    return ReportedFields(members)
  }
}
