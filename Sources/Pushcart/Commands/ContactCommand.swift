public import ArgumentParser
import Operations
public import Wire

extension ContactID: ExpressibleByArgument {}
extension ContactSearchField: ExpressibleByArgument {}
extension ContactOperations: CommandedOperations { static var commands: [Command] { [ContactCommand.self] } }

struct ContactCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "contact", abstract: "Look for contacts, show, add, change and erase one, and retire devices.",
    discussion: "Apps register contacts by Carma's API. pushcart report timeline tells what happened with one.",
    subcommands: [List.self, Show.self, Put.self, Update.self, Data.self, Erase.self, Retire.self])

  struct List: OperationCommand {
    static let operation = ContactOperations.list
    static let configuration = CommandConfiguration(
      abstract: "Look for contacts by the beginning of an original id, an e-mail address, a number or a name.",
      discussion: """
        Without --query all contacts are listed, the newest first. With --filter, only those who meet it.

        Example: pushcart contact list --customer 1 --query lars --filter "country = 'SE'"
        """)

    @Option(help: "Number of the customer.") var customer: CustomerID
    @Option(parsing: .unconditional, help: "How it begins. (default: all contacts)") var query: String?
    @Option(help: "Look at this alone. (default: at all of them)") var field: ContactSearchField?
    @Option(
      parsing: .unconditional, help: "Only contacts that meet this: a line of text, or a tree as JSON.",
      transform: { try Filter(textOrTree: $0) })
    var filter: Filter?
    @OptionGroup var paging: PageOptions<String>
    @OptionGroup var options: ManagementOptions

    var target: (((String?, ContactSearchField?), Filter?), PageRequest<String>) {
      (((query, field), filter), paging.request)
    }

    func text(_ page: Page<ContactDetails, String>) -> String {
      TextTable(ContactDetails.columns, of: page.items).text(empty: "Customer \(customer) has no such contacts.")
        + page.more
    }
  }

  struct Show: OneContactCommand {
    static let operation = ContactOperations.show
    static let configuration = CommandConfiguration(
      abstract: "Show a contact with its devices, lists and segments, and what happened with it.",
      discussion: "Example: pushcart contact show lars@example.com --customer 1")

    @OptionGroup var which: OriginalIDOptions
    @OptionGroup var options: ManagementOptions
  }

  struct Put: ContactChangingCommand {
    static let operation = ContactOperations.put
    static let configuration = CommandConfiguration(
      abstract: "Add a contact, or replace all that is known of one.",
      discussion: """
        Fields and properties that are left out are removed. Lists stay as they are without --list-ids, and devices stay.

        Example: pushcart contact put lars@example.com --customer 1 --field city=Lund --property food=fish
        """)

    @OptionGroup var which: OriginalIDOptions
    @OptionGroup var fields: ContactOptions
    @OptionGroup var options: ManagementOptions
  }

  struct Update: ContactChangingCommand {
    static let operation = ContactOperations.change
    static let configuration = CommandConfiguration(
      abstract: "Change fields of a contact. Options that are left out change nothing.",
      discussion: """
        "" removes a field. What the app sends with its next registration counts again.

        Example: pushcart contact update lars@example.com --customer 1 --field city=Lund --property food=fish
        """)

    @OptionGroup var which: OriginalIDOptions
    @OptionGroup var fields: ContactOptions
    @OptionGroup var options: ManagementOptions
  }

  struct Data: OneContactCommand {
    static let operation = ContactOperations.data
    static let configuration = CommandConfiguration(
      abstract: "Show all that is stored of a person, as JSON.",
      discussion: "Example: pushcart contact data lars@example.com --customer 1 > lars.json")

    @OptionGroup var which: OriginalIDOptions
    @OptionGroup var options: ManagementOptions

    func text(_ reply: ContactDataReply) -> String {
      let json = (try? JSONValue(encoding: reply).json) ?? []
      return String(decoding: json, as: UTF8.self) + "\n"
    }
  }

  struct Erase: OneContactCommand {
    static let operation = ContactOperations.erase
    static let configuration = CommandConfiguration(
      abstract: "Erase all that is stored of a person. Hubs finish it; the same command shows whether they have.",
      discussion: """
        Totals, pushes without identity and suppressions stay. It cannot be undone.

        Example: pushcart contact erase lars@example.com --customer 1
        """)

    @OptionGroup var which: OriginalIDOptions
    @OptionGroup var options: ManagementOptions

    func text(_ reply: ErasureReply) -> String {
      let named = reply.filters.map { "The filter of \($0) names the person, and stays.\n" }.joined()
      return "Contact \(reply.contactId) is erased. A hub that serves this database clears what else is stored.\n"
        + named
    }
  }

  struct Retire: OperationCommand {
    static let operation = ContactOperations.retire
    static let configuration = CommandConfiguration(
      abstract: "Send nothing more to a device until its app registers it again.",
      discussion: "Example: pushcart contact retire 12 --customer 1")

    @Argument(help: "Number of the device.") var device: DeviceID
    @Option(help: "Number of the customer.") var customer: CustomerID
    @OptionGroup var options: ManagementOptions

    var target: DeviceID { device }

    func text(_ device: DeviceDetails) -> String {
      "Device \(device.deviceId) is retired since \(device.invalidatedAt?.description ?? "now").\n"
    }
  }
}

