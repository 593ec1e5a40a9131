public import FoundationEssentials
public import Wire

/// One version of a template; it never changes.
public struct Template: Sendable, Equatable {
  public let customer: CustomerID
  public let name: String
  /// 1, 2, 3, … within the name.
  public let version: Int32
  public let format: TemplateFormat
  /// The Mustache text.
  public let body: String
  public let createdAt: Date
}

/// A template without its text.
public struct TemplateSummary: Sendable, Equatable {
  public let customer: CustomerID
  public let name: String
  public let version: Int32
  public let format: TemplateFormat
  public let createdAt: Date
}

/// What a template makes, and with it how values are escaped.
public enum TemplateFormat: String, Sendable, Hashable, CaseIterable {
  case html = "text/html"
  case xml = "application/xml"
  case textXML = "text/xml"
  case json = "application/json"
  case text = "text/plain"

  /// The media type that pages of this format are served with, always in UTF-8.
  public var contentType: String { self == .json ? rawValue : "\(rawValue); charset=utf-8" }

  /// Reads a Content-Type: one of the five, in any case, with no parameter but `charset=utf-8`.
  /// - Throws: `ContentError.invalid`, naming the field `contentType`.
  public init(contentType: String) throws(ContentError) {
    let parts = contentType.lowercased().split(separator: ";", omittingEmptySubsequences: false).map { part in
      part.filter { !$0.isWhitespace && $0 != "\"" }
    }
    guard let format = TemplateFormat(rawValue: parts[0]) else {
      let known = Self.allCases.map(\.rawValue).joined(separator: ", ")
      throw .invalid(field: "contentType", problem: "is not one of \(known)")
    }
    guard parts.dropFirst().allSatisfy({ $0.isEmpty || $0 == "charset=utf-8" }) else {
      throw .invalid(field: "contentType", problem: "has a parameter other than charset=utf-8")
    }
    self = format
  }

  /// What a file's name tells of its format: `html`, `htm`, `xml`, `json`, `txt`, in any case; `nil` for others.
  public init?(fileName: String) {
    switch fileName.split(separator: ".").last?.lowercased() {
    case "html", "htm": self = .html
    case "xml": self = .xml
    case "json": self = .json
    case "txt", "text": self = .text
    default: return nil
    }
  }
}
