import ArgumentParser
import FoundationEssentials

/// Hidden, since it is of use to those alone who change the hub.
struct DocumentsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "documents", abstract: "Write the documents that come from the hub's own tables.",
    discussion: """
      These are the pages of settings, of the command line and of errors.

      Example: pushcart documents --folder docs
      """, shouldDisplay: false)

  @Option(help: "Folder of the documents.", completion: .directory) var folder = "docs"

  func run() throws {
    for document in try Document.all() {
      let path = "\(folder)/\(document.name)"
      do {
        try Data(document.text.utf8).write(to: URL(filePath: path))
      } catch {
        throw CommandFailure("The file \(path) cannot be written.")
      }
      StandardStream.output.line(path)
    }
  }
}
