import DataInOut
import HTTPTypes
import Operations
import Wire

/// The routes of imports that carry files.
enum ImportFileOperations {
  static let all: [APIOperation] = [file, rejects]

  private static let id = APIParameter.path("id", .id, "The import's `importId`.", example: 1)

  private static let file: APIOperation = {
    var operation = APIOperation(
      method: .put, path: "/api/v1/imports/{id}/file", id: "sendImportFile", tag: .imports, security: .key(.admin),
      summary: "Send an import's file",
      description: """
        CSV as `text/csv`, packed by gzip or not, of 4 GiB and 50 million rows at most. It is read as it arrives, chunked or not, and held nowhere as a whole. \
        If it breaks off, the import waits for it again. A file that cannot be imported fails the import, which the reply says.

        Cells stand between commas, semicolons, tabs or bars. The first row has the headings. The hub is done with the rows some time after \
        the reply: ask for the import.
        """, parameters: [id],
      responses: [
        APIResponse(
          status: .accepted, description: "The file has arrived.", content: .json(APIContent(ImportReply.form)))
      ],
      errors: [
        ImportOperations.unknown,
        .error("The file is not sent as CSV.", HTTPErrorResponse.notCSV),
        .error("The file broke off.", DataInOutError.brokenOff),
        notTaken,
      ])
    operation.csvBody = "Kundnr;E-mail;Färg\r\n1001;lars@example.com;röd\r\n"
    return operation
  }()

  /// Why a file is not taken at the moment.
  static let notTaken = APIResponse.error(
    "The import has ended, another request sends its file, too many files are on their way, or other imports have too many rows that are not done.",
    DataInOutError.wrongState(ImportID(1), .finished, wanted: "given a file"), DataInOutError.overtaken,
    DataInOutError.tooManyUploads(limit: ImportUpload.atOnce),
    DataInOutError.tooMuchStaged(limit: ImportUpload.mostStaged))

  private static let rejects = APIOperation(
    method: .get, path: "/api/v1/imports/{id}/rejects", id: "showImportRejects", tag: .imports, security: .key(.admin),
    summary: "Show what was rejected of an import",
    description: """
      CSV with the first physical line of each row, the column, what is wrong, and the row as it was. Rejects are kept for 30 days. A reply has \
      \(Imports.rejectPage) rows, or 2 MiB. If there are more, its header `X-Pushcart-Next` has the `after` of the next one.
      """,
    parameters: [
      id,
      .query(
        "after", .integer(0...Int64.max), "Starts behind this row: `X-Pushcart-Next` of the reply before.", example: 100
      ),
    ],
    responses: [
      APIResponse(
        status: .ok, description: "The rejects.",
        content: .text(
          ["text/csv"],
          example: "line,column,problem,row\r\n2,Född,is no date of the form DD.MM.YYYY,\"1001,31.02.1980\"\r\n"))
    ], errors: [ImportOperations.unknown])
}
