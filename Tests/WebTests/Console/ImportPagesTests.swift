import DataInOut
import Foundation
import Postgres
import Registry
import Support
import Testing
import Wire

@testable import Web

@Suite struct ImportPagesTests {
  private static let file = "Kundnr;<b>Namn;E-mail\r\n1;<i>Lars;lars@example.com\r\n;Mia;mia@example.com\r\n"

  private func work(_ console: ConsoleServer, _ number: Int64 = 1) async throws {
    let work = ImportWork(console.database.pool, suppressions: .ofTests, endpoints: EndpointRules())
    while try await work.step(console.customer, ImportID(number)) {}
  }

  /// Sends the file, and returns the path of its import.
  private func send(
    _ browser: ConsoleBrowser, _ fields: [(String, String)] = [("mode", "upsert")], file: String = Self.file
  ) async throws -> String {
    _ = try await browser.get("/console/imports/new")
    let sent = try await browser.upload("/console/imports/new", fields, files: [("file", file)])
    #expect(sent.status == 303, "\(sent.text)")
    return try #require(sent.header("Location"))
  }

  private func list(_ console: ConsoleServer) async throws -> ListID {
    try await ContactLists(console.database.pool).add(console.customer, name: "newsletter").listId
  }

  @Test func `A file is sent, its columns are matched on its rows, tried, and imported`() async throws {
    try await withConsole { console in
      let browser = try await console.browser(.marketer)
      let list = try await list(console)
      let empty = try await browser.get("/console/imports").text
      #expect(empty.contains("Nothing was imported yet") && empty.contains("pushcart import customers.csv"))
      let new = try await browser.get("/console/imports/new?list=\(list)").text
      #expect(new.contains(#"<option value="\#(list)" selected>newsletter</option>"#), "\(new)")
      #expect(new.contains(#"enctype="multipart/form-data""#))

      let path = try await send(browser, [("mode", "upsert"), ("listId", "\(list)")])
      let review = try await browser.get(path).text
      #expect(review.contains("What are the columns?") && review.contains("In review"), "\(review)")
      #expect(review.contains("&lt;b&gt;Namn") && review.contains("&lt;i&gt;Lars"))
      #expect(!review.contains("<b>Namn") && !review.contains("<i>Lars"))
      // A heading that is a field's name is matched already.
      #expect(review.contains(#"<option value="emailAddress" selected>"#))

      let columns = [("column.0", "originalId"), ("column.1", "properties."), ("property.1", "namn")]
      let settings = [("identity", "originalId"), ("mode", "upsert"), ("column.2", "emailAddress")]
      let refused = try await browser.post("\(path)/start", settings + [("column.1", "firstName"), ("run", "try")])
      #expect(refused.status == 400 && refused.text.contains("No column is originalId"), "\(refused.text)")
      #expect(refused.text.contains(#"<option value="firstName" selected>"#))
      #expect(try await browser.post("\(path)/start", settings + columns + [("run", "try")]).status == 303)
      try await work(console)
      let tried = try await browser.get(path).text
      #expect(tried.contains("What would become of the rows") && tried.contains("is empty"), "\(tried)")
      #expect(try await console.database.query("SELECT FROM contact").isEmpty)

      #expect(try await browser.post("\(path)/start", settings + columns + [("run", "import")]).status == 303)
      try await work(console)
      let done = try await browser.get(path).text
      #expect(done.contains("What has become of the rows") && done.contains("Send to this list"), "\(done)")
      #expect(done.contains("/console/lists/\(list)"))
      let properties = try await console.database.query(
        "SELECT properties::text FROM contact JOIN list_member USING (customer_id, contact_id)")[0].decode(String?.self)
      #expect(properties == #"{"namn":"<i>Lars"}"#)

      let rejects = try await browser.get("\(path)/rejects")
      #expect(rejects.header("Content-Type")?.hasPrefix("text/csv") == true)
      #expect(rejects.header("Content-Disposition")?.contains("attachment") == true)
      #expect(rejects.text.contains("3,Kundnr,is empty,\";Mia;mia@example.com\""))
      let history = try await browser.get("/console/imports").text
      #expect(history.contains(#"href="\#(path)""#) && history.contains("Finished"))
    }
  }

  @Test func `A file that fails by its headings shows what it had`() async throws {
    try await withConsole { console in
      let browser = try await console.browser(.marketer)
      let added = try await Imports(console.database.pool).add(console.customer, ImportRequest())
      _ = try await browser.get("/console/imports/\(added.importId)")
      let sent = try await browser.upload(
        "/console/imports/\(added.importId)/file", [], files: [("file", Self.file)])
      #expect(sent.status == 303, "\(sent.text)")
      let page = try await browser.get("/console/imports/\(added.importId)").text
      #expect(page.contains("No field is called") && page.contains("What the file had"), "\(page)")
      #expect(page.contains("<bdi>&lt;b&gt;Namn</bdi>") && page.contains("&lt;i&gt;Lars"), "\(page)")
      #expect(!page.contains("What are the columns?"))
    }
  }

