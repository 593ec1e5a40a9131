import Postgres
import Wire

/// Registrations of one customer on their way into `RegisterQueries.register`, and its answer on the way out.
struct RegisterBatch {
  /// What became of one registration.
  enum Outcome {
    /// Committed; the contact is told if it was asked for.
    case registered(Contact?)
    case refused(any Error)
  }

  let customer: CustomerID
  let batch: [RegistrationQueue.Waiting]

  /// Runs the statement.
  /// - Returns: what became of each registration, in their order.
  func run(on database: any Querying) async throws -> [Outcome] {
    guard batch.contains(where: \.tells) else {
      return try silentOutcomes(try await database.run(RegisterQueries.register, parameters))
    }
    var parameters = parameters
    parameters.append(Set(batch.lazy.flatMap(\.registration.apps)).map(\.rawValue))
    return try outcomes(try await database.run(RegisterQueries.registerAndTell, parameters))
  }

  private var parameters: ParameterBuffer {
    let registrations = batch.map(\.registration)
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
    parameters.append(batch.map(\.tells))
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

  private static let listUnknown = Outcome.refused(
    RegistryError.invalid(field: "listId", problem: "names no list of this customer"))

  private func silentOutcomes(_ rows: Rows) throws -> [Outcome] {
    var outcomes = [Outcome](repeating: .registered(nil), count: batch.count)
    for row in rows { outcomes[try row.decode(Int.self) - 1] = Self.listUnknown }
    return outcomes
  }

  private func outcomes(_ rows: Rows) throws -> [Outcome] {
    var outcomes = [Outcome](repeating: .registered(nil), count: batch.count)
    var contact: Contact?
    var at = -1
    for row in rows {
      let row = try ContactRow(row)
      if row.ordinal - 1 != at {
        if let contact { outcomes[at] = .registered(contact) }
        at = row.ordinal - 1
        contact = row.contact
        if row.flag { outcomes[at] = Self.listUnknown }
      }
      // Others in the batch may have asked about other apps.
      if let device = row.device, batch[at].registration.apps.contains(device.app) { contact?.devices.append(device) }
    }
    if let contact { outcomes[at] = .registered(contact) }
    return outcomes
  }

  /// What the failure of a statement with this one registration means to its sender; the error itself if nothing.
  static func meaning(_ error: any Error, of registration: Registration, _ customer: CustomerID) -> any Error {
    guard case .server(let failure)? = error as? PostgresError else { return error }
    switch failure.constraint {
    case "contact_customer_id_fkey": return RegistryError.customerUnknown(customer)
    case "contact_list_id_fkey":
      return RegistryError.invalid(field: "listId", problem: "names no list of this customer")
    case "device_push_app_id_fkey": return RegistryError.appUnknown(appID: registration.appID)
    case "contact_properties_size":
      return RegistryError.invalid(field: "properties", problem: "would grow beyond 64 KiB for this contact")
    default: break
    }
    // Class 22: the data were not to PostgreSQL's liking, so somebody sent what the checks above it did not foresee.
    guard failure.sqlState.hasPrefix("22") else { return error }
    return RegistryError.invalid(field: "the body", problem: "holds a value that cannot be stored")
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
