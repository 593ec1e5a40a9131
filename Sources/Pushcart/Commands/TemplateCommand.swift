import ArgumentParser
import Content
import Operations
import Wire

extension TemplateOperations: CommandedOperations { static var commands: [Command] { [TemplateCommand.self] } }

struct TemplateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "template", abstract: "Save, list, show, preview and remove templates of rich pages.",
    discussion: """
      Templates are Mustache. Saving adds a version; a sendout keeps the version it was started with.

      Variables: \(PageContext.variables.joined(separator: ", ")), properties.NAME or just NAME for a property of the contact, \
      and sendout.fields.NAME for a further field of the message. A NAME with blanks or signs stands in quotation marks, as JSON \
      writes it: properties."first name".
      """,
    subcommands: [Put.self, List.self, Show.self, Versions.self, Uses.self, Preview.self, Remove.self])

  struct Put: OperationCommand {
    static let operation = TemplateOperations.save
    static let configuration = CommandConfiguration(
      abstract: "Save a template's next version.",
      discussion: "Example: pushcart template put --customer 1 --name offer --file offer.html")

    @Option(help: "Number of the customer.") var customer: CustomerID
    @Option(help: "Letters, digits, dots, hyphens and underscores.") var name: String
    @Option(help: "File that holds the Mustache text.", completion: .file()) var file: String
    @Option(help: "Media type of the page. (default: by the file's name, else text/html)")
    var contentType: String?
    @OptionGroup var options: ManagementOptions

    var target: String { name }
    var body: TemplateRequest {
      get throws {
        TemplateRequest(
          contentType: contentType ?? TemplateFormat(fileName: file)?.contentType, body: try InputFile(file).text)
      }
    }

    func text(_ template: TemplateReply) -> String {
      "Template \(template.name.onOneLine) is saved as version \(template.version), \(template.contentType).\n"
        + (template.warnings ?? []).map { "Note: \($0)\n" }.joined()
    }
  }

  struct List: ListingCommand {
    static let operation = TemplateOperations.list
    static let configuration = CommandConfiguration(
      abstract: "List the current version of each template.",
      discussion: "Example: pushcart template list --customer 1")
    static let things = "templates"
    static var columns: [Column] {
      [
        Column("Template") { $0.name },
        Column("#Version") { "\($0.version)" },
        Column("Content type") { $0.contentType },
        Column("Saved (UTC)") { $0.createdAt.forPeople },
      ]
    }

    @OptionGroup var common: CustomerOptions
  }

  struct Show: ManagementCommand, OperationCalling {
    static let operationID = TemplateOperations.show.description.id
    static let configuration = CommandConfiguration(
      abstract: "Print a template's text.",
      discussion: "Example: pushcart template show offer --customer 1 --version 2")

    @Argument(help: "Name of the template.") var name: String
    @Option(help: "Number of the customer.") var customer: CustomerID
    @Option(help: "Version to show. (default: the current one)") var version: Int32?
    @OptionGroup var options: ManagementOptions

    func run(in stores: ManagementStores) async throws {
      let template = try await stores.call(TemplateOperations.show, of: customer, (name, version), ())
      if options.json {
        try options.output.show(template) { _ in "" }
      } else {
        options.output.showExactly(template.body ?? "")
      }
    }
  }

  struct Versions: OperationCommand {
    static let operation = TemplateOperations.versions
    static let configuration = CommandConfiguration(
      abstract: "List a template's versions, the newest first.",
      discussion: "Example: pushcart template versions offer --customer 1")

    @Argument(help: "Name of the template.") var name: String
    @Option(help: "Number of the customer.") var customer: CustomerID
    @OptionGroup var paging: PageOptions<String>
    @OptionGroup var options: ManagementOptions

    var target: (String, PageRequest<String>) { (name, paging.request) }

    func text(_ page: Page<TemplateReply, String>) -> String {
      TextTable(List.columns, of: page.items).text(empty: "There are no earlier versions.") + page.more
    }
  }

  struct Uses: OperationCommand {
    static let operation = TemplateOperations.uses
    static let configuration = CommandConfiguration(
      abstract: "List the triggers and sendouts that have a template's page.",
      discussion: "Example: pushcart template uses offer --customer 1")

    @Argument(help: "Name of the template.") var name: String
    @Option(help: "Number of the customer.") var customer: CustomerID
    @OptionGroup var options: ManagementOptions

    var target: String { name }

    func text(_ uses: TemplateUses) -> String {
      var table = TextTable("Used by", "#Number", "Name", "State")
      for trigger in uses.triggers { table.add("trigger", "\(trigger.triggerId)", trigger.name, nil) }
      for sendout in uses.sendouts {
        table.add("sendout", "\(sendout.sendoutId)", sendout.name, sendout.state.rawValue)
      }
      return table.text(empty: "Nothing uses template \(uses.name.onOneLine).")
    }
  }

  struct Remove: OperationCommand {
    static let operation = TemplateOperations.remove
    static let configuration = CommandConfiguration(
      abstract: "Remove a template with all of its versions. Pages of pushes that were sent stay.",
      discussion: "Example: pushcart template remove offer --customer 1")

    @Argument(help: "Name of the template.") var name: String
    @Option(help: "Number of the customer.") var customer: CustomerID
    @OptionGroup var options: ManagementOptions

    var target: String { name }

    func text(_ template: TemplateReply) -> String { "Template \(template.name.onOneLine) is removed.\n" }
  }

  struct Preview: ManagementCommand, OperationCalling {
    static let operationID = TemplateOperations.preview.description.id
    static let configuration = CommandConfiguration(
      abstract: "Print the page that a template gives for a contact.",
      discussion: """
        Nothing is stored or sent. Links of the page lead to no push.

        Example: pushcart template preview --customer 1 --file offer.html --to lars@example.com > page.html
        """)

    @Option(help: "Number of the customer.") var customer: CustomerID
    @Option(help: "File that holds the Mustache text.", completion: .file()) var file: String
    @Option(help: "Media type of the page. (default: by the file's name, else text/html)")
    var contentType: String?
    @Option(help: "The contact with this original id. (default: an empty one)") var to: String?
    @Option(help: "What sendout.alert stands for.") var alert: String?
    @OptionGroup var options: ManagementOptions

    func run(in stores: ManagementStores) async throws {
      let request = PagePreviewRequest(
        contentType: contentType ?? TemplateFormat(fileName: file)?.contentType, body: try InputFile(file).text,
        originalId: to, message: alert.map { MessageBody(alert: $0) })
      let preview = try await stores.call(TemplateOperations.preview, of: customer, (), request)
      if options.json {
        try options.output.show(preview) { _ in "" }
      } else {
        let notes =
          preview.problems.map { "Line \($0.line), column \($0.column): \($0.reason.onOneLine).\n" }
          + preview.warnings.map { "Note: \($0)\n" }
        StandardStream.error.write(notes.joined())
        options.output.showExactly(preview.page ?? "")
      }
      if !preview.problems.isEmpty { throw ExitCode.failure }
    }
  }
}
