import DataInOut
import Operations
import Registry
import Wire

/// The form of an import in review: its columns beside their first cells, each with what it is.
struct ImportReview {
  let values: [String: Any]

  static let fields = [
    // Stands at the table of columns.
    FormField("columns", label: "Columns"),
    FormField(
      "identity", label: "A row is about",
      kind: .choice(ImportIdentity.allCases.map { FormField.Choice($0.rawValue, ImportForm.label(of: $0)) }),
      isRequired: true),
    ImportForm.mode,
    ImportRequest.form.field(
      "dateFormat", label: "Form of dates",
      hint: "Such as DD.MM.YYYY or MM/DD/YYYY. Without it, dates are read that can be read in one way only."),
    FormField("decimalComma", label: "Properties such as 3,14 are numbers", kind: .flag),
    FormField("emptyClears", label: "An empty cell clears what is known", kind: .flag),
    ImportRequest.form.field("appId", label: "App of tokens", hint: "Of device tokens in rows that name no app."),
    FormField(
      "appType", label: "Platform of tokens",
      kind: .choice(AppType.ofApps.map { FormField.Choice("\($0.rawValue)", $0.platform) })),
    FormField("sandbox", label: "Tokens are of APNs' development environment", kind: .flag),
  ]

  /// Columns are chosen from a list up to so many of them. With more the page would be too large, and their names are typed.
  private static let mostLists = 30
  /// Cells that are shown of a column.
  private static let cells = 3
  private static let property = "properties."

  init(_ item: ImportReply, _ request: ImportRequest, _ call: ConsoleCall, of action: String) async throws {
    let headings = item.headings ?? []
    let targets = (item.columns?.targets ?? [:]).compactMapValues(\.self)
    let typed = call.refused == action ? call.form : FormValues()
    let identity =
      item.rows > 0
      ? item.identity
      : ImportIdentity.allCases.first { identity in
        targets.values.contains { $0.hasSameBytes(as: identity.rawValue) }
      } ?? item.identity
    func flag(_ value: Bool?) -> String? { value == true ? "true" : nil }
    let hasTokens = targets.values.contains { $0.hasSameBytes(as: "deviceToken") }
    let devices: Set = ["appId", "appType", "sandbox"]
    let fields = Self.fields.filter { hasTokens || request.appId != nil || !devices.contains($0.name) }
    var form = call.formView(
      fields,
      [
        "identity": identity.rawValue, "mode": item.mode.rawValue, "dateFormat": request.dateFormat,
        "decimalComma": flag(request.decimalComma), "emptyClears": flag(request.emptyClears),
        "appId": request.appId, "appType": request.appType.map { "\($0.rawValue)" }, "sandbox": flag(request.sandbox),
      ], of: action)
    form["others"] = fields.dropFirst().compactMap { form[$0.name] as? [String: Any] }
    let isShort = headings.count <= Self.mostLists
    values = [
      "form": form, "isShort": isShort, "isLong": !isShort, "hasRun": item.rows > 0 || item.error != nil,
      "names": isShort ? [] : Self.choices(chosen: nil),
      "columns": zip(headings, Self.columns(of: item)).enumerated().map { place, column -> [String: Any] in
        let (heading, shown) = column
        let known = targets[UTF8String(heading)]
        let isProperty = known?.hasPrefix(Self.property) == true
        let chosen =
          typed.isEmpty ? (isProperty && isShort ? Self.property : known ?? "") : typed.text("column.\(place)") ?? ""
        let name = isProperty ? String((known ?? "").unicodeScalars.dropFirst(Self.property.utf8.count)) : heading
        return shown.merging([
          "place": place, "isBlank": !Self.isNamed(place, headings), "chosen": chosen,
          "choices": isShort ? Self.choices(chosen: chosen) : [],
          "property": typed.isEmpty ? name : typed.text("property.\(place)") ?? heading,
        ]) { $1 }
      },
    ]
  }

  /// The columns of the file: the heading and the first cells of each.
  static func columns(of item: ImportReply) -> [[String: Any]] {
    (item.headings ?? []).enumerated().map { place, heading in
      [
        "heading": heading, "isUnnamed": heading.utf8.allSatisfy { $0 == UInt8(ascii: " ") },
        "cells": (item.sample ?? []).prefix(cells).map { ["text": place < $0.count ? $0[place] : ""] },
      ]
    }
  }

  /// Whether a column can be told from others: by a heading that is not blank, and not that of an earlier one.
  private static func isNamed(_ place: Int, _ headings: [String]) -> Bool {
    !headings[place].utf8.allSatisfy { $0 == UInt8(ascii: " ") }
      && !headings[..<place].contains { $0.hasSameBytes(as: headings[place]) }
  }

  private static func choices(chosen: String?) -> [[String: Any]] {
    let all = [("", "Skip it"), (property, "A property, named")] + Imports.targets.map { ($0, label(of: $0)) }
    return all.map { value, label in
      ["value": value, "label": label, "isSelected": chosen.map { $0.hasSameBytes(as: value) } ?? false]
    }
  }

  private static func label(of target: String) -> String {
    switch target {
    case "originalId": "Original id"
    case "deviceToken": "Device token"
    case "appId": "App id of the token"
    case "appType": "Number of the token's platform"
    case "platform": "Platform of the token"
    case "sandboxToken": "Whether the token is of APNs' sandbox"
    default:
      ContactField.allCases.first { $0.name.hasSameBytes(as: target) }.map { ContactPages.label(of: $0) }
        ?? target.inWords
    }
  }

  /// What the form starts the import with.
  /// - Throws: `HTTPErrorResponse` (400), naming the field.
  static func request(_ form: FormValues, headings: [String]) throws -> ImportRequest {
    var targets: [UTF8String: String?] = [:]
    for (place, heading) in headings.enumerated() where isNamed(place, headings) {
      var target = form.text("column.\(place)")
      if let chosen = target, chosen.hasSameBytes(as: property) {
        target = property + (form.text("property.\(place)") ?? heading)
      }
      targets.updateValue(target, forKey: UTF8String(heading))
    }
    let type: Int16? = try form.number("appType")
    return ImportRequest(
      mode: try form.choice("mode"), identity: try form.choice("identity"), columns: ImportColumns(targets),
      others: .skip, dateFormat: form.text("dateFormat"), decimalComma: form.flag("decimalComma"),
      emptyClears: form.flag("emptyClears"), appId: form.text("appId"), appType: type.flatMap { AppType(rawValue: $0) },
      sandbox: form.flag("sandbox"), dryRun: form.text("run") != "import")
  }
}
