public import FoundationEssentials
import Wire

/// One version of a template; it never changes.
public struct Template: Sendable, Equatable {
  public let name: String
  /// 1, 2, 3, … within the name.
  public let version: Int32
  public let format: TemplateFormat
  /// The Mustache text.
  public let body: String
  public let createdAt: Date
}

/// The format of a template's pages, which decides how values are escaped.
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
    let parts = contentType.lowercasedASCII.split(separator: ";", omittingEmptySubsequences: false).map { part in
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

  /// The format of a file by its extension: `html`, `htm`, `xml`, `json`, `txt` or `text`, in any case; `nil` for others.
  public init?(fileName: String) {
    switch fileName.split(separator: ".").last?.lowercasedASCII {
    case "html", "htm": self = .html
    case "xml": self = .xml
    case "json": self = .json
    case "txt", "text": self = .text
    default: return nil
    }
  }
}

/// Every error of this room. Web turns them into a status and a sentence.
public enum ContentError: Error, Sendable, Hashable {
  /// The customer has no template of that name, or not that version of it.
  case templateUnknown(name: String, version: Int32?)
  /// There is no customer of that number.
  case customerUnknown
  /// A template does not parse, for `reason` in `line`, counted from 1. `field` is `body` for a page's template, or a field such as
  /// `message.alert` for a message's text.
  case unparsable(field: String, line: Int, reason: String)
  /// A field has an invalid value. `problem` ends a sentence that begins with the field's name, as in "is empty".
  case invalid(field: String, problem: String)
}
