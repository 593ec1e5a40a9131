public import ArgumentParser
import Operations
public import Wire

extension ContactID: ExpressibleByArgument {}
extension ContactSearchField: ExpressibleByArgument {}

struct ContactCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "contact", abstract: "Look for contacts, show and change one, and retire devices.",
    discussion: "Apps register contacts by Carma's API. pushcart report timeline tells what happened with one.",
    subcommands: [List.self, Show.self, Update.self, Retire.self])

  struct List: OperationCommand {
    static let operation = ContactOperations.list
    static let configuration = CommandConfiguration(
      abstract: "Look for contacts by the beginning of an original id, an e-mail address, a number or a name.",
      discussion: """
        Without --query all contacts are listed, the newest first.

        Example: pushcart contact list --customer 1 --query lars
        """)

    @Option(help: "Number of the customer.") var customer: CustomerID
    @Option(parsing: .unconditional, help: "How it begins. (default: all contacts)") var query: String?
    @Option(help: "Look at this alone. (default: at all of them)") var field: ContactSearchField?
    @OptionGroup var paging: PageOptions<String>
    @OptionGroup var options: ManagementOptions

    var target: ((String?, ContactSearchField?), PageRequest<String>) { ((query, field), paging.request) }

    func text(_ page: Page<ContactDetails, String>) -> String {
      TextTable(ContactDetails.columns, of: page.items).text(empty: "Customer \(customer) has no such contacts.")
        + page.more
    }
  }

  struct Show: OperationCommand {
    static let operation = ContactOperations.show
    static let configuration = CommandConfiguration(
      abstract: "Show a contact with its devices.", discussion: "Example: pushcart contact show 1 --customer 1")

    @Argument(help: "Number of the contact.") var contact: ContactID
    @Option(help: "Number of the customer.") var customer: CustomerID
    @OptionGroup var options: ManagementOptions

    var target: ContactID { contact }

    func text(_ contact: ContactDetails) -> String { contact.text }
  }

  struct Update: OperationCommand {
    static let operation = ContactOperations.change
    static let configuration = CommandConfiguration(
      abstract: "Change fields of a contact. Options that are left out change nothing.",
      discussion: """
        "" removes a field. What the app sends with its next registration counts again.

        Example: pushcart contact update 1 --customer 1 --field city=Lund --property food=fish
        """)

    @Argument(help: "Number of the contact.") var contact: ContactID
    @Option(help: "Number of the customer.") var customer: CustomerID
    @Option(
      name: .customLong("field"), parsing: .upToNextOption,
      help: ArgumentHelp(
        "A text: \(ContactField.allCases.map(\.name).joined(separator: ", ")).", valueName: "name=value"))
    var fields: [String] = []
    @Option(
      name: .customLong("property"), parsing: .upToNextOption,
      help: ArgumentHelp("A property; \"\" removes it.", valueName: "name=value"))
    var properties: [String] = []
    @Option(help: "A day, as in 1980-02-29; \"\" removes it.") var dateOfBirth: String?
    @Option(
      parsing: .upToNextOption, help: "Numbers of the lists that it is on from now on; \"\" for none.")
    var listIds: [Change<ListID>] = []
    @OptionGroup var options: ManagementOptions

    var target: ContactID { contact }

    var body: ContactRequest {
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
          listIds: listIds.isEmpty ? nil : listIds.compactMap(\.value), texts: texts, dateOfBirth: dateOfBirth,
          properties: properties.isEmpty ? nil : Dictionary(properties) { $1 })
      }
    }

    func text(_ contact: ContactDetails) -> String { contact.text }
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
    for (name, value) in (properties ?? [:]).sorted(by: { $0.key < $1.key }) {
      fields.add("properties.\(name)", value.text ?? String(decoding: value.json, as: UTF8.self))
    }
    var table = TextTable("#Device", "App", "Platform", "Model", "Registered (UTC)", "Invalid since (UTC)", "Reason")
    for device in devices ?? [] {
      table.add(
        "\(device.deviceId)", device.appId, device.appType.name, device.model, device.registeredAt.forPeople,
        device.invalidatedAt?.forPeople, device.invalidationReason)
    }
    return "Contact \(contactId)\n" + fields.text(empty: "") + "\n" + table.text(empty: "It has no device.")
  }
}