/// A command about one contact.
protocol OneContactCommand: OperationCommand where Target == String {
  var which: OriginalIDOptions { get }
}

extension OneContactCommand {
  var customer: CustomerID { which.customer }
  var target: String { which.originalId }
}

extension OneContactCommand where Reply == ContactDetails {
  func text(_ contact: ContactDetails) -> String { contact.text }
}

/// A command that says what is known of a contact.
protocol ContactChangingCommand: OneContactCommand where Body == ContactRequest, Reply == ContactDetails {
  var fields: ContactOptions { get set }
}

extension ContactChangingCommand {
  var body: ContactRequest { get throws { try fields.request } }

  func resolved(in stores: ManagementStores) async throws -> Self {
    var command = self
    command.fields = try await fields.resolved(of: customer, in: stores)
    return command
  }
}

/// Which contact.
struct OriginalIDOptions: ParsableArguments {
  @Argument(help: "The customer's own id of the user.") var originalId: String
  @Option(help: "Number of the customer.") var customer: CustomerID
}

/// What is known of a contact, as options.
struct ContactOptions: ParsableArguments {
  @Option(
    name: .customLong("field"), parsing: .upToNextOption,
    help: ArgumentHelp("A text: \(ContactField.allCases.map(\.name).joined(separator: ", ")).", valueName: "name=value")
  )
  var fields: [String] = []
  @Option(
    name: .customLong("property"), parsing: .upToNextOption,
    help: ArgumentHelp("A property; \"\" removes it.", valueName: "name=value"))
  var properties: [String] = []
  @Option(help: "A day, as in 1980-02-29; \"\" removes it.") var dateOfBirth: String?
  @Option(
    parsing: .upToNextOption, help: "Names or numbers of the lists that it is on from now on; \"\" for none.")
  var listIds: [String] = []

  /// With numbers in place of names of lists.
  func resolved(of customer: CustomerID, in stores: ManagementStores) async throws -> Self {
    var options = self
    for (index, list) in listIds.enumerated() {
      guard let reference = FilterReference(argument: list) else { continue }
      let number = try await stores.number(of: reference, ListReply.self, customer, argument: "--list-ids")
      options.listIds[index] = "\(number)"
    }
    return options
  }

  /// - Throws: `ValidationError`.
  var request: ContactRequest {
    get throws {
      var texts = ContactTexts()
      for named in try NamedValue.all(fields, of: "field") {
        guard let field = ContactField.allCases.first(where: { $0.name.hasSameBytes(as: named.name) }) else {
          throw ValidationError("--field has no \(named.name.onOneLine).")
        }
        texts[field] = named.value
      }
      let properties = try NamedValue.all(properties, of: "property").map {
        (UTF8String($0.name), $0.value.isEmpty ? JSONValue.null : .string($0.value))
      }
      return ContactRequest(
        listIds: listIds.isEmpty ? nil : listIds.compactMap { ListID($0) }, texts: texts,
        dateOfBirth: dateOfBirth,
        properties: properties.isEmpty ? nil : Dictionary(properties) { $1 })
    }
  }
}

extension ContactDetails {
  /// Of lists of contacts.
  static var columns: [TableColumn<ContactDetails>] {
    [
      TableColumn("#Contact") { "\($0.contactId)" }, TableColumn("Original id") { $0.originalId },
      TableColumn("Name") { $0.fullName }, TableColumn("E-mail address") { $0.texts[.emailAddress] },
      TableColumn("Mobile number") { $0.texts[.mobileNumber] }, TableColumn("Lists") { $0.lists },
      TableColumn("Registered (UTC)") { $0.createdAt.forPeople },
    ]
  }

  private var lists: String { listIds.map(\.description).joined(separator: ", ") }

  /// The contact for people, with its devices.
  fileprivate var text: String {
    var fields = TextTable("Field", "Value")
    fields.add("originalId", originalId)
    for field in ContactField.allCases { if let text = texts[field] { fields.add(field.name, text) } }
    if let dateOfBirth { fields.add("dateOfBirth", dateOfBirth) }
    if !listIds.isEmpty { fields.add("listIds", lists) }
    for segment in segments ?? [] { fields.add("segments", "\(segment.segmentId) \(segment.name)") }
    for (name, value) in (properties ?? [:]).sorted(by: { $0.key < $1.key }) {
      fields.add("properties.\(name)", value.text ?? String(decoding: value.json, as: UTF8.self))
    }
    var table = TextTable("#Device", "App", "Platform", "Model", "Registered (UTC)", "Invalid since (UTC)", "Reason")
    for device in devices ?? [] {
      table.add(
        "\(device.deviceId)", device.appId, device.appType.name, device.model, device.registeredAt.forPeople,
        device.invalidatedAt?.forPeople, device.invalidationReason)
    }
    var events = TextTable("When (UTC)", "What", "Detail", "#Device", "#Sendout")
    for event in timeline ?? [] {
      events.add(
        event.at?.forPeople, event.event, event.detail, event.deviceId?.description, event.sendoutId?.description)
    }
    return "Contact \(contactId)\n" + fields.text(empty: "") + "\n" + table.text(empty: "It has no device.")
      + (timeline == nil ? "" : "\n" + events.text(empty: "Nothing has happened with it.\n"))
  }
}
