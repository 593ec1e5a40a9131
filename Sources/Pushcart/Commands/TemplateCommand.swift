import ArgumentParser
import Content
import Web
import Wire

struct TemplateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "template", abstract: "Save, list and show templates of rich pages.",
    discussion: """
      Templates are Mustache. Saving adds a version; a sendout keeps the version it was started with.

      Variables: \(PageContext.variables.joined(separator: ", ")), properties.NAME or just NAME for a property of the contact, \
      and sendout.fields.NAME for a further field of the message. A NAME with blanks or signs stands in quotation marks, as JSON \
      writes it: properties."first name".
      """,
    subcommands: [Put.self, List.self, Show.self])

  struct Put: ManagementCommand {
    static let configuration = CommandConfiguration(
      abstract: "Save a template's next version.",
      discussion: "Example: pushcart template put --customer 1 --name offer --file offer.html")

    @Option(help: "Number of the customer.") var customer: CustomerID
    @Option(help: "Letters, digits, dots, hyphens and underscores.") var name: String
    @Option(help: "File that holds the Mustache text.", completion: .file()) var file: String
    @Option(help: "Media type of the page. (default: by the file's name, else text/html)")
    var contentType: String?
    @OptionGroup var options: ManagementOptions

    func run(in stores: ManagementStores) async throws {
      let format = contentType == nil ? TemplateFormat(fileName: file) : nil
      let request = TemplateRequest(contentType: contentType, body: try InputFile(file).text)
      let template = try await stores.change(customer) { [name] in
        try await $0.saveTemplate(name, request, format: format)
      }
      try options.output.show(template) {
        "Template \($0.name.onOneLine) is saved as version \($0.version), \($0.contentType).\n"
          + ($0.warnings ?? []).map { "Note: \($0)\n" }.joined()
      }
    }
  }

  struct List: ManagementCommand {
    static let configuration = CommandConfiguration(
      abstract: "List the current version of each template.",
      discussion: "Example: pushcart template list --customer 1")

    @Option(help: "Number of the customer.") var customer: CustomerID
    @OptionGroup var options: ManagementOptions

    func run(in stores: ManagementStores) async throws {
      let templates = try await stores.templates.list(customer).map { TemplateReply($0) }
      try options.output.show(Page<TemplateReply, String>(items: templates, next: nil)) { page in
        var table = TextTable("Template", "#Version", "Content type", "Saved (UTC)")
        for template in page.items {
          table.add(template.name, "\(template.version)", template.contentType, template.createdAt.forPeople)
        }
        return table.text(empty: "Customer \(customer) has no templates.")
      }
    }
  }

  struct Show: ManagementCommand {
    static let configuration = CommandConfiguration(
      abstract: "Print a template's text.",
      discussion: "Example: pushcart template show offer --customer 1 --version 2")

    @Argument(help: "Name of the template.") var name: String
    @Option(help: "Number of the customer.") var customer: CustomerID
    @Option(help: "Version to show. (default: the current one)") var version: Int32?
    @OptionGroup var options: ManagementOptions

    func run(in stores: ManagementStores) async throws {
      let template = TemplateReply(try await stores.templates.get(customer, name: name, version: version))
      if options.json {
        try options.output.show(template) { _ in "" }
      } else {
        options.output.showExactly(template.body ?? "")
      }
    }
  }
}
