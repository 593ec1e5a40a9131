import DataInOut
import HTTPTypes
import Operations
import Wire

/// The routes of exports, whose replies are files.
enum ExportOperations {
  static let all: [APIOperation] = [
    export(
      .contacts, id: "exportContacts", "Export contacts", "A property is a column, too, as in `properties.colour`.", [],
      example: "originalId,firstName\nlars@example.com,Lars\n"),
    export(
      .devices, id: "exportDevices", "Export devices",
      "Only valid devices. The usual columns are the first five, which an import reads.", [],
      example: "originalId,deviceToken,appId,appType,sandboxToken\nlars@example.com,0a1b,com.acme.app,1,false\n"),
    export(
      .pushes, id: "exportPushes", "Export pushes",
      "Pushes of people who were erased have no `originalId`.",
      [.query("sendout", .integer(1...Int64.max), "Only those of this sendout.", example: 7)],
      example: "originalId,sendoutId,pushNo,state\nlars@example.com,7,1,accepted\n"),
  ]

  private static func export(
    _ subject: ExportRequest.Subject, id: String, _ summary: String, _ note: String, _ parameters: [APIParameter],
    example: String
  ) -> APIOperation {
    APIOperation(
      method: .get, path: "/api/v1/exports/\(subject.rawValue)", id: id, tag: .contacts, security: .key(.admin),
      summary: summary,
      description: """
        The reply is made as it is taken, of any length, in the order of the hub's numbers. What changes meanwhile may be in it or not. A reply that \
        breaks off ends without its last chunk. An import reads a file of contacts or devices back. A customer has \(Exports.atOnce) exports at a \
        time; a client that takes no byte for a minute is cut off.

        `columns` are \(subject.columns.joined(separator: ", ")). \(note)
        """,
      parameters: [
        .query("filter", .string(), "Of whom: a line of text, or a tree as JSON.", example: "country = 'SE'"),
        .query(
          "columns", .string(), "Names with commas between them; the usual ones if absent.", example: "originalId"),
        .query("format", .string(), "`csv`, which is the default, or `ndjson`.", example: "csv"),
        .query(
          "exact", Schema(.boolean),
          "Whether texts stay as they are. Otherwise an apostrophe stands before one that a spreadsheet would take for a formula.",
          example: false),
      ] + parameters,
      responses: [
        APIResponse(
          status: .ok, description: "The file.",
          content: .text(["text/csv", "application/x-ndjson"], example: example))
      ],
      errors: [
        .error(
          "A parameter is wrong, or names what does not exist.",
          DataInOutError.invalid(field: "columns", problem: "is empty")),
        .error("Others of the customer are on their way.", DataInOutError.tooManyExports(limit: Exports.atOnce)),
        .error("So many of all customers are on their way that none can begin.", DataInOutError.tooManyExportsOfAll),
      ])
  }
}