  @Test(arguments: [nil, 400] as [Int64?])
  func `A file on its way shows its rows, and how much of it has come if that is known`(expected: Int64?) async throws {
    try await withConsole { console in
      let browser = try await console.browser(.marketer)
      let added = try await Imports(console.database.pool).add(console.customer, ImportRequest())
      try await console.database.query(
        """
        UPDATE import SET state = 'receiving', attempt = 1, cleared = false, lease_until = now() + interval '1 hour', staged = 12,
               received = 100, expected = $1
        """, expected)
      let page = try await browser.get("/console/imports/\(added.importId)").text
      #expect(page.contains("12 rows have arrived."), "\(page)")
      #expect(
        page.contains("25 % done") == (expected != nil) && page.contains("% done") == (expected != nil), "\(page)")
    }
  }

  @Test func `Without the session's token or a file nothing is taken`() async throws {
    try await withConsole { console in
      let browser = try await console.browser(.marketer)
      _ = try await browser.get("/console/imports/new")
      for fields in ["name=\"mode\"\r\n\r\nupsert", "name=\"csrf\"\r\n\r\nwrong"] {
        let body =
          "--b\r\nContent-Disposition: form-data; \(fields)\r\n"
          + "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\n\r\n\(Self.file)\r\n--b--\r\n"
        let cookies = browser.cookies.map { "\($0)=\($1)" }.joined(separator: "; ")
        let reply = try await console.server.send(
          "POST", "/console/imports/new",
          headers: [
            ("Cookie", cookies), ("Sec-Fetch-Site", "same-origin"), ("Content-Type", "multipart/form-data; boundary=b"),
          ], body: body)
        #expect(reply.status == 403, "\(reply.text)")
      }
      let none = try await browser.upload("/console/imports/new", [("mode", "upsert")], files: [])
      #expect(none.status == 400 && none.text.contains("File is missing"), "\(none.text)")
      let wrong = try await browser.upload(
        "/console/imports/new", [("mode", "upsert"), ("listId", "99")], files: [("file", Self.file)])
      #expect(wrong.status == 400 && wrong.text.contains("names no list of this customer"), "\(wrong.text)")
      #expect(try await console.database.query("SELECT FROM import").isEmpty)
    }
  }

  @Test func `A file that broke off is sent again on the page of its import`() async throws {
    try await withConsole { console in
      let browser = try await console.browser(.marketer)
      let number = try await Imports(console.database.pool).add(console.customer, ImportRequest(review: true)).importId
      let page = try await browser.get("/console/imports/\(number)").text
      #expect(page.contains("It waits for its file"))
      let sent = try await browser.upload("/console/imports/\(number)/file", [], files: [("file", Self.file)])
      #expect(sent.status == 303 && sent.header("Location") == "/console/imports/\(number)", "\(sent.text)")
      #expect(try await browser.get("/console/imports/\(number)").text.contains("What are the columns?"))
    }
  }

  @Test func `An import is cancelled after a confirmation, and a file of headings nobody knows says so`() async throws {
    try await withConsole { console in
      let browser = try await console.browser(.marketer)
      let path = try await send(browser)
      let asked = try await browser.get("\(path)/cancel").text
      #expect(asked.contains("Cancel the import?") && asked.contains(#"action="\#(path)/cancel""#))
      #expect(try await browser.post("\(path)/cancel").status == 303)
      #expect(try await browser.get(path).text.contains("Cancelled"))
      #expect(try await browser.post("\(path)/cancel").status == 409)
      let empty = try await send(browser, file: "")
      #expect(try await browser.get(empty).text.contains("The file is empty"))
    }
  }

  @Test func `A file of many columns has a small page, where their names are typed`() async throws {
    try await withConsole { console in
      let browser = try await console.browser(.marketer)
      let headings = (1...60).map { "spalte \($0)" }.joined(separator: ",")
      let path = try await send(browser, file: headings + "\n" + (1...60).map { "\($0)" }.joined(separator: ",") + "\n")
      let page = try await browser.get(path).text
      #expect(page.contains(#"list="targets""#) && page.utf8.count < 60 * 1024, "\(page.utf8.count)")
      let fields = [
        ("identity", "originalId"), ("mode", "upsert"), ("column.0", "originalId"), ("column.1", "properties.x"),
      ]
      #expect(try await browser.post("\(path)/start", fields + [("run", "import")]).status == 303)
      try await work(console)
      let properties = try await console.database.query("SELECT properties::text FROM contact")[0].decode(String?.self)
      #expect(properties == #"{"x":"2"}"#)
    }
  }

  @Test func `Who may not see personal fields sees no import`() async throws {
    try await withConsole { console in
      let path = try await send(try await console.browser(.marketer))
      for role in [Role.analyst, .operator] {
        let browser = try await console.browser(role, "\(role.rawValue)@example.com")
        for page in ["/console/imports", path, "\(path)/rejects"] {
          #expect(try await browser.get(page).status == 403, "\(role) \(page)")
        }
        _ = try await browser.get("/console/account")
        let sent = try await browser.upload("/console/imports/new", [("mode", "upsert")], files: [("file", Self.file)])
        #expect(sent.status == 403, "\(role)")
      }
      // By whom a file of addresses finds, a marketer would learn whose they are.
      let blind = try await console.browser(.marketer, "blind@example.com", seesPersonal: false)
      for page in ["/console/imports", "/console/imports/new", path, "\(path)/rejects"] {
        #expect(try await blind.get(page).status == 403, "\(page)")
      }
      _ = try await blind.get("/console/account")
      for action in ["/console/imports/new", "\(path)/file"] {
        let sent = try await blind.upload(action, [("mode", "upsert")], files: [("file", Self.file)])
        #expect(sent.status == 403, "\(action)")
      }
      for action in ["\(path)/start", "\(path)/cancel"] {
        #expect(try await blind.post(action, [("mode", "upsert")]).status == 403, "\(action)")
      }
      let states = try await console.database.query("SELECT state FROM import").map { try $0.decode(String.self) }
      #expect(states == ["review"])
    }
  }

  @Test func `A page shows the first hundred rejects by line, column and problem, and says how fast the rest goes`()
    async throws
  {
    try await withConsole { console in
      let browser = try await console.browser(.marketer)
      let long = String(repeating: "x", count: 200)
      let rows = (1...130).map { "\($0 > 5 ? "" : "\($0)"),\(long)\r\n" }.joined()
      let path = try await send(browser, file: "originalId,lastName\r\n" + rows)
      let fields = [
        ("identity", "originalId"), ("mode", "upsert"), ("column.0", "originalId"), ("column.1", "lastName"),
      ]
      #expect(try await browser.post("\(path)/start", fields + [("run", "import")]).status == 303)
      // As a hub is half-way.
      try await console.database.query(
        """
        UPDATE import SET state = 'merging', staged = 130, merged = 65, added = 5, rejected = 60, started_at = now() - interval '13 seconds'
        """)
      let moving = try await browser.get(path).text
      #expect(moving.contains("rows a second; 65 of 130 rows are left, which take about "), "\(moving)")
      try await console.database.query(
        """
        UPDATE import SET state = 'checking', merged = 0, added = 0, rejected = 0
        """)
      try await work(console)
      let page = try await browser.get(path).text
      #expect(page.contains("The first rejected rows") && page.utf8.count < 60 * 1024, "\(page.utf8.count)")
      #expect(page.components(separatedBy: #"data-label="Line" class="num""#).count == 101, "\(page)")
      #expect(
        page.contains(#"<td data-label="Line" class="num">7</td><td data-label="Column"><bdi>originalId</bdi></td>"#))
      #expect(!page.contains(long) && !page.contains("rows a second"))
      #expect(try await browser.get("\(path)/rejects").text.contains(long))
    }
  }

  @Test func `Imports stand in a view for psql, with their rows by outcome and their moments`() async throws {
    try await withConsole { console in
      let browser = try await console.browser(.marketer)
      let fields = [("mode", "upsert"), ("name", "=Friday")]
      let path = try await send(browser, fields, file: "originalId,lastName\r\n1,A\r\n,B\r\n")
      func row() async throws -> String {
        try await console.database.query(
          """
          SELECT concat_ws(' ', name, state, rows, added, rejected, coalesce(started_at >= created_at, false),
                           coalesce(finished_at >= started_at, false))
            FROM report.imports WHERE customer_id = $1::bigint
          """, console.customer.rawValue)[0].decode(String.self)
      }
      #expect(try await row() == "'=Friday review 0 0 0 f f")
      let columns = [
        ("identity", "originalId"), ("mode", "upsert"), ("column.0", "originalId"), ("column.1", "lastName"),
      ]
      #expect(try await browser.post("\(path)/start", columns + [("run", "import")]).status == 303)
      try await work(console)
      #expect(try await row() == "'=Friday finished 2 1 1 t t")
    }
  }
}
