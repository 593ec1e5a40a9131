import Metrics
import Postgres
import Wire

/// A registration, and whether the reply has the contact and all its devices.
///
/// A class, so that a batch that passes it on counts one reference and not those of all its texts.
final class RegistrationRequest: Sendable {
  let registration: Registration
  let returnsContact: Bool

  init(_ registration: Registration, returnsContact: Bool) {
    self.registration = registration
    self.returnsContact = returnsContact
  }
}

/// One of the requests names an app that there is not, so nothing was written.
struct AppUnknown: Error {}

/// Another statement erased a contact, or wrote a device, while this one registered it. Run again, the requests find that.
struct RegistrationRaced: Error {}

/// Registrations of one customer on their way into `RegisterQueries.register`, and its answer on the way out.
struct RegisterBatch {
  /// Committed, with the contact if it was asked for; or left out.
  typealias Outcome = Result<Contact?, RegistryError>

  private let customer: CustomerID
  private let requests: [RegistrationRequest]

  init(_ customer: CustomerID, _ requests: [RegistrationRequest]) {
    self.customer = customer
    self.requests = requests
  }

  /// Runs the statement.
  /// - Returns: what became of each registration, in their order.
  /// - Throws: `RegistryError` if PostgreSQL refused what a lone registration holds; `AppUnknown`; `RegistrationRaced`; `PostgresError`.
  func run(on database: any Querying) async throws -> [Outcome] {
    do {
      return try await write(to: database)
    } catch PostgresError.server(let failure) where requests.count == 1 {
      if failure.constraint == "contact_properties_size", requests[0].registration.isOfDeviceKey {
        return try await withoutProperties(on: database)
      }
      throw refusal(failure, of: requests[0].registration) ?? PostgresError.server(failure)
    }
  }

  /// A device key lies in every copy of an app. If its holder learned that a contact's properties are full, they could measure what is
  /// stored of anybody. So its properties are dropped and the rest is registered. The statement does that itself, unless somebody
  /// else fills the contact's properties while it runs.
  private func withoutProperties(on database: any Querying) async throws -> [Outcome] {
    Self.droppedProperties.increment()
    var registration = requests[0].registration
    registration.properties = nil
    let request = RegistrationRequest(registration, returnsContact: requests[0].returnsContact)
    return try await RegisterBatch(customer, [request]).run(on: database)
  }

  private static let droppedProperties = Counter(label: "pushcart_registrations_without_properties_total")

  private func write(to database: any Querying) async throws -> [Outcome] {
    let returnsContacts = requests.contains(where: \.returnsContact)
    let statement = RegisterQueries.statement(
      returnsContacts: returnsContacts, changesLists: requests.contains { $0.registration.listID != .keep })
    let rows = try await database.run(statement, parameters)
    return returnsContacts ? try await outcomes(rows, on: database) : try await remarks(rows, on: database)
  }

  private var parameters: ParameterBuffer {
    let devices = requests.flatMap(\.registration.devices)
    let texts = requests.contains { !$0.registration.texts.isEmpty }
    var parameters = ParameterBuffer(capacity: 1024 + 512 * devices.count)
    parameters.append(customer.rawValue)
    parameters.append(each: requests) { $0.registration.originalID }
    parameters.append(each: requests) { $0.registration.listID.sql(clear: 0) { $0 } }
    parameters.append(each: requests) {
      $0.registration.dateOfBirth.sql(clear: CalendarDate(days: .max)) {
        CalendarDate(days: $0.day - CalendarDate.daysFromUnixEpoch)
      }
    }
    parameters.append(each: requests) { $0.registration.properties.map { JSONDocument($0) } }
    parameters.append(each: requests) { $0.returnsContact }
    parameters.append(each: texts ? requests.flatMap(\.registration.texts.values) : []) { $0 }
    let ordinals = requests.indices.flatMap { repeatElement($0 + 1, count: requests[$0].registration.devices.count) }
    parameters.append(each: ordinals) { $0 }
    parameters.append(each: devices) { $0.app.rawValue }
    parameters.append(each: devices) { $0.token.text }
    parameters.append(each: devices) { Bytes($0.token.key) }
    parameters.append(each: devices) { $0.isSandbox }
    parameters.append(each: devices) { $0.manufacturer }
    parameters.append(each: devices) { $0.model }
    parameters.append(each: devices) { $0.osVersion }
    parameters.append(each: devices) { $0.country }
    parameters.append(each: devices) { $0.invalidationType.rawValue }
    parameters.append(each: devices) { $0.invalidatedAt.map(PostgresTimestamp.init(milliseconds:)) }
    parameters.append(each: Set(requests.lazy.flatMap(\.registration.apps))) { $0.rawValue }
    parameters.append(each: requests) { $0.registration.key?.rawValue }
    parameters.append(each: requests) { $0.registration.isOfDeviceKey }
    parameters.append(each: requests) { $0.registration.devices.count { $0.invalidationType == .valid } }
    parameters.append(each: devices) { $0.timeZone }
    parameters.append(each: devices) { $0.locale }
    return parameters
  }

