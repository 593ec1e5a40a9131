import DataInOut
import Operations

/// A form's POST. Its page shows the form again with the errors at their fields if it is refused.
struct ConsoleAction: Sendable {
  /// As in `/console/sendouts/{id}/pause`.
  let path: String
  /// What it calls. A role that may not call it gets a 403.
  let operation: AnyOperation
  /// What a wide or destructive act says before it runs. GET of the path shows it as a page with one button; JavaScript shows it as a
  /// dialog for links with `data-confirm`. Query parameters that are fields go along.
  let confirms: Confirmation?
  /// What its form has. What else is sent is ignored, but for what the form adds to them by JavaScript or rows: `form.all`.
  let fields: [FormField]
  /// Path of the page that has the form, shown again on a refusal. It may have the parts of the action's own path.
  let form: String?
  let perform: @Sendable (ConsoleCall) async throws -> ConsoleDone
  /// Takes the file of a form that has one as its last field, which may be larger than memory; `nil` for forms that are read as a whole.
  let receive: Receive?

  typealias Receive = @Sendable (ConsoleCall, UploadedFile) async throws -> ConsoleDone

  init(
    path: String, operation: AnyOperation, confirms: Confirmation? = nil, fields: [FormField] = [],
    form: String? = nil, perform: @escaping @Sendable (ConsoleCall) async throws -> ConsoleDone
  ) {
    self.path = path
    self.operation = operation
    self.confirms = confirms
    self.fields = fields
    self.form = form
    self.perform = perform
    receive = nil
  }

  /// A form whose last field is a file, called `file`.
  init(
    path: String, operation: AnyOperation, fields: [FormField] = [], form: String? = nil, receive: @escaping Receive
  ) {
    self.path = path
    self.operation = operation
    confirms = nil
    self.fields = fields
    self.form = form
    perform = { _ in throw HTTPErrorResponse.badRequest("file is missing: choose one.") }
    self.receive = receive
  }
}

/// What is asked before something wide or destructive is done.
struct Confirmation: Sendable {
  /// As in `Cancel the sendout?`
  let title: String
  /// As in `Cancel the sendout`.
  let button: String
  let isDestructive: Bool
  /// Says what is done, and to how many.
  let text: @Sendable (ConsoleCall) async throws -> String

  init(
    title: String, button: String, isDestructive: Bool = true,
    text: @escaping @Sendable (ConsoleCall) async throws -> String
  ) {
    self.title = title
    self.button = button
    self.isDestructive = isDestructive
    self.text = text
  }

  init(title: String, button: String, isDestructive: Bool = true, text: String) {
    self.init(title: title, button: button, isDestructive: isDestructive) { _ in text }
  }
}

/// How a POST ends that is not refused.
enum ConsoleDone {
  /// Goes to a page (303), which says this once.
  case see(String, notice: String? = nil)
  /// Shows something once, such as the token of a new key.
  case show(ConsoleView)
  /// A file that is made while the browser takes it. The page with the form stays.
  case export(ExportPages, ExportRequest.Subject)
}
