import Postgres
import Wire

/// A registration, and whether its sender is told of the contact and all its devices.
struct RegistrationRequest: Sendable {
  let registration: Registration
  let returnsContact: Bool
}

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
  /// - Throws: `RegistryError` if PostgreSQL refused what a lone registration holds; `PostgresError`.
  func run(on database: any Querying) async throws -> [Outcome] {
    do {
      return try await write(to: database)
    } catch PostgresError.server(let failure) where requests.count == 1 {
      throw refusal(failure, of: requests[0].registration) ?? PostgresError.server(failure)
    }
  }

  private func write(to database: any Querying) async throws -> [Outcome] {
    guard requests.contains(where: \.returnsContact) else {
      return try outcomesWithoutContacts(try await database.run(RegisterQueries.register, parameters))
    }
    var parameters = parameters
    parameters.append(Set(requests.lazy.flatMap(\.registration.apps)).map(\.rawValue))
    return try outcomes(try await database.run(RegisterQueries.registerAndTell, parameters))
  }

  private var parameters: ParameterBuffer {
    let registrations = requests.map(\.registration)
    var parameters = ParameterBuffer()
    parameters.append(customer.rawValue)
    parameters.append(registrations.map(\.originalID))
    parameters.append(registrations.map { $0.listID.sql(clear: 0) { $0 } })
    parameters.append(
      registrations.map {
        $0.dateOfBirth.sql(clear: CalendarDate(days: .max)) {
          CalendarDate(days: $0.day - CalendarDate.daysFromUnixEpoch)
        }
      })
    parameters.append(registrations.map { $0.properties.map { JSONB($0) } })
    parameters.append(requests.map(\.returnsContact))
    for field in ContactField.allCases { parameters.append(registrations.map { $0.texts[field.rawValue] }) }
    parameters.append(registrations.enumerated().flatMap { index, each in each.devices.map { _ in index + 1 } })
    append(registrations.flatMap(\.devices), to: &parameters)
    return parameters
  }

  private func append(_ devices: [DeviceRegistration], to parameters: inout ParameterBuffer) {
    parameters.append(devices.map(\.app.rawValue))
    parameters.append(devices.map(\.token.text))
    parameters.append(devices.map { Bytes($0.token.key) })
    parameters.append(devices.map(\.isSandbox))
    parameters.append(devices.map(\.manufacturer))
    parameters.append(devices.map(\.model))
    parameters.append(devices.map(\.osVersion))
    parameters.append(devices.map(\.country))
    parameters.append(devices.map(\.invalidationType.rawValue))
    parameters.append(devices.map { $0.invalidatedAt.map(PostgresTimestamp.init(milliseconds:)) })
  }

  private static let listUnknown = RegistryError.invalid(field: "listId", problem: "names no list of this customer")

  private func outcomesWithoutContacts(_ rows: Rows) throws -> [Outcome] {
    var outcomes = [Outcome](repeating: .success(nil), count: requests.count)
    for row in rows { outcomes[try row.decode(Int.self) - 1] = .failure(Self.listUnknown) }
    return outcomes
  }

  private func outcomes(_ rows: Rows) throws -> [Outcome] {
    var outcomes = [Outcome](repeating: .success(nil), count: requests.count)
    var contact: Contact?
    var at = -1
    for row in rows {
      let row = try ContactRow(row)
      if row.ordinal - 1 != at {
        if let contact { outcomes[at] = .success(contact) }
        at = row.ordinal - 1
        contact = row.contact
        if row.flag { outcomes[at] = .failure(Self.listUnknown) }
      }
      // Others in the batch may have asked about other apps.
      if let device = row.device, requests[at].registration.apps.contains(device.app) {
        contact?.devices.append(device)
      }
    }
    if let contact { outcomes[at] = .success(contact) }
    return outcomes
  }

  /// What the failure of a statement with this one registration means to its sender; `nil` if it is not the sender's affair.
  private func refusal(_ failure: ServerError, of registration: Registration) -> RegistryError? {
    switch failure.constraint {
    case "contact_customer_id_fkey": .customerUnknown(customer)
    case "contact_list_id_fkey": Self.listUnknown
    case "device_push_app_id_fkey": .appUnknown(appID: registration.appID)
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