  private func remarks(_ rows: Rows, on database: any Querying) async throws -> [Outcome] {
    var outcomes = [Outcome](repeating: .success(nil), count: requests.count)
    var overLimit: [Int: ContactID] = [:]
    for row in rows {
      let (ordinal, remark, contact) = try row.decode(Int.self, Int16.self, Int64?.self)
      let meaning = ContactRow.Remark(rawValue: remark) ?? .none
      if case .mayHaveTooMany = meaning { overLimit[ordinal - 1] = contact.map(ContactID.init) }
      if let error = try error(meaning) { outcomes[ordinal - 1] = .failure(error) }
    }
    if !overLimit.isEmpty { _ = try await retireSurplus(of: overLimit, on: database) }
    return outcomes
  }

  private func outcomes(_ rows: Rows, on database: any Querying) async throws -> [Outcome] {
    var outcomes = [Outcome](repeating: .success(nil), count: requests.count)
    var contacts = [Contact?](repeating: nil, count: requests.count)
    var devices = [[Device]](repeating: [], count: requests.count)
    var others: [(ContactID, Device)] = []
    var overLimit: [Int: ContactID] = [:]
    for row in rows {
      let row = try ContactRow(row)
      let place = row.ordinal - 1
      if let device = row.device, let contact = row.contactID {
        if place < 0 { others.append((contact, device)) } else { devices[place].append(device) }
        continue
      }
      if case .mayHaveTooMany = row.remark { overLimit[place] = row.contactID }
      if let error = try error(row.remark) {
        outcomes[place] = .failure(error)
      } else if let contact = row.contact {
        contacts[place] = contact
      }
    }
    for (place, request) in requests.enumerated() where devices[place].count < request.registration.devices.count {
      if case .success = outcomes[place] { throw RegistrationRaced() }
    }
    if !overLimit.isEmpty {
      let retired = try await retireSurplus(of: overLimit, on: database)
      let ids = Set(retired.lazy.map { $0.1.id })
      for place in devices.indices { devices[place].removeAll { ids.contains($0.id) } }
      others = others.filter { !ids.contains($0.1.id) } + retired
    }
    if !others.isEmpty {
      let places = Dictionary(
        contacts.indices.lazy.compactMap { place in contacts[place].map { ($0.id, place) } }, uniquingKeysWith: { $1 })
      for (contact, device) in others {
        // Others in the batch may have asked about other apps.
        guard let place = places[contact], requests[place].registration.apps.contains(device.app) else { continue }
        devices[place].append(device)
      }
    }
    for (place, request) in requests.enumerated() where request.returnsContact && contacts[place] != nil {
      if devices[place].count > 1 { devices[place].sort { $0.id < $1.id } }
      contacts[place]?.devices = devices[place]
      outcomes[place] = .success(contacts[place])
    }
    return outcomes
  }

  /// - Parameter overLimit: the contacts that may have too many valid devices, by their requests.
  /// - Returns: the devices that made way, with their contacts.
  private func retireSurplus(
    of overLimit: [Int: ContactID], on database: any Querying
  ) async throws -> [(ContactID, Device)] {
    var parameters = ParameterBuffer()
    parameters.append(customer.rawValue)
    parameters.append(overLimit.map(\.value.rawValue))
    parameters.append(overLimit.map { requests[$0.key].registration.key?.rawValue })
    return try await database.run(RegisterQueries.retireSurplus, parameters).compactMap { row in
      let row = try ContactRow(row)
      guard let contact = row.contactID, let device = row.device else { return nil }
      return (contact, device)
    }
  }

  private static let listUnknown = RegistryError.invalid(field: "listId", problem: "names no list of this customer")

  /// - Throws: `AppUnknown`, if one of several requests names an app that there is not; `RegistrationRaced`.
  private func error(_ remark: ContactRow.Remark) throws -> RegistryError? {
    switch remark {
    case .none, .mayHaveTooMany: return nil
    case .raced: throw RegistrationRaced()
    case .propertiesDropped:
      Self.droppedProperties.increment()
      return nil
    case .listUnknown: return Self.listUnknown
    case .tooManyDevices(let limit):
      return .invalid(
        field: "deviceInfo", problem: "holds more than \(limit) valid devices, the devicesPerContact of this customer")
    case .appUnknown:
      guard requests.count == 1 else { throw AppUnknown() }
      return .appUnknown(appID: requests[0].registration.appID)
    }
  }

  /// What the failure of a statement with this one registration means to its sender; `nil` if it is not the sender's affair.
  private func refusal(_ failure: ServerError, of registration: Registration) -> RegistryError? {
    switch failure.constraint {
    case "contact_properties_size":
      .invalid(field: "properties", problem: "would grow beyond 64 KiB for this contact")
    default:
      // Class 22: the data were not to PostgreSQL's liking, so somebody sent what the checks above it did not foresee.
      failure.sqlState.hasPrefix("22")
        ? .invalid(field: "the body", problem: "holds a value that cannot be stored") : nil
    }
  }
}

extension Change {
  fileprivate func sql<Column>(clear: Column, _ value: (Value) -> Column) -> Column? {
    switch self {
    case .keep: nil
    case .clear: clear
    case .set(let set): value(set)
    }
  }
}
