import Operations
import Wire

/// One page of the console. Its route, permission, place in the navigation, links to API and command line, and tests come from it.
struct ConsolePage: Sendable {
  /// As in `/console/sendouts/{id}`.
  let path: String
  /// For navigation and tests, as in `Sendout`.
  let title: String
  /// Where the navigation shows it; `nil` for nowhere.
  let section: ConsoleSection?
  /// What it reads. A role that may not call one of them does not see the page.
  let reads: [AnyOperation]
  /// The query parameters that it knows, besides `part`.
  let query: [String]
  let show: @Sendable (ConsoleCall) async throws -> ConsoleView

  init(
    path: String, title: String, section: ConsoleSection? = nil, reads: [AnyOperation] = [], query: [String] = [],
    show: @escaping @Sendable (ConsoleCall) async throws -> ConsoleView
  ) {
    self.path = path
    self.title = title
    self.section = section
    self.reads = reads
    self.query = query
    self.show = show
  }

  /// Whether a user sees it.
  func isOpen(to role: Role, seesPersonal: Bool) -> Bool {
    reads.allSatisfy { $0.isOpen(to: role, seesPersonal: seesPersonal) }
  }
}

/// Parts of the console, in the order of its navigation. The first page of a section whose path is fixed stands in the navigation.
enum ConsoleSection: String, CaseIterable, Sendable {
  case overview, sendouts, calendar, contacts, lists, segments, triggers, messages, content, apps, channels, settings

  var title: String { rawValue.prefix(1).uppercased() + rawValue.dropFirst() }

  /// What is pressed behind `g` to get there.
  var key: String {
    switch self {
    case .calendar: "d"
    case .content: "n"
    case .segments: "f"
    case .channels: "h"
    case .settings: "e"
    default: String(rawValue.prefix(1))
    }
  }
}

/// What a page shows.
struct ConsoleView {
  var title: String
  /// Name of its file in `Templates/console`, without `.html`.
  var template: String
  /// For the template: texts, numbers, flags, `Markup`, and arrays and dictionaries of these. Texts are escaped, and so is whatever else.
  var values: [String: Any]
  /// The query behind what is on the page, for psql, with the customer's number filled in.
  var sql: String?
  /// The requests and commands behind the page. The frame adds those of `ConsoleCall.read`.
  var calls: [ConsoleLink]
  /// A whole rich page in place of the template's, for a frame `<iframe sandbox>` of the console.
  var document: String?
  /// A file in place of a page.
  var download: ConsoleDownload?
  /// Whether the block `{{$live}}…{{/live}}` of the template is read again every few seconds.
  var isLive: Bool

  init(
    title: String, template: String, values: [String: Any] = [:], sql: String? = nil, calls: [ConsoleLink] = [],
    isLive: Bool = false
  ) {
    self.title = title
    self.template = template
    self.values = values
    self.sql = sql
    self.calls = calls
    document = nil
    download = nil
    self.isLive = isLive
  }

  /// A rich page for a frame of the console.
  init(document: String) {
    self.init(title: "", template: "")
    self.document = document
  }

  init(download: ConsoleDownload) {
    self.init(title: "", template: "")
    self.download = download
  }

  /// A secret that is shown this once. It is the reply to the POST that made it, which nothing stores.
  /// - Parameters:
  ///   - use: a line that uses it, if there is one.
  ///   - back: where to go on.
  static func secret(
    _ title: String, label: String, _ secret: String, use: String?, note: String? = nil, back: String,
    _ backText: String
  ) -> ConsoleView {
    ConsoleView(
      title: title, template: "secret",
      values: [
        "label": label, "secret": secret, "use": use ?? "", "note": note ?? "", "back": back, "backText": backText,
      ])
  }
}

/// A file that a browser saves.
struct ConsoleDownload {
  let name: String
  /// As in `text/csv; charset=utf-8`.
  let type: String
  let bytes: [UInt8]
}

/// What does the same as a page, elsewhere.
struct ConsoleLink: Sendable, Hashable {
  /// The request, as a line of curl.
  let api: String
  /// The command line; `nil` where there is no command.
  let command: String?
}
